"""Force and moment of the stress on a cut through a body, and of what acts on a side of it.

    g_i = sum over cells of sum over points of dU_e/dF grad N_i         of the cells ahead (+), behind (-)
    c_i = phi_i g-_i - (1 - phi_i) g+_i         at the nodes between both,  phi_i = V+_i / (V+_i + V-_i)
    R = sum c_i,        M = sum (x_i - a) x c_i

R (d,) [N] is the force of the part ahead of the cut on the part behind, M [N m] its moment about a: in the
plane a number. The cut runs along facets: cells whose middle is ahead of a plane, where its normal points,
are ahead. Loads on facets of either part are in its g_i. Inner forces of either part have no resultant, so
that R and M are those of the loads, reactions and inertia of either part, to rounding; of what acts at nodes
on the cut itself, masses and supports, either part has a share by the volumes V_i of its cells around it.
Nothing is integrated, and no stress is recovered. x_i are present places, of the linear theory those at rest.

On a side R and M are of the reactions of its supports and of the loads on it: terms of nodes at its nodes,
but for those that read masses, and elements of other terms all of whose nodes it has.

Decisions 0162.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minusgrad.plugin import ElementGradients, Observer, ObserverContext, UserError

from .cell_points import FIELD, CellPoints, row_sums
from .observer import length_unit
from .point_values import PointStress

SHORT = {("N", 1.0): "N", ("N", 1e3): "kN", ("N m", 1.0): "N m", ("N m", 1e3): "kN m", ("N m", 1e-3): "N mm"}
"""Names of units of force and moment by their size in SI."""
ON_PLANE = 1e-9
"""How far a cell's middle may lie from a plane that it counts as on it, in parts of the cell."""


class Resultant(NamedTuple):
    """Force (d,), moment (a number in the plane, (3,) in space) about a place."""

    force: np.ndarray
    moment: np.ndarray

    @staticmethod
    def of(places: np.ndarray, forces: np.ndarray, about: np.ndarray) -> "Resultant":
        """Of forces (n, d) at places (n, d)."""
        arms = places - about
        if places.shape[1] == 2:
            turning = arms[:, 0] * forces[:, 1] - arms[:, 1] * forces[:, 0]
        else:
            turning = np.cross(arms, forces)
        return Resultant(_ordered_total(forces), _ordered_total(turning))


class Cut:
    """The parts of a body ahead of a plane and behind it, and the nodes between them.

    ahead (E,): whether a cell is; chosen (E,): whether it belongs to the body that is cut. share (n,): phi at
    the nodes between, NaN elsewhere. place (d,): the middle of the facets of the cut, area their sum.
    """

    def __init__(self, cells: CellPoints, chosen: np.ndarray, point: np.ndarray, normal: np.ndarray):
        self.chosen = chosen
        middle, size = np.zeros((cells.count, cells.X.shape[1])), np.zeros(cells.count)
        for block in cells.blocks:
            own = cells.X[block.rows]
            middle[block.own], size[block.own] = own.mean(axis=1), np.ptp(own, axis=1).max(axis=1)
        unit = normal / np.linalg.norm(normal)
        self.ahead = (middle - point) @ unit > ON_PLANE * size
        of_cell, n = cells.cell_sums(cells.volume), len(cells.X)
        around = [
            np.bincount(cells.slots, of_cell[cells.slot_cell] * (chosen & part)[cells.slot_cell], minlength=n)
            for part in (self.ahead, ~self.ahead)
        ]
        between = (around[0] > 0.0) & (around[1] > 0.0)
        self.share = np.full(n, np.nan)
        self.share[between] = around[0][between] / (around[0] + around[1])[between]
        self.nodes = np.flatnonzero(between)
        self.alone = [np.flatnonzero((part > 0.0) & ~between) for part in around]
        if not len(self.nodes):
            low, high = cells.X[cells.slots].min(axis=0), cells.X[cells.slots].max(axis=0)
            raise UserError(
                f"cut: the plane has all cells on one side, got the point {point.tolist()}, cells between"
                f" {low.tolist()} and {high.tolist()} in the run's unit of length; give another point"
            )
        self.place = self._middle_of_facets(cells)

    def _middle_of_facets(self, cells: CellPoints) -> np.ndarray:
        """The middle of the facets between the parts, whose corners are weighted by size."""
        found, weight = np.zeros(cells.X.shape[1]), 0.0
        part = np.where(self.chosen, np.where(self.ahead, 1, 2), 0)
        keys, corners, owners = [], [], []
        for block in cells.blocks:
            for facet in block.kind.facets:
                own = [a for a in facet if a < block.kind.corners]
                rows = np.full((len(block.rows), 4), -1)
                rows[:, : len(own)] = block.rows[:, own]
                corners.append(rows)
                keys.append(np.sort(rows, axis=1))
                owners.append(part[block.own])
        _, which = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
        owner, which = np.concatenate(owners), which.reshape(-1)
        seen = [np.bincount(which, owner == side) > 0 for side in (1, 2)]
        own = (seen[0] & seen[1])[which] & (owner == 1)
        for row in np.concatenate(corners)[own]:
            places = cells.X[row[row >= 0]]
            size = _facet_size(places)
            found, weight = found + size * places.mean(axis=0), weight + size
        return found / weight if weight > 0.0 else cells.X[self.nodes].mean(axis=0)


