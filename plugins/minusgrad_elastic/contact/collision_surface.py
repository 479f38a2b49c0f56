"""The surface of bodies that may touch: who is near whom, how far nodes may move, what intersects.

    points and triangles, edges and edges (in the plane points and edges) without a common node whose
    distance is below D, by the class of their closest points (Ericson 2005, Real-Time Collision Detection,
    sections 5.1.5 and 5.1.9)

Boxes that overlap, the continuous detection of collisions and the test for intersections are ipctk's
(Ferguson et al., IPC Toolkit; Wang et al. 2021, ACM Trans. Graph. 40, 188, tight inclusions: never too far).
Lists are functions of positions alone, in the order of node numbers: where the closest points of several
pairs lie in one feature, as in a corner of many triangles, it is listed as often as there are pairs.

Decisions 0085, 0127.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from minusgrad.plugin import UserError, pip_line

from .distances import ARITY, EDGE, EDGES, END, ENDS, LEVEL, PARALLEL, POINTS, TRIANGLE

FLAT = 1e-12
"""sin^2 below which the normal of two edges is mere rounding; the nearest end is then as near."""
KEPT = 4
"""Positions whose tuples are kept: those of a search along a line return."""
NAMED = 3
"""Most intersections that a message names."""


def collision_library() -> ModuleType:
    """ipctk, on one thread, so that its answers do not depend on how many there are."""
    try:
        import ipctk
    except ImportError:
        raise UserError(f"contact: needs ipctk, which is not installed; {pip_line('contact')}") from None
    ipctk.set_num_threads(1)
    return ipctk


@dataclass(frozen=True)
class Meeting:
    """Who meets whom: features meet where two of their nodes do.

    patch: by node number, its patch. meets (P, P): which patches do. itself: neighbours in a surface may.
    """

    patch: np.ndarray
    meets: np.ndarray
    itself: bool

    @classmethod
    def of(
        cls, facets: np.ndarray, pairs: Sequence[tuple[np.ndarray, np.ndarray]], with_itself: bool
    ) -> "Meeting":
        """The meeting of pairs of sets of nodes, of all if there are none; with_itself: of one piece, too."""
        piece = _connected_pieces(facets)
        every = np.arange(len(piece))
        columns = [piece, *(np.isin(every, nodes) for pair in pairs for nodes in pair)]
        patches, patch = np.unique(np.stack(columns, axis=1).astype(int), axis=0, return_inverse=True)
        own = patches[:, 0]
        meets = np.full((len(patches), len(patches)), not pairs)
        for k in range(len(pairs)):
            one, other = patches[:, 2 * k + 1], patches[:, 2 * k + 2]
            meets |= (np.outer(one, other) + np.outer(other, one)) > 0
        same = own[:, None] == own
        if not with_itself:
            meets &= ~same
        return cls(patch.reshape(-1), meets, bool((meets & same & (own >= 0)).any()))

    def of_nodes(self, nodes: np.ndarray) -> Any:
        """A function of two places in `nodes`: whether they meet."""
        patch, meets = self.patch[nodes].tolist(), self.meets.tolist()
        return lambda a, b: meets[patch[a]][patch[b]]


def _connected_pieces(facets: np.ndarray) -> np.ndarray:
    """By node number, the number of the connected piece of the surface; -1 of nodes that are in no facet."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = int(facets.max()) + 1
    first = np.repeat(facets[:, 0], facets.shape[1] - 1)
    links = coo_array((np.ones(len(first)), (first, facets[:, 1:].ravel())), (count, count))
    _, piece = connected_components(links, directed=False)
    return np.where(np.isin(np.arange(count), facets), piece, -1)


class Near(NamedTuple):
    """The tuples of each kind at some positions; the least squared distance, and the nodes that have it."""

    tuples: dict[str, np.ndarray]
    nearest: tuple[float, tuple[int, ...]]


