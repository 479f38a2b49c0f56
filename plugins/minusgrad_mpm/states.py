"""Initial states of particles above a grid.

    field      shape         unit
    x, v       (n, d)        m, m s^-1      places and velocities
    C          (n, d, d)     s^-1           the affine velocity, 0
    m          (n,)          kg             the mass of each particle
    F          (n, d, d)     1              deformation gradients, 1          of blocks
    volume     (n,)          m^3            of each particle at rest          of blocks
    wall       (cells, d)    1              1 in the lower wall of an axis, -1 in the upper one, else 0
    obstacle   (cells, d)    1              outward normals within obstacles, else 0    where there are some

Grid `grid`, whose axes are those of space in reverse order: x runs along the last one. Cell (0, 0) lies at
the origin. A block is a body, whose particles may belong to a muscle: list `muscles` of (particle, number of
the muscle). The sizes of the sets `particle` and `muscle` follow from the blocks. A sheet has the list
`cells` of triangles, with `gradients` and `volume`.
"""

from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    Body,
    ByForm,
    Grid,
    Quantity,
    Record,
    State,
    StateContext,
    TomlTable,
    UserError,
    at_key,
    memory,
    quantities,
)

Length = Annotated[float | str, Quantity("m", "positive")]
Place = Annotated[float | str, Quantity("m")]
Speed = Annotated[float | str, Quantity("m s^-1")]
Mass = Annotated[float | str, Quantity("kg", "positive")]
Count = Annotated[int, Field(ge=1)]
PARTICLE_BYTES, CELL_BYTES = 4000, 400
"""Bytes for a particle and for a cell: fields, outputs of maps and their adjoints."""
UNITS = {"x": "m", "v": "m s^-1", "C": "s^-1", "m": "kg", "F": "1", "volume": "m^3"} | dict.fromkeys(
    ("wall", "obstacle"), "1"
)


class Sphere(Record):
    """An obstacle."""

    centre: tuple[Place, ...]
    """Centre of the sphere."""
    radius: Length
    """Radius of the sphere."""


class GridTable(Record):
    """`grid`: the number of cells along x, y (and z), their spacing, walls of so many cells, and spheres."""

    cells: tuple[Count, ...]
    """Number of cells along x, y (and z)."""
    spacing: Length
    """Side of a cell."""
    walls: Annotated[int, Field(ge=0)] = 3
    """Thickness of the walls, in cells."""
    spheres: tuple[Sphere, ...] = ()
    """Spheres that are obstacles."""

    def make(self, context: StateContext) -> tuple[Grid, dict[str, np.ndarray]]:
        """The grid, and the fields over it."""
        d = len(self.cells)
        if d not in (2, 3):
            raise UserError(f"grid.cells: needs 2 or 3 numbers, for x, y (and z), got {d}; correct it")
        memory.require(CELL_BYTES * int(np.prod(self.cells)), f"{np.prod(self.cells)} cells", "take fewer")
        number = np.indices(tuple(reversed(self.cells))).reshape(d, -1)[::-1].T
        upper = np.array(self.cells) - self.walls
        fields = {"wall": (number < self.walls) * 1.0 - (number > upper) * 1.0}
        h = quantities(self, context.units)["spacing"]
        if self.spheres:
            fields["obstacle"] = np.zeros(number.shape)
        for sphere in self.spheres:
            own = quantities(sphere, context.units)
            if len(own["centre"]) != d:
                raise UserError(
                    f"grid.spheres: centre needs {d} numbers, as the grid has axes, got {len(own['centre'])};"
                    " correct it"
                )
            away = number * h - np.array(own["centre"])
            far = np.linalg.norm(away, axis=1)
            inside = (far < own["radius"]) & (far > 0.0)
            fields["obstacle"][inside] = away[inside] / far[inside, None]
        return Grid(tuple(reversed(self.cells)), h, tuple(fields)), fields


class Block(Record):
    """A block of particles: `corner` is its lowest one; `counts` particles fill `size` evenly.

    With a `seed` they are placed in it by chance.
    """

    name: str
    """Name of the body."""
    corner: tuple[Place, ...]
    """Lowest corner of the block."""
    size: tuple[Length, ...]
    """Lengths of its edges."""
    counts: tuple[Count, ...]
    """Number of particles along each axis."""
    mass: Mass = 1.0
    """Mass of every particle."""
    velocity: tuple[Speed, ...] | None = None
    """Velocity of all its particles (default: at rest)."""
    seed: Annotated[int, Field(ge=0)] | None = None
    """Seed with which particles are placed in it by chance (default: evenly)."""
    muscle: Annotated[int, Field(ge=0)] | None = None
    """Number of the muscle that its particles belong to (default: none)."""

    def points(self, d: int, context: StateContext) -> np.ndarray:
        """Places (n, d), along the last axis first."""
        own = quantities(self, context.units)
        given = {key: own[key] for key in ("corner", "size", "counts", "velocity") if own[key] is not None}
        if wrong := [key for key, value in given.items() if len(value) != d]:
            raise UserError(
                f"'{self.name}': {wrong[0]} needs {d} numbers, as the grid has axes, got"
                f" {len(given[wrong[0]])}; correct it"
            )
        n = int(np.prod(self.counts))
        memory.require(PARTICLE_BYTES * n, f"{n} particles", "take fewer")
        if self.seed is None:
            steps = [(np.arange(k) + 0.5) * s / k for k, s in zip(self.counts, own["size"], strict=True)]
            within = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, d)
        else:
            within = np.random.default_rng(self.seed).random((n, d)) * np.array(own["size"])
        return np.array(own["corner"]) + within


Blocks = Annotated[tuple[Block, ...], Field(min_length=1)]


