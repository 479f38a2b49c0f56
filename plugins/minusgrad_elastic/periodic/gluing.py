"""Opposite sides of a body as one: a cell of a periodic body, deformed by a macroscopic gradient.

    X_j = X_i + n . h0,    s = (X - X_low) / L,    n_a = 1 where s_a = 1        node j is an image of node i
    h = h0 F^T,   x = F X                          rows of h: the edges of the box; F (d, d)

L (d,) are the extents of the mesh, h0 = diag L. Nodes on the upper sides along periodic axes are no nodes of
the state: its cells name those on the lower sides, with their images n (`State.images`). So a periodic body
has the energy of one cell, and the derivatives by its box are macroscopic stresses times the volume. Facets
between both sides are inside of the body, and are left out of its boundary.

Decisions 0166.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minusgrad.plugin import Body, Quadrature, State, UserError

TOLERANCE = 1e-6
"""Nodes match where they are as near as this part of the shortest edge of the box."""
FACETS = ("boundary", "surface")
"""The lists of facets of the boundary."""
POINTS = "points of "
"""Before the name of a list: the points of its facets, where these have several."""
PLACES = "places"
"""Data that are places of nodes at rest."""
REFUSED = {
    "pressure": "a surface that goes on beyond the edge of the box has no apex; use traction",
    "rigid_side": "a side that goes on beyond the edge of the box cannot turn; use [[hold]]",
}
"""Energies and compounds that know no images of nodes, and what to use in their place."""


@dataclass(frozen=True)
class Images:
    """Of each node of a mesh (n,) its number in the state and its image (n, d); kept: nodes that stay."""

    number: np.ndarray
    image: np.ndarray
    kept: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray, axes: Sequence[int]) -> "Images":
        """Raises `UserError` for a node on one side without one opposite to it."""
        from scipy.spatial import cKDTree

        low, lengths = points.min(axis=0), np.ptp(points, axis=0)
        near = TOLERANCE * float(lengths.min())
        image = np.zeros(points.shape, np.int32)
        for a in axes:
            image[:, a] = points[:, a] > low[a] + lengths[a] - near
        kept = np.flatnonzero(~image.any(axis=1))
        at = points - image * lengths
        far, nearest = cKDTree(at[kept]).query(at)
        for a in axes:
            _refuse_unmatched(points, np.flatnonzero((image[:, a] > 0) & (far > near)), a, "lower")
            upper = cKDTree(points[image[:, a] > 0]) if image[:, a].any() else None
            lower = np.flatnonzero(points[:, a] < low[a] + near)
            shift = np.eye(len(low))[a] * lengths
            off = np.full(len(lower), np.inf) if upper is None else upper.query(points[lower] + shift)[0]
            _refuse_unmatched(points, lower[off > near], a, "upper")
        return cls(nearest, image, kept, lengths)


def _refuse_unmatched(points: np.ndarray, lost: np.ndarray, axis: int, other: str) -> None:
    if len(lost):
        place = ", ".join(f"{c:.6g}" for c in points[lost[0]])
        more = f" ({len(lost)} of them)" if len(lost) > 1 else ""
        raise UserError(
            f"periodic: its sides along {'xyz'[axis]} do not match: node {lost[0]} ({place}){more} has none"
            f" opposite to it on the {other} side; mesh both sides alike, or leave '{'xyz'[axis]}' out"
        )


def glued_state(state: State, axes: Sequence[int], deformation: np.ndarray, thickness: float = 1.0) -> State:
    """The state with its opposite sides along these axes as one, deformed by F (d, d).

    thickness: of a body in the plane. Raises `UserError` for sides that do not match.
    """
    points = np.asarray(state.fields["x"], np.float64)
    images = Images.of(points, axes)
    facets = _outer_facets(state, images, axes)
    lists, of_lists, data = dict[str, np.ndarray](), dict[str, np.ndarray](), dict(state.data)
    quadratures = dict(state.quadratures)
    for name, rows in state.tuples.items():
        chosen = facets.get(name, np.arange(len(rows)))
        if name == "edges":
            chosen = _first_edges(rows, images)
        if not len(chosen):
            data.pop(name, None)
            continue
        lists[name], of_lists[name] = (
            images.number[rows[chosen]].astype(np.int32),
            _of_rows(rows[chosen], images),
        )
        if name in data and name not in state.quadratures:
            data[name] = _chosen_data(data[name], rows[chosen], chosen, images)
    for name, points_of in state.quadratures.items():
        chosen = facets.get(POINTS + name, np.arange(len(points_of.nodes)))
        quadratures.pop(name)
        if not len(chosen):
            data.pop(name, None)
            continue
        rows = points_of.nodes[chosen]
        cells = _renumbered(points_of.cell[chosen])
        own = tuple(one for one in points_of.lists if one in lists)
        quadratures[name] = Quadrature(images.number[rows].astype(np.int32), cells, own)
        of_lists[name] = _of_rows(rows, images)
        data[name] = _chosen_data(state.data[name], rows, chosen, images)
    kept = images.kept
    fields = {name: np.asarray(values)[kept] for name, values in state.fields.items()}
    fields["m"] = np.bincount(images.number, weights=state.fields["m"], minlength=len(kept))
    fields["x"] = fields["x"] @ deformation.T
    fields["box"] = (np.diag(images.lengths) @ deformation.T)[None]
    d = points.shape[1]
    bodies = [Body(b.name, np.unique(images.number[b.nodes])) for b in state.bodies]
    return replace(
        state,
        fields=fields,
        units={**state.units, "box": "m"},
        bodies=tuple(bodies),
        tuples=lists,
        data=data,
        quadratures=quadratures,
        images=of_lists,
        groups=_groups(state, facets),
        inner={},
        periodic=tuple(a in axes for a in range(d)),
        compare=_refuse_unaware,
        tables={
            **state.tables,
            "rest_box": np.diag(1.0 / images.lengths),
            "rest_volume": np.array([np.prod(images.lengths) * (thickness if d == 2 else 1.0)]),
        },
    )


def _refuse_unaware(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Refuse blocks of a scene that would be wrong across the edge of the box. No remarks."""
    for block in blocks:
        if cure := REFUSED.get(str(block["kind"])):
            raise UserError(f"{block['kind']}: is not for a body that repeats, got `periodic`; {cure}")
    return []


