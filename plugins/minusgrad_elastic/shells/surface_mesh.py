"""Surfaces of triangles in space: points that are one, orientation, hinges, areas, closed ones.

    V = 1/6 sum over triangles of x_0 . (x_1 x x_2)        the volume of a closed surface, positive outwards

x (n, 3). Triangles that share an edge are listed the same way round if they run along it in opposite
directions; a surface on which all do is oriented.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace

import numpy as np

from minusgrad.plugin import UserError


@dataclass(frozen=True, eq=False)
class SurfaceMesh:
    """points (n, 3), triangles (E, 3) int32; bodies: node numbers, parts: numbers of triangles, by name."""

    source: str
    points: np.ndarray
    triangles: np.ndarray
    bodies: dict[str, np.ndarray] = field(default_factory=dict)
    parts: dict[str, np.ndarray] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    length: str = ""

    def corners(self) -> np.ndarray:
        """The places (E, 3, 3) of the corners."""
        return self.points[self.triangles]

    def normals(self) -> np.ndarray:
        """Normals (E, 3), as long as twice the area."""
        a, b, c = self.corners().swapaxes(0, 1)
        return np.cross(b - a, c - a)

    def areas(self) -> np.ndarray:
        """A (E,)."""
        return 0.5 * np.linalg.norm(self.normals(), axis=1)

    def volume(self) -> float:
        """V, of a closed surface."""
        a, b, c = (self.corners() - self.points.mean(axis=0)).swapaxes(0, 1)
        return float(np.einsum("ei,ei->", a, np.cross(b, c)) / 6.0)

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The edges (K, 2), each once, and how many triangles have it (K,)."""
        rows = np.concatenate([self.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
        return np.unique(np.sort(rows, axis=1), axis=0, return_counts=True)

    def is_closed(self) -> bool:
        """True if each edge belongs to two triangles."""
        return bool((self.edges()[1] == 2).all())

    def hinges(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes (H, 4) of each edge of two triangles, it and the corners across, and their numbers (H, 2).

        A row is corner, edge, edge, corner, as `dihedral` has its nodes.
        """
        sides = defaultdict(list)
        for number, row in enumerate(self.triangles.tolist()):
            for k in range(3):
                a, b, across = row[k], row[(k + 1) % 3], row[(k + 2) % 3]
                sides[min(a, b), max(a, b)].append((across, a, b, number))
        rows, owners = [], []
        for found in sides.values():
            if len(found) == 2:
                (one, a, b, first), (other, _, _, second) = found
                rows.append((one, a, b, other))
                owners.append((first, second))
        return np.array(rows, np.int32).reshape(-1, 4), np.array(owners, int).reshape(-1, 2)


def prepared_surface(mesh: SurfaceMesh) -> SurfaceMesh:
    """The surface with equal points joined, oriented, and closed ones outwards, with remarks.

    Raises `UserError` for points that are not finite, triangles without area, and those that stand twice.
    """
    if not np.isfinite(mesh.points).all():
        lost = int(np.argmin(np.isfinite(mesh.points).all(axis=1)))
        raise UserError(f"{mesh.source}: point {lost} is not finite; save the surface again")
    mesh = _oriented(_joined(mesh))
    size = float(np.ptp(mesh.points, axis=0).max())
    if (flat := np.flatnonzero(mesh.areas() <= 1e-12 * size**2)).size:
        place = ", ".join(f"{c:.4g}" for c in mesh.corners()[flat[0]].mean(axis=0))
        raise UserError(
            f"{mesh.source}: triangles without area ({len(flat)} of {len(mesh.triangles)}), the first at"
            f" ({place}); repair the surface"
        )
    _, first, counts = np.unique(
        np.sort(mesh.triangles, axis=1), axis=0, return_index=True, return_counts=True
    )
    if (twice := first[counts > 1]).size:
        raise UserError(f"{mesh.source}: triangle {twice[0]} stands twice; remove the copies")
    if mesh.is_closed() and mesh.volume() < 0.0:
        turned = replace(mesh, triangles=np.ascontiguousarray(mesh.triangles[:, ::-1]))
        return _with_remark(turned, "the closed surface was inside out; it is turned over")
    return mesh


def _with_remark(mesh: SurfaceMesh, remark: str) -> SurfaceMesh:
    return replace(mesh, remarks=(*mesh.remarks, remark))


def _joined(mesh: SurfaceMesh) -> SurfaceMesh:
    """Points at one place joined, those of no triangle left out, triangles with a corner twice, too."""
    _, first, which = np.unique(mesh.points, axis=0, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    triangles = first[which][mesh.triangles]
    sound = (np.sort(triangles, axis=1)[:, 1:] != np.sort(triangles, axis=1)[:, :-1]).all(axis=1)
    kept = np.unique(triangles[sound])
    number = np.full(len(mesh.points), -1)
    number[kept] = np.arange(len(kept))
    to = number[first[which]]
    place = np.cumsum(sound) - 1
    found = replace(
        mesh,
        points=mesh.points[kept],
        triangles=to[mesh.triangles[sound]].astype(np.int32),
        bodies={name: np.unique(to[nodes][to[nodes] >= 0]) for name, nodes in mesh.bodies.items()},
        parts={name: place[rows[sound[rows]]] for name, rows in mesh.parts.items()},
    )
    copies = len(mesh.points) - len(first)
    if copies:
        found = _with_remark(found, f"{copies} points that lie where another does are one with it")
    if not sound.all():
        found = _with_remark(found, f"{int((~sound).sum())} triangles with a corner twice are left out")
    return found


def _oriented(mesh: SurfaceMesh) -> SurfaceMesh:
    """Triangles listed the same way round as their neighbours, as far as there is such a way."""
    pairs, alike = _neighbours(mesh.triangles)
    if not alike.any():
        return mesh
    near: list[list[tuple[int, bool]]] = [[] for _ in mesh.triangles]
    for (one, other), same in zip(pairs.tolist(), alike.tolist(), strict=True):
        near[one].append((other, same))
        near[other].append((one, same))
    turned = np.full(len(mesh.triangles), -1)
    for start in range(len(turned)):
        if turned[start] >= 0:
            continue
        turned[start], members, pending = 0, [start], [start]
        while pending:
            one = pending.pop()
            for other, same in near[one]:
                if turned[other] < 0:
                    turned[other] = turned[one] ^ int(same)
                    members.append(other)
                    pending.append(other)
        if 2 * turned[members].sum() > len(members):
            turned[members] = 1 - turned[members]
    triangles = np.where((turned == 1)[:, None], mesh.triangles[:, ::-1], mesh.triangles)
    found = replace(mesh, triangles=np.ascontiguousarray(triangles))
    if _neighbours(found.triangles)[1].any():
        return _with_remark(mesh, "the surface has one side only (a Moebius strip): it is not oriented")
    return _with_remark(found, f"{int(turned.sum())} triangles were listed the other way round; turned over")


def _neighbours(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of triangles (K, 2) with a common edge of two, and whether they run along it the same way."""
    rows = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    owner = np.tile(np.arange(len(triangles)), 3)
    keys = np.sort(rows, axis=1)
    order = np.lexsort(keys.T)
    same = (keys[order][1:] == keys[order][:-1]).all(axis=1)
    lone = same & ~np.append(same[1:], False) & ~np.append(False, same[:-1])
    one, other = order[:-1][lone], order[1:][lone]
    return np.stack([owner[one], owner[other]], axis=1), rows[one, 0] == rows[other, 0]
