"""Surfaces under pressure: the volume that they sweep, its apex, and the forces that supports bear at a rim.

    V = sum over points of w (S (x - c)) . n,     n = x_,1 x x_,2,     S symmetric, tr S = 1
    dV = integral dx . n  +  rim integral (S (x - c)) . (dx x dl)              in the plane n = (y', -x')

V is the volume between the surface and its apex c: that of cones for S = I / 3, of prisms along x for
S = e_x e_x^T. dV is the work of a pressure of 1 on the deformed facets where the rim integral vanishes
for all motions that supports admit (divergence and Stokes' theorems): there is no rim, or it is held, or it
slides in planes through c, or in planes whose normals S maps to zero. So c and S follow from the supports,
and where no c and S do, the pressure has no potential (Schweizerhof & Ramm 1984, Comput. Struct. 18, 1099).
S is the projector beside some of the normals of planes (axes, of held components), divided by its trace.

At held components of the rim dV has the rim integral, too; the supports bear the pressure on the facets
alone, p sum of N_a n (`borne`).

Decisions 0070, 0165, 0325.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from minusgrad.plugin import EnergyError, TermElements

from .cells import reference_cells
from .supports.surface_planes import SurfacePlanes

TRIES = 4
"""Random motions of a rim for which the integral is computed."""
PLACED = 1e-7
"""Rim nodes lie in a plane to so much of the size of the surface; in f32 to 64 roundings."""


def apexes(given: TermElements) -> dict[str, np.ndarray]:
    """The apex c (E, d) and the shares S (E, d, d) of the points of facets: one for each connected surface.

    Raises `EnergyError` where the supports let a rim move so that the pressure has no potential.
    """
    x = given.fields["x"]
    facets, which = np.unique(given.nodes, axis=0, return_inverse=True)
    label = _connected_surfaces(facets, len(x))
    if "apex" in given.data:
        rows = np.reshape(given.data["apex"], (-1, x.shape[1]))
        for surface in np.unique(label):
            own = label == surface
            first = np.flatnonzero(own[which.reshape(-1)])[0] * len(rows) // len(given.nodes)
            _Surface.of(facets[own], given).refuse_apex(rows[first])
        return {"axis_shares": np.tile(np.eye(x.shape[1]) / x.shape[1], (len(given.nodes), 1, 1))}
    d = x.shape[1]
    found = {"apex": np.zeros((len(facets), d)), "axis_shares": np.zeros((len(facets), d, d))}
    for surface in np.unique(label):
        own = label == surface
        found["apex"][own], found["axis_shares"][own] = _Surface.of(facets[own], given).apex()
    return {name: values[which.reshape(-1)] for name, values in found.items()}


def borne(x: np.ndarray, data: Mapping[str, np.ndarray], parameters: Mapping[str, np.ndarray]) -> np.ndarray:
    """p N_a n (E, k, d) of each point: the forces on the nodes of facets, as supports bear them."""
    legs = np.einsum("eaj,eai->eji", data["tangents"], x)
    if x.shape[2] == 2:
        normal = np.stack([legs[:, 0, 1], -legs[:, 0, 0]], axis=1)
    else:
        normal = np.cross(legs[:, 0], legs[:, 1])
    size = parameters["pressure"] * data["weight"]
    return data["shares"][:, :, None] * (size[:, None] * normal)[:, None, :]


@dataclass(frozen=True)
class _Surface:
    """A connected surface: its nodes, its rim, and what supports do there.

    rims: nodes (R, m) of the edges of the rim; in the plane its ends (R, 1), with their signs. free (n, d):
    components that move, but for the planes in which constraints keep nodes. led: components that supports
    move together, (n, d) each.
    """

    label: str
    x: np.ndarray
    nodes: np.ndarray
    rims: tuple[np.ndarray, ...]
    free: np.ndarray
    led: tuple[np.ndarray, ...]
    planes: "SurfacePlanes"
    tolerance: float

    @classmethod
    def of(cls, facets: np.ndarray, given: TermElements) -> "_Surface":
        x, holds = given.fields["x"], [hold for hold in given.holds if hold.field == given.names["x"]]
        free, led = np.ones(x.shape, bool), []
        for hold in holds:
            axes = np.arange(x.shape[1]) if hold.axes is None else np.array(hold.axes)
            at = np.ix_(hold.nodes, axes)
            free[at] = False
            if hold.displacement or hold.velocity or hold.rotation:
                led.append(np.zeros(x.shape, bool))
                led[-1][at] = True
        tolerance = max(PLACED, 64.0 * float(np.finfo(given.dtype).eps))
        rims = tuple(_rim_edges(facets, x.shape[1]))
        planes = SurfacePlanes.of(given, free)
        return cls(given.label, x, np.unique(facets), rims, free, tuple(led), planes, tolerance)

    @property
    def size(self) -> float:
        """The longest side of its bounding box."""
        return float(np.ptp(self.x[self.nodes], axis=0).max())

    def apex(self) -> tuple[np.ndarray, np.ndarray]:
        """c (d,) and S (d, d). Raises `EnergyError` where there are none."""
        if (found := self._find_opening()) is None:
            self._refuse_open()
        assert found is not None
        return found

    def _find_opening(self) -> tuple[np.ndarray, np.ndarray] | None:
        for apex, share in self._openings():
            if all(self._rim_vanishes(rim, apex, share) for rim in self.rims):
                return apex, share
        return None

    def _openings(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Apexes and shares to try: along axes, then beside the normals of planes at any angle."""
        d, rim = self.x.shape[1], self._rim_nodes()
        if self.planes.are_at(rim):
            yield from self.planes.openings(self.x, rim, self.x[self.nodes].mean(axis=0))
            return
        for axes in (axes for count in (d, *range(1, d)) for axes in combinations(range(d), count)):
            share = np.zeros(d)
            share[list(axes)] = 1.0 / len(axes)
            yield self._rim_centre(axes), np.diag(share)

    def _rim_nodes(self) -> np.ndarray:
        parts = [part.ravel() for part in self.rims]
        return np.unique(np.concatenate(parts)) if parts else self.nodes[:0]

    def refuse_apex(self, given: np.ndarray) -> None:
        """Raise `EnergyError` for an apex (d,) beside the planes of supports, where these tell it."""
        share = np.eye(self.x.shape[1]) / self.x.shape[1]
        if all(self._rim_vanishes(rim, given, share) for rim in self.rims):
            return
        if self._find_opening() is not None:
            raise EnergyError(f"{self.label}.apex: supports hold the rim so that it follows; leave it out")

    def _rim_centre(self, axes: tuple[int, ...]) -> np.ndarray:
        """The place in the planes that the rim slides in, along some axes; elsewhere the middle."""
        centre, rim = self.x[self.nodes].mean(axis=0), self._rim_nodes()
        sliding = rim[self.free[rim].any(axis=1)]
        for axis in axes:
            planes = self.x[sliding, axis][~self.free[sliding, axis]]
            if len(planes):
                centre[axis] = np.median(planes)
        return centre

    def _rim_vanishes(self, rim: np.ndarray, apex: np.ndarray, share: np.ndarray) -> bool:
        """True if the rim integral is zero along edges for all motions that supports admit."""
        return not self._rim_is_off(rim, apex, share).any()

    def _rim_is_off(self, rim: np.ndarray, apex: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Whether the rim integral of each edge (R,) is not zero, at random places and for random motions."""
        rng, off = np.random.default_rng(0), np.zeros(len(rim), bool)
        members, local = np.unique(rim, return_inverse=True)
        rows, free, size = local.reshape(rim.shape), self.free[members], self.size
        for _ in range(TRIES):
            moved = self.planes.admitted(members, size * rng.normal(size=free.shape) * free)
            for led in self.led:
                moved += size * rng.normal(size=free.shape[1]) * led[members]
            moved += self.planes.led(members, rng, size)
            r = self.x[members] + moved - apex
            step = self.planes.admitted(members, rng.normal(size=free.shape) * free)
            found = _of_rim(r[rows], step[rows], share)
            most = np.abs(r).max() * (1.0 if rim.shape[1] == 1 else size)
            off |= np.abs(found) > self.tolerance * most
        return off

    def _refuse_open(self) -> None:
        share = np.eye(self.x.shape[1]) / self.x.shape[1]
        apex = self._rim_centre(tuple(range(len(share))))
        loose = np.concatenate([rim[self._rim_is_off(rim, apex, share)].ravel() for rim in self.rims])
        node = int(loose[np.argmax(self.free[loose].sum(axis=1))])
        place = ", ".join(f"{c:.4g}" for c in self.x[node])
        raise EnergyError(
            f"{self.label}: pressure has a potential where its surface is closed, or its rim held or sliding"
            f" in held planes, got a rim that may move at node {node} ({place}); hold the rim, give the"
            " `body` of a closed surface, or use a `traction`; where constraints of your own keep the rim in"
            " planes, give `apex`, a point of all of them"
        )


def _of_rim(r: np.ndarray, step: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The integral of (S r) . (dx x dl) over edges (R, m); in the plane of (S r) x dx."""
    if r.shape[1] == 1:
        a, b = (r @ share)[:, 0], step[:, 0]
        return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    kind = reference_cells.facets()[2, r.shape[1]]
    places, weights = kind.rule
    at, moving = np.einsum("qa,eai->eqi", kind.values(places), r), kind.values(places)
    along = np.einsum("qa,eai->eqi", kind.slopes(places)[:, :, 0], r)
    moves = np.einsum("qa,eai->eqi", moving, step)
    return np.einsum("q,eqi,eqi->e", weights, at @ share, np.cross(moves, along))


def _connected_surfaces(facets: np.ndarray, count: int) -> np.ndarray:
    """The number of the connected surface that each facet is part of."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    first = np.broadcast_to(facets[:, :1], facets.shape)
    pairs = coo_matrix((np.ones(facets.size), (first.ravel(), facets.ravel())), (count, count))
    return connected_components(pairs, directed=False)[1][facets[:, 0]]


def _rim_edges(facets: np.ndarray, d: int) -> Iterator[np.ndarray]:
    """The edges (R, m) that facets do not cancel, by their number of nodes; in the plane the ends (R, 1).

    Rows of facets with fewer nodes than others repeat the first one at their end.
    """
    padding = np.cumprod((facets == facets[:, :1])[:, ::-1], axis=1)[:, ::-1].sum(axis=1)
    lengths = facets.shape[1] - padding
    parts: dict[int, list[np.ndarray]] = {}
    for length in np.unique(lengths):
        rows = facets[lengths == length]
        ends: Sequence[tuple[int, ...]] = ((0,), (1,))
        for edge in ends if d == 2 else reference_cells.cells()[2, int(length)].edges:
            parts.setdefault(len(edge), []).append(rows[:, list(edge)])
    for length, found in parts.items():
        edges = np.concatenate(found)
        if length == 1:
            sign = np.concatenate([np.full(len(part), (-1.0, 1.0)[k % 2]) for k, part in enumerate(found)])
            keys = edges
        else:
            sign = np.where(edges[:, 0] < edges[:, 1], 1.0, -1.0)
            keys = np.sort(edges[:, :2], axis=1)
        _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        left = np.bincount(which.reshape(-1), weights=sign) != 0.0
        if left.any():
            yield edges[first[left]]
