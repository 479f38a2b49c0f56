"""The state of an undeformed solid: its mesh as fields, lists of cells and facets, and data of their points.

    list        rows          data of its elements
    cells       cells, or their quadrature points: gradients (k, d) of the shape functions [1/m], volume
    [m^3];
                of points mean_gradients (k, d), their means over the cell; with temperatures cell_shares
                (k,) = N_a, and of points mean_cell_shares, their means
    edges       (K, 2)        rest [m], their length
    boundary    facets, or their quadrature points: area [m^2], shares (k,) = N_a, tangents (k, d - 1), the
                slopes of N_a along the facet's coordinates, weight
    surface     the same facets, or more points of them, for which products N_a N_b are integrated exactly:
                patch [m^2], the area of a point, shape_values (k,) = N_a, normal (d,) at rest, places (k, d)
                [m] of the nodes at rest

A triangle or tetrahedron of order 1 has one point and is an element itself. Of other cells the elements of
an energy are their points (`Quadrature`), and the list holds the cells for pictures and files. Where there
are cells of several kinds, as triangles beside quadrilaterals, each kind is a list of its own
(cells_triangles, cells_quadrilaterals), and the points of all are one. Points of cells with fewer nodes
repeat the first one.

Decisions 0071, 0319.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minusgrad.plugin import Body, Motion, Quadrature, State, UserError

from .cells import reference_cells
from .cells.quadrature import Rule
from .cells.reference_cells import ReferenceCell
from .mesh import NOBODY, Mesh

REFERENCE = {"shares", "cell_shares", "tangents", "weight", "shape_values"}
"""Data of points that do not depend on the shape at rest."""
LISTS = ("cells", "edges", "boundary", "surface")
"""The lists that every body has."""


def solid(
    mesh: Mesh,
    density: float,
    thickness: float = 1.0,
    origin: Sequence[float] = (),
    velocity: Sequence[float] = (),
    rest_shape: bool = False,
    temperature: float | None = None,
) -> State:
    """The state of an undeformed body; in the plane, of a sheet. rest_shape: `rest` (n, d) is a field, too.

    temperature: that of all nodes in the field `T` (n,), without which there is none. Raises `UserError` if a
    group of cells has the name of a list that every body has.
    """
    n, d = mesh.points.shape
    thick = thickness if d == 2 else 1.0
    groups = {k: e for k, e in mesh.cell_bodies.items() if len(e) < mesh.count}
    if taken := [k for k in groups if k in LISTS]:
        raise UserError(
            f"{mesh.source}: its cells '{taken[0]}' are called like a list of every body; rename them"
        )
    lists = _Lists(with_shares=temperature is not None)
    lists.add_cells("cells", mesh, np.arange(mesh.count), thick)
    edges = mesh.edges()
    ends = mesh.points[edges]
    lists.add("edges", edges, {"rest": np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)})
    x = mesh.points + np.array(origin or np.zeros(d))
    order = lists.add_boundary(mesh, thick, x)
    for name, chosen in groups.items():
        lists.add_cells(name, mesh, chosen, thick)
    rest = {"rest": x.copy()} if rest_shape else {}
    warm = {} if temperature is None else {"T": np.full(n, float(temperature))}
    made = {name for data in lists.data.values() for name in data}
    members, inner = _group_members(mesh, order)
    return State(
        fields={
            "x": x,
            "v": np.tile(np.array(velocity or np.zeros(d), float), (n, 1)),
            "m": mesh.lumped_masses(density * thick),
        }
        | rest
        | warm,
        units={"x": "m", "v": "m s^-1", "m": "kg"} | dict.fromkeys(rest, "m") | dict.fromkeys(warm, "K"),
        motions=(Motion("x", "v", "m"),),
        bodies=tuple(Body(name, nodes) for name, nodes in mesh.bodies.items()),
        tuples=lists.tuples,
        data=lists.data,
        labels={"x": "position", "v": "velocity", "m": "mass"} | dict.fromkeys(warm, "temperature"),
        shown=lists.of("cells"),
        quadratures=lists.quadratures,
        of_rest=frozenset({"m", *made} - REFERENCE) if rest_shape else frozenset(),
        groups=members,
        inner=inner,
        facets="boundary",
        absolute=frozenset(warm),
        fixed_at=dict.fromkeys(warm, "x"),
    )


def _group_members(
    mesh: Mesh, order: np.ndarray
) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, dict[str, int]]]:
    """The members of named groups of cells and facets by list, and how many facets of each are inside.

    order: of facets in the list of them.
    """
    place, facets, inner = np.argsort(order), dict[str, np.ndarray](), dict[str, int]()
    for name in {**mesh.cell_bodies, **mesh.facet_bodies}:
        rows, inner[name] = mesh.boundary_of(name)
        facets[name] = np.sort(place[rows])
    of_facets = {"boundary": facets, "surface": facets}
    return {"cells": dict(mesh.cell_bodies), **of_facets}, dict.fromkeys(of_facets, inner)


class _Lists:
    """The lists of a state, as they are collected."""

    def __init__(self, with_shares: bool = False) -> None:
        self._with_shares = with_shares
        self.tuples: dict[str, np.ndarray] = {}
        self.data: dict[str, dict[str, np.ndarray]] = {}
        self.quadratures: dict[str, Quadrature] = {}

    def of(self, name: str) -> tuple[str, ...]:
        """The lists of tuples that a list of elements consists of."""
        return self.quadratures[name].lists if name in self.quadratures else (name,)

    def add(self, name: str, rows: np.ndarray, data: dict[str, np.ndarray]) -> None:
        self.tuples[name], self.data[name] = rows, data

    def add_cells(self, name: str, mesh: Mesh, chosen: np.ndarray, thick: float) -> None:
        """Some cells of a mesh, by number."""
        starts = np.cumsum([0, *map(len, mesh.blocks)])
        parts = []
        for k, (kind, block, at) in enumerate(zip(mesh.kinds, mesh.blocks, mesh.at_points, strict=True)):
            own = chosen[(chosen >= starts[k]) & (chosen < starts[k + 1])] - starts[k]
            if not len(own):
                continue
            points = np.flatnonzero(np.isin(at.cell, own))
            cell = np.searchsorted(own, at.cell[points])
            data = {"gradients": at.gradients[points], "volume": at.volume[points] * thick}
            if not all(kind.is_linear_simplex for kind in mesh.kinds):
                data["mean_gradients"] = mesh.mean_gradients()[k][at.cell[points]]
            if self._with_shares:
                data["cell_shares"] = at.shares[points]
                data["mean_cell_shares"] = mesh.mean_shares()[k][at.cell[points]]
            parts.append((kind.name, block[own], cell, data))
        self._add_parts(name, parts)

    def add_boundary(self, mesh: Mesh, thick: float, x: np.ndarray) -> np.ndarray:
        """The facets of the boundary, and more points of them, of nodes x (n, d).

        Returns the numbers of the facets in the mesh, in the order of the list.
        """
        facets = mesh.boundary()
        lengths, parts, points = (facets != NOBODY).sum(axis=1), [], []
        for length in np.unique(lengths):
            kind = reference_cells.facets()[mesh.dimension, int(length)]
            rows = facets[lengths == length, :length]
            at = _facet_points(kind, kind.rule, mesh.points[rows])
            data = {
                "area": at.area * thick,
                "shares": at.values,
                "tangents": at.slopes,
                "weight": at.weights * thick,
            }
            parts.append((kind.name, rows, at.facet, data))
            at = _facet_points(kind, kind.products_rule, mesh.points[rows])
            data = {"patch": at.area * thick, "shape_values": at.values, "normal": at.normals}
            data["places"] = x[rows][at.facet]
            points.append((kind.name, rows, at.facet, data))
        self._add_parts("boundary", parts)
        self._add_surface(points)
        return np.concatenate([np.flatnonzero(lengths == length) for length in np.unique(lengths)])

    def _add_surface(self, parts: list[tuple[str, np.ndarray, np.ndarray, dict]]) -> None:
        """More points of the facets of the boundary, whose lists these are."""
        alone = _Lists()
        alone._add_parts("boundary", parts)
        (nodes, cell), lists = alone.elements("boundary"), self.of("boundary")
        self.quadratures["surface"] = Quadrature(nodes, cell, lists)
        self.data["surface"] = alone.data["boundary"]

    def elements(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The nodes of the elements of a list, and the cell of each."""
        if name in self.quadratures:
            return self.quadratures[name].nodes, self.quadratures[name].cell
        return self.tuples[name], np.arange(len(self.tuples[name]))

    def _add_parts(self, name: str, parts: list[tuple[str, np.ndarray, np.ndarray, dict]]) -> None:
        """Cells of several kinds: of each the name, the rows, the cell of each point, data of points."""
        (_, rows, cell, data), *others = parts
        if not others:
            self.add(name, rows, data)
            if len(cell) > len(rows):
                self.quadratures[name] = Quadrature(rows[cell], cell, (name,))
            return
        most = max(rows.shape[1] for _, rows, *_ in parts)
        names = [f"{name}_{kind.replace('-', '_').replace(' ', '_')}" for kind, *_ in parts]
        starts = np.cumsum([0, *(len(rows) for _, rows, *_ in parts)])
        self.tuples |= {own: rows for own, (_, rows, *_) in zip(names, parts, strict=True)}
        nodes = np.concatenate([_widen_rows(rows, most)[cell] for _, rows, cell, _ in parts])
        cells = np.concatenate([start + part[2] for start, part in zip(starts, parts, strict=False)])
        self.quadratures[name] = Quadrature(nodes, cells, tuple(names))
        self.data[name] = {
            what: np.concatenate(
                [
                    _pad_values(part[3][what], len(part[1][0]), most if what != "normal" else 0)
                    for part in parts
                ]
            )
            for what in data
        }