class CutResultant(Observer):
    """Records resultant/NAME, resultant_moment/NAME and resultant_place/NAME of a cut."""

    def __init__(
        self,
        context: ObserverContext,
        every: int,
        name: str,
        cells: CellPoints,
        points: PointStress,
        cut: Cut,
        about: np.ndarray,
    ):
        super().__init__(context.stepper, context.recorder, every)
        self.name, self.cells, self.points, self.cut, self.about = name, cells, points, cut, about
        self._rows = _rows_of_points(context, cells.name)
        self._loads = loads_of_parts(context, points, cut)
        self._last: Resultant | None = None
        self._units = _name_units(context, name, place=True)

    def observe(self) -> None:
        found = self.resultant(self.stepper.time)
        numbers = {f"resultant/{self.name}": found.force, f"resultant_moment/{self.name}": found.moment}
        numbers[f"resultant_place/{self.name}"] = self.cut.place
        self.recorder.record_observables(self.stepper.step, self.stepper.time, numbers)
        self._last = found

    def finding(self) -> str:
        return _sentence("on the cut", self.name, self._last, self._units)

    def resultant(self, t: float) -> Resultant:
        """Of the part ahead on the part behind."""
        ahead, behind = np.zeros((2, *self.cells.X.shape))
        nodes, share = self.cut.nodes, self.cut.share[self.cut.nodes, None]
        for part in self.points.parts:
            of_nodes, cell = part.nodal_rows(t), self.cells.cell[part.rows]
            for into, side in ((ahead, self.cut.ahead), (behind, ~self.cut.ahead)):
                own = (self.cut.chosen & side)[cell]
                rows = self._rows[part.rows][own, : of_nodes.shape[1]]
                flat = of_nodes[own].reshape(-1, into.shape[1])
                into += row_sums(rows.ravel(), flat, len(into))
        for load, sides in self._loads:
            of_nodes = load.at(t)
            for into, own in zip((ahead, behind), sides, strict=True):
                flat = of_nodes[own].reshape(-1, into.shape[1])
                into += row_sums(load.nodes[own].ravel(), flat, len(into))
        forces = share * behind[nodes] - (1.0 - share) * ahead[nodes]
        return Resultant.of(places_of_nodes(self, self.points, self.cells)[nodes], forces, self.about)


class SideResultant(Observer):
    """Records resultant/NAME and resultant_moment/NAME of what acts on the nodes of a side."""

    def __init__(
        self,
        context: ObserverContext,
        every: int,
        name: str,
        cells: CellPoints,
        points: PointStress,
        parts: Sequence[np.ndarray],
        about: np.ndarray,
    ):
        """parts: the nodes (Q,) of each side of a union, whose facets are those of each."""
        super().__init__(context.stepper, context.recorder, every)
        self.name, self.cells, self.points, self.about = name, cells, points, about
        self.nodes = np.unique(np.concatenate(parts))
        self._loads = loads_on_side(context, points, parts)
        self._last: Resultant | None = None
        self._units = _name_units(context, name, place=False)

    def observe(self) -> None:
        found = self.resultant()
        numbers = {f"resultant/{self.name}": found.force, f"resultant_moment/{self.name}": found.moment}
        self.recorder.record_observables(self.stepper.step, self.stepper.time, numbers)
        self._last = found

    def finding(self) -> str:
        return _sentence("on the side", self.name, self._last, self._units)

    def resultant(self) -> Resultant:
        """Of supports and loads on the body."""
        forces: np.ndarray = self.reactions(FIELD).astype(float)
        for load, own in self._loads:
            flat = load.at(self.stepper.time)[own].reshape(-1, self.cells.X.shape[1])
            forces -= row_sums(load.nodes[own].ravel(), flat, len(forces))
        places = places_of_nodes(self, self.points, self.cells)
        return Resultant.of(places[self.nodes], forces[self.nodes], self.about)