def _chosen_data(
    data: Mapping[str, np.ndarray], rows: np.ndarray, chosen: np.ndarray, images: Images
) -> dict[str, np.ndarray]:
    """The data of chosen elements, whose nodes in the mesh are these rows (E, k).

    Positions of an element begin at its first node in the box, so places at rest do, too.
    """
    found = {argument: values[chosen] for argument, values in data.items()}
    if PLACES in found:
        found[PLACES] = found[PLACES] - (images.image[rows[:, 0]] * images.lengths)[:, None]
    return found


def _of_rows(rows: np.ndarray, images: Images) -> np.ndarray:
    """The images (E, k, d) of the nodes of rows, relative to the first one."""
    found = images.image[rows]
    return found - found[:, :1]


def _renumbered(cells: np.ndarray) -> np.ndarray:
    """The numbers of cells without gaps."""
    return np.unique(cells, return_inverse=True)[1].reshape(-1)


def _first_edges(rows: np.ndarray, images: Images) -> np.ndarray:
    """The numbers of edges, each once: those on an upper side repeat others."""
    pairs, steps = images.number[rows], images.image[rows]
    turned = pairs[:, 0] > pairs[:, 1]
    step = np.where(turned[:, None], -1, 1) * (steps[:, 1] - steps[:, 0])
    keys = np.concatenate([np.sort(pairs, axis=1), step], axis=1)
    return np.sort(np.unique(keys, axis=0, return_index=True)[1])


def _outer_facets(state: State, images: Images, axes: Sequence[int]) -> dict[str, np.ndarray]:
    """By list of facets, the numbers of its elements that are no part of a side that is glued.

    Raises `UserError` where facets of opposite sides do not match.
    """
    x = np.asarray(state.fields["x"], np.float64)
    low, near = x.min(axis=0), TOLERANCE * float(images.lengths.min())
    lower = np.stack([x[:, a] < low[a] + near for a in axes], axis=1)
    upper = images.image[:, list(axes)] > 0

    def on_side(rows: np.ndarray) -> np.ndarray:
        return lower[rows].all(axis=1).any(axis=1) | upper[rows].all(axis=1).any(axis=1)

    names = [n for n in state.tuples if n == FACETS[0] or n.startswith(f"{FACETS[0]}_")]
    d = x.shape[1]
    for k, a in enumerate(axes):
        others = 2 ** np.arange(d) * (np.arange(d) != a)
        place = images.number * 2**d + images.image @ others
        first, second = (
            {
                tuple(sorted(one))
                for rows in (state.tuples[name] for name in names)
                for one in place[rows[side[rows][:, :, k].all(axis=1)]].tolist()
            }
            for side in (lower, upper)
        )
        if first != second or not first:
            but = (
                "their nodes do, but not their facets"
                if first or second
                else "they have no facets, but points"
            )
            raise UserError(
                f"periodic: its sides along {'xyz'[a]} do not match: {but}; mesh both sides alike, or leave"
                f" '{'xyz'[a]}' out"
            )
    found = {name: np.flatnonzero(~on_side(state.tuples[name])) for name in names}
    for name in (n for n in FACETS if n in state.quadratures):
        found[POINTS + name] = np.flatnonzero(~on_side(state.quadratures[name].nodes))
    return found


def _groups(state: State, facets: Mapping[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """The groups of elements; facets have new numbers."""
    found = {name: dict(groups) for name, groups in state.groups.items()}
    if FACETS[0] not in state.quadratures:
        kept = facets.get(FACETS[0], np.arange(0))
    else:
        kept = np.unique(state.quadratures[FACETS[0]].cell[facets[POINTS + FACETS[0]]])
    for name in (n for n in FACETS if n in found):
        rows = {body: np.flatnonzero(np.isin(kept, own)) for body, own in found[name].items()}
        found[name] = {body: own for body, own in rows.items() if len(own)}
    return found