class BlockList(Record):
    """A TOML file with blocks of particles: `[[blocks]]`."""

    blocks: Blocks
    """The blocks."""


def _file_or_rows(value: Any) -> str:
    return "file" if isinstance(value, str) else "rows"


class ParticleBlocks(Record):
    """Blocks of particles, each a body; written in the scene, or in a TOML file as `[[blocks]]`."""

    grid: GridTable
    """The grid beneath the particles."""
    blocks: Annotated[Blocks | str, ByForm(_file_or_rows, ("rows", "file"))]
    """Blocks of particles, each a body; or a TOML file beside the scene that has them."""
    volume: Annotated[float | str, Quantity("m^3", "positive")] = 1.0
    """Volume of every particle at rest."""

    def make(self, context: StateContext) -> State:
        grid, over_grid = self.grid.make(context)
        d = len(grid.shape)
        blocks, x = self._placed_blocks(d, context)
        ends = np.cumsum([0, *map(len, x)])
        n = int(ends[-1])
        spans = [np.arange(a, b, dtype=np.int32) for a, b in pairwise(ends)]
        own = [quantities(block, context.units) for block in blocks]
        v = [np.tile(o["velocity"] or [0.0] * d, (len(p), 1)) for o, p in zip(own, x, strict=True)]
        fields = {
            "x": np.concatenate(x),
            "v": np.concatenate(v),
            "C": np.zeros((n, d, d)),
            "F": np.tile(np.eye(d), (n, 1, 1)),
            "m": np.concatenate([np.full(len(p), o["mass"]) for o, p in zip(own, x, strict=True)]),
            "volume": np.full(n, quantities(self, context.units)["volume"]),
            **over_grid,
        }
        driven = [(nodes, b.muscle) for b, nodes in zip(blocks, spans, strict=True) if b.muscle is not None]
        pairs = [np.stack([nodes, np.full_like(nodes, muscle)], axis=1) for nodes, muscle in driven]
        return State(
            fields=fields,
            units={name: UNITS[name] for name in fields},
            tuples={"muscles": np.concatenate(pairs)} if pairs else {},
            bodies=tuple(Body(b.name, nodes) for b, nodes in zip(blocks, spans, strict=True)),
            labels=LABELS,
            grids={"grid": grid},
            sizes={"particle": n} | ({"muscle": 1 + max(b for _, b in driven)} if driven else {}),
        )

    def _placed_blocks(self, d: int, context: StateContext) -> tuple[Blocks, list[np.ndarray]]:
        """The blocks and the places of their particles, along d axes."""
        if not isinstance(self.blocks, str):
            return self.blocks, _particle_places(self.blocks, d, context)
        table = TomlTable(self.blocks, context.read(self.blocks), context.units)
        listed = table.record(BlockList).blocks
        with table.placed():
            return listed, _particle_places(listed, d, context)


def _particle_places(blocks: Blocks, d: int, context: StateContext) -> list[np.ndarray]:
    """The places of the particles of each block; a mistake has the key of its block."""
    found = []
    for k, block in enumerate(blocks):
        with at_key("blocks", k):
            found.append(block.points(d, context))
    return found


class ParticleSheet(Record):
    """A sheet of triangles whose nodes are particles: `counts` nodes, `spacing` apart, from `corner` on.

    Each cell of the sheet is cut along the diagonal that leaves out its lowest corner. `mass`: of a particle.
    """

    grid: GridTable
    """The grid beneath the sheet."""
    counts: tuple[Annotated[int, Field(ge=2)], Annotated[int, Field(ge=2)]]
    """Number of nodes along x and y, at least 2."""
    spacing: Length
    """Distance of neighbouring nodes."""
    corner: tuple[Place, Place]
    """Lowest corner of the sheet."""
    mass: Mass = 1.0
    """Mass of every particle."""
    velocity: tuple[Speed, Speed] = (0.0, 0.0)
    """Velocity of all particles."""

    def make(self, context: StateContext) -> State:
        grid, over_grid = self.grid.make(context)
        if len(grid.shape) != 2:
            raise UserError("grid.cells: a sheet lies in the plane, got 3 axes; give 2 numbers of cells")
        own, (nx, ny) = quantities(self, context.units), self.counts
        n, h = nx * ny, own["spacing"]
        memory.require(PARTICLE_BYTES * n, f"{n} particles", "take fewer")
        number = np.arange(n, dtype=np.int32).reshape(nx, ny)
        x = np.array(own["corner"]) + h * np.stack(np.divmod(number.ravel(), ny), axis=1)
        a, b, c, d = (number[i : nx - 1 + i, j : ny - 1 + j].ravel() for i, j in CORNERS)
        triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([d, c, b], axis=1)])
        gradients = np.array([[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]]) / h
        turned = np.concatenate([np.tile(gradients, (len(a), 1, 1)), np.tile(-gradients, (len(a), 1, 1))])
        fields = {
            "x": x,
            "v": np.tile(own["velocity"], (n, 1)),
            "C": np.zeros((n, 2, 2)),
            "m": np.full(n, own["mass"]),
            **over_grid,
        }
        return State(
            fields=fields,
            units={name: UNITS[name] for name in fields},
            tuples={"cells": triangles},
            data={"cells": {"gradients": turned, "volume": np.full(len(triangles), 0.5 * h * h)}},
            labels=LABELS,
            shown=("cells",),
            grids={"grid": grid},
        )


CORNERS = ((0, 0), (1, 0), (0, 1), (1, 1))
LABELS = {"x": "position", "v": "velocity"}
STATES = {"particle_blocks": ParticleBlocks, "particle_sheet": ParticleSheet}