class CollisionSurface:
    """Edges (E, 2) and triangles (F, 3) of a surface, by node numbers; in the plane edges alone.

    distance: D, the gap below which pairs are listed. dimension: 2 or 3. thickness: what gaps begin at.
    meeting: who meets whom; None: all.
    """

    def __init__(
        self,
        facets: np.ndarray,
        distance: float,
        dimension: int,
        *,
        thickness: float = 0.0,
        meeting: Meeting | None = None,
    ):
        self.library = collision_library()
        self.distance, self.thickness, self.dimension = distance, thickness, dimension
        self.meeting, self.meets_itself = meeting, meeting is None or meeting.itself
        self.nodes, local = np.unique(facets, return_inverse=True)
        local = local.reshape(facets.shape)
        self.triangles = local if dimension == 3 else np.zeros((0, 3), int)
        sides = (
            local
            if dimension == 2
            else np.concatenate([local[:, [0, 1]], local[:, [1, 2]], local[:, [2, 0]]])
        )
        self.edges = np.unique(np.sort(sides, axis=1), axis=0)
        self._known: dict[bytes, Near] = {}
        self._last_way: tuple[Any, float] = None, 1.0

    def mesh(self, x: np.ndarray) -> Any:
        """ipctk's mesh of the surface."""
        made = self.library.CollisionMesh(
            np.asfortranarray(x), self.edges.astype(np.int32), self.triangles.astype(np.int32)
        )
        if self.meeting is not None:
            made.can_collide = self.library.CollisionFilter(self.meeting.of_nodes(self.nodes))
        return made

    @property
    def reach(self) -> float:
        """The distance of two features below which a pair is listed."""
        return self.distance + self.thickness

    @cached_property
    def _mesh(self) -> Any:
        return self.mesh(np.zeros((len(self.nodes), self.dimension)))

    def _places(self, x: np.ndarray) -> np.ndarray:
        return np.asfortranarray(x[self.nodes])

    def shortest_edge(self, x: np.ndarray) -> float:
        """The length of the shortest edge at positions x (n, d)."""
        ends = x[self.nodes][self.edges]
        return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).min())

    # A search for tuples

    def tuples(self, x: np.ndarray, kind: str) -> np.ndarray:
        """The tuples of a kind at positions x (n, d), (E, k) int32, in the order of their numbers."""
        return self._found_at(x).tuples[kind]

    def _found_at(self, x: np.ndarray) -> "Near":
        key = x.tobytes()
        if key not in self._known:
            while len(self._known) >= KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = self._classified(x)
        return self._known[key]

    def free_part(self, before: np.ndarray, after: np.ndarray) -> float:
        """The part of the straight way between positions on which nothing touches; 1.0: all of it."""
        ends = self._places(before), self._places(after)
        if np.array_equal(*ends):
            return 1.0
        key = tuple(x.tobytes() for x in ends)
        if self._last_way[0] != key:
            part = self.library.compute_collision_free_stepsize(
                self._mesh, *ends, min_distance=self.thickness
            )
            self._last_way = key, float(part)
        return self._last_way[1]

    def trouble(self, x: np.ndarray) -> str:
        """The intersections of the surface with itself, in words; "" if there are none."""
        if not np.isfinite(x).all():
            return ""
        if not self.library.has_intersections(self._mesh, self._places(x)):
            return self._too_near(x)
        found = self.intersections(x)
        some = "; ".join(
            f"edge {a}-{b} and {'triangle ' if len(rest) == 3 else 'edge '}{'-'.join(map(str, rest))}"
            for a, b, *rest in found[:NAMED]
        )
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        return f"surfaces intersect, got {some or 'nodes in one place'}{more} (by nodes); move them apart"

    def _too_near(self, x: np.ndarray) -> str:
        """Two features without a gap, in words; "" if there are none."""
        square, nodes = self._found_at(x).nearest
        if square > self.thickness * self.thickness:
            return ""
        where, within = "-".join(map(str, nodes)), f"within the thickness {self.thickness:.4g}"
        what = within if square > 0.0 else "in one place"
        return f"surfaces are {what}, got features of nodes {where}; move them apart"

    def intersections(self, x: np.ndarray) -> list[list[int]]:
        """Nodes of an edge, and of the triangle (in the plane the edge) that it passes through."""
        places, found = self._places(x), []
        phase = self.library.LBVH()
        phase.build(places, self.edges.astype(np.int32), self.triangles.astype(np.int32), 0.0)
        if self.dimension == 3:
            for pair in phase.detect_edge_face_candidates():
                edge, face = self.edges[pair.edge_id], self.triangles[pair.face_id]
                if {*edge} & {*face} or not self._may_meet(edge, face):
                    continue
                if self.library.is_edge_intersecting_triangle(*places[edge], *places[face]):
                    found.append([*self.nodes[edge].tolist(), *self.nodes[face].tolist()])
        else:
            for pair in phase.detect_edge_edge_candidates():
                one, other = self.edges[pair.edge0_id], self.edges[pair.edge1_id]
                if {*one} & {*other} or not self._may_meet(one, other):
                    continue
                if self.library.segment_segment_intersect(*places[one], *places[other]):
                    found.append([*self.nodes[one].tolist(), *self.nodes[other].tolist()])
        return sorted(found)

    def _may_meet(self, one: np.ndarray, other: np.ndarray) -> bool:
        """True if two features do, by places of their nodes."""
        if self.meeting is None:
            return True
        patch = self.meeting.patch[self.nodes]
        return bool(self.meeting.meets[np.ix_(patch[one], patch[other])].any())

    # Classes of closest points

    def _classified(self, x: np.ndarray) -> "Near":
        """The tuples of all kinds."""
        places = x[self.nodes]
        found: dict[str, list[np.ndarray]] = {kind: [] for kind in ARITY}
        nearest: list[tuple[float, tuple[int, ...]]] = [(np.inf, ())]
        candidates = self.library.Candidates()
        candidates.build(self._mesh, np.asfortranarray(places), inflation_radius=0.5 * self.reach)
        if self.dimension == 2:
            rows = _numbers((c.vertex_id, c.edge_id) for c in candidates.ev_candidates)
            pairs = [(points_and_edges, np.concatenate([rows[:, :1], self.edges[rows[:, 1]]], axis=1))]
        else:
            rows = _numbers((c.vertex_id, c.face_id) for c in candidates.fv_candidates)
            of_points = np.concatenate([rows[:, :1], self.triangles[rows[:, 1]]], axis=1)
            rows = _numbers((c.edge0_id, c.edge1_id) for c in candidates.ee_candidates)
            of_edges = np.concatenate([self.edges[rows[:, 0]], self.edges[rows[:, 1]]], axis=1)
            pairs = [(points_and_triangles, of_points), (edges_and_edges, of_edges)]
        for classes_of, nodes in pairs:
            squares, classes = classes_of(places, nodes)
            near = squares < self.reach * self.reach
            for kind, parts in classes.items():
                found[kind] += [chosen[near[rows]] for rows, chosen in parts]
            if len(squares):
                least = int(np.argmin(squares))
                nearest.append((float(squares[least]), tuple(self.nodes[nodes[least]].tolist())))
        return Near({kind: self._in_order(kind, parts) for kind, parts in found.items()}, min(nearest))

    def _in_order(self, kind: str, parts: list[np.ndarray]) -> np.ndarray:
        rows = np.concatenate([np.zeros((0, ARITY[kind]), int), *parts])
        if kind == POINTS:
            rows = np.sort(rows, axis=1)
        rows = rows[np.lexsort(rows.T[::-1])]
        return np.ascontiguousarray(self.nodes[rows], np.int32)


