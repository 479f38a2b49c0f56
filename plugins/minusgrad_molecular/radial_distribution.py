"""Radial distribution function g(r): the density of atoms around an atom, relative to the mean density.

    g(r) = V / M <pairs (i, j), i != j, with r <= |x_i - x_j| < r + dr> / (volume of the shell)

V [m^3] is the volume of the periodic box, M = N (N - 1) the number of pairs, so that g is 1 for independent
atoms; between two bodies M = N_1 N_2 less the atoms that both have. Every image within the radius counts.
Allen & Tildesley 2017, Computer Simulation of Liquids, 2nd edition, section 2.6.

Decisions 0331.
"""

from math import pi
from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    ByForm,
    CsvTable,
    Observer,
    ObserverContext,
    Quantity,
    Record,
    UserError,
    one_or_each,
    quantities,
)

Names = Annotated[str | tuple[str, ...], ByForm(one_or_each, ("one", "each"))]
"""A body, or several."""

SERIES = "radial_distribution"
"""Series of observables: its r [m], g and, where a curve is given, published."""


class RadialDistribution(Observer):
    """Records g (bins,) at the middles r (bins,) of shells, and a published curve at them."""

    def __init__(self, context: ObserverContext, block: "RadialDistributionBlock"):
        super().__init__(context.stepper, context.recorder, block.every)
        values = quantities(block, context.units)
        self.begin, self.edges = block.begin, np.linspace(0.0, values["radius"], block.bins + 1)
        self.sets = _nodes_of(context, block.between)
        middles = 0.5 * (self.edges[1:] + self.edges[:-1])
        self.fixed = {"r": middles}
        if block.published is not None:
            table = CsvTable(block.published, context.read(block.published))
            r = table.numbers("r") * context.units.convert(f"1 {block.length}", "m")
            self.fixed["published"] = np.interp(middles, r, table.numbers("g"), np.nan, np.nan)
        for label, unit in (("r", "m"), ("g", "1"), ("published", "1")):
            size = context.units.symbol(unit), context.units.in_si(unit)
            context.recorder.unit(f"{SERIES}/{label}", *size)

    def observe(self) -> None:
        step = self.stepper.step
        if step < self.begin:
            return
        x, box = (self.fields[name].values.astype(np.float64) for name in ("x", "box"))
        first, second = self.sets
        both = len(np.intersect1d(first, second))
        found = {"g": distribution(x[first], x[second], box[0], self.edges, both)}
        values = {f"{SERIES}/{name}": one for name, one in (self.fixed | found).items()}
        self.recorder.record_observables(step, self.stepper.time, values)


def distribution(
    first: np.ndarray, second: np.ndarray, box: np.ndarray, edges: np.ndarray, both: int
) -> np.ndarray:
    """g (bins,) between atoms (n, d) and (m, d) in a box (d, d), in shells from `edges` (bins + 1,) [m].

    both: the number of atoms in both sets. Atoms need not lie in the box.
    """
    from scipy.spatial import cKDTree

    d = len(box)
    counts = cKDTree(_wrap_positions(first, box)).count_neighbors(
        cKDTree(_nearby_images(second, box, edges[-1])), edges
    )
    counts[0] = both  # each with itself, at a distance of rounding
    volumes = (pi * edges**2, 4.0 * pi / 3.0 * edges**3)[d - 2]
    pairs = len(first) * len(second) - both
    return np.diff(counts) * abs(np.linalg.det(box)) / (pairs * np.diff(volumes))


def _wrap_positions(x: np.ndarray, box: np.ndarray) -> np.ndarray:
    fractions = x @ np.linalg.inv(box)
    return (fractions - np.floor(fractions)) @ box


def _nearby_images(x: np.ndarray, box: np.ndarray, reach: float) -> np.ndarray:
    """All images of atoms within a distance of the box."""
    far = reach * np.linalg.norm(np.linalg.inv(box), axis=0)
    inside = _wrap_positions(x, box) @ np.linalg.inv(box)
    ranges = [np.arange(-int(np.ceil(f)), int(np.ceil(f)) + 1) for f in far]
    shifts = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, len(box))
    every = (inside[None] + shifts[:, None]).reshape(-1, len(box))
    return every[((every >= -far) & (every <= 1.0 + far)).all(axis=1)] @ box


def _nodes_of(context: ObserverContext, names: tuple[Names, Names] | None) -> tuple[np.ndarray, np.ndarray]:
    """The atoms of two bodies, or unions of bodies; by default all, twice."""
    every = np.arange(len(context.state.fields["x"]))
    if names is None:
        return every, every
    bodies = {body.name: np.intersect1d(body.nodes, every) for body in context.state.bodies}
    several = [(one,) if isinstance(one, str) else one for one in names]
    for one in several:
        if not one:
            raise UserError("between: names no body, got []; name one at least")
        if missing := [name for name in one if name not in bodies]:
            known = ", ".join(bodies) or "none"
            raise UserError(f"between: no body named '{missing[0]}' (there are: {known})")
    first, second = (np.unique(np.concatenate([bodies[name] for name in one])) for one in several)
    return first, second


class RadialDistributionBlock(Record):
    """The radial distribution function up to `radius`, in `bins` shells, from the step `begin` on.

    `between`: two bodies (default: all atoms). `published`: a table with columns r and g to draw beside it,
    its r in the unit `length`. The picture shows the mean over the recorded steps.
    """

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""
    radius: Annotated[float | str, Quantity("m", "positive")]
    """Largest distance."""
    bins: Annotated[int, Field(ge=1, le=100_000)] = 100
    """Number of shells, up to 100,000."""
    begin: Annotated[int, Field(ge=0)] = 0
    """Step from which on it is recorded."""
    between: tuple[Names, Names] | None = None
    """Two bodies, each one or several, whose pairs are counted (default: all atoms)."""
    published: str | None = None
    """CSV file with columns r and g, which pictures draw beside it (default: none)."""
    length: str = "m"
    """Unit of r in the published table."""

    def make(self, context: ObserverContext) -> Observer:
        fields = context.stepper.potential.fields
        if not fields.periodic or not all(fields.periodic) or len(fields.periodic) not in (2, 3):
            raise UserError(
                "radial_distribution: needs a box that is periodic along 2 or 3 axes, got none; give the"
                " scene a [box]"
            )
        return RadialDistribution(context, self)


OBSERVERS = {SERIES: RadialDistributionBlock}