class _FacetPoints(NamedTuple):
    """Of the quadrature points of facets (P,): the facet, area, weight, N_a (P, k), slopes (P, k, d - 1) of
    N_a and normals (P, d) of size 1."""

    facet: np.ndarray
    area: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    slopes: np.ndarray
    normals: np.ndarray


def _facet_points(kind: ReferenceCell, rule: Rule, x: np.ndarray) -> _FacetPoints:
    """The points of a rule on facets of one kind with the nodes x (F, k, d)."""
    (places, weights), (count, length, d) = rule, x.shape
    q = len(places)
    slopes = np.broadcast_to(kind.slopes(places), (count, q, length, d - 1))
    legs = np.einsum("eqaj,eai->eqji", slopes, x)
    area = np.sqrt(np.linalg.det(legs @ legs.transpose(0, 1, 3, 2))) * weights / kind.parts
    along = legs.reshape(count * q, d - 1, d)
    normals = np.stack([along[:, 0, 1], -along[:, 0, 0]], 1) if d == 2 else np.cross(along[:, 0], along[:, 1])
    return _FacetPoints(
        np.repeat(np.arange(count), q),
        area.ravel(),
        np.tile(weights / kind.parts, count),
        np.tile(kind.values(places), (count, 1)),
        slopes.reshape(count * q, length, -1),
        normals / np.linalg.norm(normals, axis=1, keepdims=True),
    )


def _widen_rows(rows: np.ndarray, most: int) -> np.ndarray:
    """Rows that repeat their first node up to this length."""
    return np.concatenate([rows, np.repeat(rows[:, :1], most - rows.shape[1], axis=1)], axis=1)


def _pad_values(values: np.ndarray, nodes: int, most: int) -> np.ndarray:
    """Values of each point; those with one for each of so many nodes end with zeros. most: 0 of others."""
    if values.ndim == 1 or not most:
        return values
    return np.pad(values, [(0, 0), (0, most - nodes), *[(0, 0)] * (values.ndim - 2)])