def _numbers(pairs: Any) -> np.ndarray:
    """Pairs of numbers (E, 2)."""
    return np.array([*pairs], int).reshape(-1, 2)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ei,ei->e", a, b)


Classes = dict[str, list[tuple[np.ndarray, np.ndarray]]]


def points_and_edges(x: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, Classes]:
    """Squared distances (E,) of points and edges, `nodes` (E, 3), and their classes."""
    r, q = x[nodes[:, 0]] - x[nodes[:, 1]], x[nodes[:, 2]] - x[nodes[:, 1]]
    place = _dot(r, q) / _dot(q, q)
    gap = r - np.clip(place, 0.0, 1.0)[:, None] * q
    low, high = place <= 0.0, place >= 1.0
    classes: Classes = {
        POINTS: [_chosen(low, nodes[:, [0, 1]]), _chosen(high & ~low, nodes[:, [0, 2]])],
        EDGE: [_chosen(~low & ~high, nodes)],
    }
    return _dot(gap, gap), classes


def points_and_triangles(x: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, Classes]:
    """The same of points and triangles, `nodes` (E, 4)."""
    corner = x[nodes[:, 1]]
    r, p, q = x[nodes[:, 0]] - corner, x[nodes[:, 2]] - corner, x[nodes[:, 3]] - corner
    pp, qq, pq, rp, rq = _dot(p, p), _dot(q, q), _dot(p, q), _dot(r, p), _dot(r, q)
    whole = pp * qq - pq * pq
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (qq * rp - pq * rq) / whole, (pp * rq - pq * rp) / whole
        inside = (a > 0.0) & (b > 0.0) & (a + b < 1.0)
    n = np.cross(p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.where(inside, _dot(r, n) ** 2 / _dot(n, n), np.inf)
    # else the nearest of the three edges; equal distances are those to a common corner
    sides = [nodes[:, [0, 1, 2]], nodes[:, [0, 2, 3]], nodes[:, [0, 3, 1]]]
    found = [points_and_edges(x, side) for side in sides]
    of_sides = np.stack([s for s, _ in found])
    nearest = np.where(inside, -1, np.argmin(of_sides, axis=0))
    squares = np.where(inside, squares, of_sides.min(axis=0))
    classes: Classes = {TRIANGLE: [_chosen(inside, nodes)], POINTS: [], EDGE: []}
    for k, (_, own) in enumerate(found):
        for kind in (POINTS, EDGE):
            classes[kind] += [_among(nearest == k, part) for part in own[kind]]
    return squares, classes


def edges_and_edges(x: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, Classes]:
    """The same of two edges, `nodes` (E, 4)."""
    r = x[nodes[:, 0]] - x[nodes[:, 2]]
    p, q = x[nodes[:, 1]] - x[nodes[:, 0]], x[nodes[:, 3]] - x[nodes[:, 2]]
    pp, qq, pq, pr, qr = _dot(p, p), _dot(q, q), _dot(p, q), _dot(p, r), _dot(q, r)
    n = np.cross(p, q)
    nn = _dot(n, n)
    sine = 1.0 - pq * pq / (pp * qq)
    parallel = sine < PARALLEL
    with np.errstate(divide="ignore", invalid="ignore"):
        a, c = (pq * qr - qq * pr) / nn, (pp * qr - pq * pr) / nn
        inside = (a > 0.0) & (a < 1.0) & (c > 0.0) & (c < 1.0) & (sine > FLAT)
        squares = np.where(inside, _dot(r, n) ** 2 / nn, np.inf)
    # else the nearest of the four ends and the other edge; in front the end, its other end behind
    one, other = nodes[:, [0, 1, 2, 3]], nodes[:, [2, 3, 0, 1]]
    ends = [one, one[:, [1, 0, 2, 3]], other, other[:, [1, 0, 2, 3]]]
    found = [points_and_edges(x, end[:, [0, 2, 3]]) for end in ends]
    of_ends = np.stack([s for s, _ in found])
    nearest = np.where(inside, -1, np.argmin(of_ends, axis=0))
    squares = np.where(inside, squares, of_ends.min(axis=0))
    classes: Classes = {kind: [] for kind in (POINTS, EDGE, END, ENDS)}
    classes |= {EDGES: [_chosen(inside & ~parallel, nodes)], LEVEL: [_chosen(inside & parallel, nodes)]}
    for k, (end, (_, own)) in enumerate(zip(ends, found, strict=True)):
        for kind, flat in ((POINTS, ENDS), (EDGE, END)):
            for rows, tuples in own[kind]:
                chosen = nearest[rows] == k
                plain, level = chosen & ~parallel[rows], chosen & parallel[rows]
                classes[kind].append((rows[plain], tuples[plain]))
                classes[flat].append((rows[level], _with_ends(end[rows[level]], tuples[level])))
    return squares, classes


def _with_ends(end: np.ndarray, tuples: np.ndarray) -> np.ndarray:
    """An end's edge and the other one, (E, 4), where the closest point of the other, if an end, is first."""
    turned = tuples[:, 1] == end[:, 3] if tuples.shape[1] == 2 else np.zeros(len(end), bool)
    return np.where(turned[:, None], end[:, [0, 1, 3, 2]], end)


def _chosen(mask: np.ndarray, tuples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a mask, and their tuples."""
    rows = np.flatnonzero(mask)
    return rows, tuples[rows]


def _among(mask: np.ndarray, part: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Those of a class whose rows are in a mask."""
    rows, tuples = part
    kept = mask[rows]
    return rows[kept], tuples[kept]