def places_of_nodes(observer: Observer, points: PointStress, cells: CellPoints) -> np.ndarray:
    """Where forces act: the present places (n, d); of bodies of the linear theory those at rest."""
    if all(part.small for part in points.parts):
        return cells.X
    return observer.fields[FIELD].values.astype(float)


def loads_on_side(
    context: ObserverContext, points: PointStress, parts: Sequence[np.ndarray]
) -> list[tuple[ElementGradients, np.ndarray]]:
    """The terms that act on a side from outside, and their elements on one of its parts (E,)."""
    found = []
    for load in _other_terms(context, points):
        reads_mass = any(one.name == "m" for one in load.term.fields.values())
        own = np.any([np.isin(load.nodes, nodes).all(axis=1) for nodes in parts], axis=0)
        if own.any() and not (load.nodes.shape[1] == 1 and reads_mass):
            found.append((load, own))
    return found


def loads_of_parts(
    context: ObserverContext, points: PointStress, cut: Cut
) -> list[tuple[ElementGradients, tuple[np.ndarray, np.ndarray]]]:
    """Terms besides those of the cells, and their elements that hang on the part ahead and behind (E,)."""
    found = []
    for load in _other_terms(context, points):
        ahead, behind = (np.asarray(np.isin(load.nodes, part).any(axis=1)) for part in cut.alone)
        crossing = ahead & behind
        if crossing.any():
            raise UserError(
                f"cut: {int(crossing.sum())} elements of the term '{load.term.name}' cross the plane, got a"
                " force that is no stress of the cells; move the plane, or cut a `body` without them"
            )
        if load.nodes.shape[1] > 1 and (ahead | behind).any():
            found.append((load, (ahead, behind)))
    return found


def _other_terms(context: ObserverContext, points: PointStress) -> list[ElementGradients]:
    """The terms of positions that are not of the cells, and whose elements stay."""
    solid = {part.term.name for part in points.parts}
    terms = context.stepper.potential.terms.items()
    every = [ElementGradients.of(term, FIELD) for name, term in terms if name not in solid]
    return [one for one in every if one is not None]


def _rows_of_points(context: ObserverContext, name: str) -> np.ndarray:
    state = context.state
    return np.asarray(state.quadratures[name].nodes if name in state.quadratures else state.tuples[name])


def _name_units(context: ObserverContext, name: str, place: bool) -> list[str]:
    """Give the series their units; returns the names of those of force and moment, after a space."""
    units, recorder = context.units, context.recorder
    names = [
        units.symbol(unit)
        if units.symbol(unit) == "1"
        else SHORT.get((unit, units.in_si(unit)), units.symbol(unit))
        for unit in ("N", "N m")
    ]
    recorder.unit(f"resultant/{name}", names[0], units.in_si("N"))
    recorder.unit(f"resultant_moment/{name}", names[1], units.in_si("N m"))
    if place:
        recorder.unit(f"resultant_place/{name}", *length_unit(context))
    return ["" if one == "1" else f" {one}" for one in names]


def _sentence(where: str, name: str, found: Resultant | None, units: list[str]) -> str:
    """A resultant in words; "" before there is one."""
    if found is None:
        return ""
    force = ", ".join(f"{one:.6g}" for one in found.force)
    moment = ", ".join(f"{one:.6g}" for one in np.atleast_1d(found.moment))
    return f"resultant {where} '{name}': force ({force}){units[0]}, moment ({moment}){units[1]}"


def _facet_size(corners: np.ndarray) -> float:
    """The length of an edge, the area of a facet in space."""
    if corners.shape[1] == 2:
        return float(np.linalg.norm(corners[1] - corners[0]))
    legs = corners[1:] - corners[0]
    turned = np.cross(legs[:-1], legs[1:]).sum(axis=0)
    return float(0.5 * np.linalg.norm(turned))


def _ordered_total(values: np.ndarray) -> np.ndarray:
    """Sums over rows in double precision, in their order."""
    flat = values.reshape(len(values), -1)
    total = row_sums(np.zeros(len(flat), int), flat, 1)[0]
    return total.reshape(values.shape[1:])
