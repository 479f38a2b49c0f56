"""The search for the path of a cut: places and energies of its moves, so that the edge is the outline.

    minimise  U(x, y, q) = edge_displacement + part_left + cut_through + path_shift          (`edge_dose`)

over points of the path (x, y) and energies on a length q of its moves, by L-BFGS from the first path. Points
of the outlines are nodes that are held. Tuples (point, move) are those within reach of the spot, and are
looked for again after each round, since points of the path move.

Decisions 0181.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from minusgrad import bind
from minusgrad.plugin import LBFGS, Fields, Potential, Tolerances, Unknown

from .edge_dose import (
    cut_through,
    density_change,
    edge_displacement,
    edge_dose,
    part_left,
    path_bend,
    path_shift,
)
from .kerf import Pair
from .path import Path
from .samples import Samples

REACH = 3.0
"""How far a move reaches, in waists: a part of 1.5e-8 of its peak."""
ROUNDS, ITERATIONS, MEMORY = 3, 60, 30
"""How often tuples are looked for, and iterations between."""
STEP, CHANGE = 1e-5, 1e-4
"""Scale of places [m], and the change in units of scales at which a round ends."""
SOFT = 1e-5
"""Displacement of an edge that counts once [m]; of this size, its energy is about one."""
THROUGH, SHIFT, CALM = 100.0, 1e-2, 3e-3
"""Weights of a dose that does not cut, of changes of the path, and of those of its energies."""
STRAIGHT = 1e-3
"""Points are on a line, in waists, and energies alike."""
SPAN = 5e-6
"""Moves that are shorter count as this long where they change [m]."""
SMOOTH = 1e-10
"""Weight of the bends of the path [m^2]: the head slows down where it turns."""
LEAST, MOST = 0.03, 2.0
"""The least and the most energy of a move, in those of a line: no move is dark."""


@dataclass(frozen=True)
class Physics:
    """What a search knows of machine and material: waists [m], fluence that cuts [J/m^2], energy of a line
    [J/m], the least dose on the path over that which cuts.
    """

    waists: Pair
    fluence: float
    density: float
    least: float


@dataclass(frozen=True, eq=False)
class Edges:
    """What is known of edges at samples (n,) [m]: `lever`, by how much an edge moves where the logarithm of
    the dose rises by one; `narrowest`, half of the narrowest kerf that cuts.
    """

    lever: np.ndarray
    narrowest: np.ndarray


def best_path(path: Path, samples: Samples, edges: Edges, counted: np.ndarray, physics: Physics) -> Path:
    """The path whose edge is nearest to the outlines. lever (n,) [m] of the samples, counted (n,): those that
    count.
    """
    shape = path.points[path.moves[:, 1]] - path.points[path.moves[:, 0]]
    first, straight = path.density, straight_points(path, physics.waists)
    path = replace(path, held=path.held | straight)
    for _ in range(ROUNDS):
        path = _search_round(path, shape, first, samples, edges, counted, physics)
    return path


def _search_round(
    path: Path,
    shape: np.ndarray,
    first: np.ndarray,
    samples: Samples,
    edges: Edges,
    counted: np.ndarray,
    physics: Physics,
) -> Path:
    """The path after some iterations."""
    n, m, moves = len(path.points), len(samples), path.moves
    within = samples.points - edges.narrowest[:, None] * samples.normals
    places = np.concatenate([path.points, samples.points, within])
    length = np.hypot(*(path.points[moves[:, 1]] - path.points[moves[:, 0]]).T)
    lit = path.density > 0.0
    on_path = np.bincount(moves[:, 1], length, n) * lit
    none, pieces = np.zeros((3, n + 2 * m)), _parts_of_sum(samples.pieces * counted)
    on_edge, inside, through = none
    through[:n], on_edge[n : n + m], inside[n + m :] = _parts_of_sum(on_path), pieces, pieces
    fields = Fields(
        {
            **dict(zip("xy", places.T, strict=True)),
            "density": np.append(path.density, np.zeros(2 * m)),
            "first_density": np.append(first, np.zeros(2 * m)),
            "lever": np.concatenate([np.zeros(n), edges.lever, edges.lever]),
            "edge_share": on_edge,
            "part_share": inside,
            "path_share": through,
        }
    )
    dose = _dose(fields, moves, physics)
    potential = Potential(fields, _energies(fields, path.previous, moves, shape, physics), [dose])
    moving = np.append(~path.held, np.zeros(2 * m, bool))
    bright = np.append(lit & (path.previous >= 0), np.zeros(2 * m, bool))
    unknowns = [
        Unknown("x", STEP),
        Unknown("y", STEP),
        Unknown("density", 0.2 * physics.density, LEAST * physics.density, MOST * physics.density),
    ]
    free = {"x": moving, "y": moving, "density": bright}
    LBFGS(potential, unknowns, Tolerances(change=CHANGE), memory=MEMORY, free=free).advance(ITERATIONS)
    x, y, density = (fields[name].values[:n].copy() for name in ("x", "y", "density"))
    return replace(path, points=np.stack([x, y], axis=1), density=density)


def _dose(fields: Fields, moves: np.ndarray, physics: Physics) -> Any:
    """The map of the dose at all points."""
    (w, up), places = physics.waists, np.stack([fields["x"].values, fields["y"].values], axis=1)
    spot = {"waist": w, "aspect": up / w, "fluence": physics.fluence}
    return bind(edge_dose, fields, tuples=near_moves(places, moves, physics.waists), parameters=spot)


def _energies(
    fields: Fields, previous: np.ndarray, moves: np.ndarray, shape: np.ndarray, physics: Physics
) -> list[Any]:
    size = np.hypot(*shape.T)
    span = np.maximum(size, SPAN)
    change = {"shape": shape, "span": span}
    bends = np.append(previous[moves[:, :1]], moves, axis=1)
    both = bends[:, 0] >= 0
    by_end = np.zeros(len(previous))
    by_end[moves[:, 1]] = span
    spans = {"spans": by_end[bends[both, 1:]]}
    return [
        bind(edge_displacement, fields, parameters={"soft": SOFT}),
        bind(part_left, fields, parameters={"soft": SOFT}),
        bind(density_change, fields, parameters={"line": physics.density, "weight": CALM}),
        bind(cut_through, fields, parameters={"least": physics.least, "weight": THROUGH}),
        bind(
            path_bend,
            fields,
            tuples=bends[both].astype(np.int32),
            data=spans,
            parameters={"weight": SMOOTH / size.sum()},
        ),
        bind(
            path_shift,
            fields,
            tuples=moves.astype(np.int32),
            data=change,
            parameters={"weight": SHIFT / size.sum()},
        ),
    ]


def _parts_of_sum(values: np.ndarray) -> np.ndarray:
    return values / max(float(values.sum()), 1e-30)


def straight_points(path: Path, waists: Pair) -> np.ndarray:
    """Points (n,) that are right as they are: all moves within reach are on one straight line with theirs."""
    moves = path.moves
    rows = near_moves(path.points, moves, waists)
    scaled = path.points / np.array(waists)
    along = np.zeros_like(scaled)
    along[moves[:, 1]] = scaled[moves[:, 1]] - scaled[moves[:, 0]]
    along /= np.maximum(np.hypot(*along.T), 1e-12)[:, None]
    off = np.zeros(len(path.points))
    for end in (rows[:, 1], rows[:, 2]):
        away = scaled[end] - scaled[rows[:, 0]]
        np.maximum.at(
            off, rows[:, 0], np.abs(away[:, 0] * along[rows[:, 0], 1] - away[:, 1] * along[rows[:, 0], 0])
        )
    alike = np.zeros(len(path.points))
    np.maximum.at(
        alike,
        rows[:, 0],
        np.abs(path.density[rows[:, 2]] / np.maximum(path.density[rows[:, 0]], 1e-30) - 1.0),
    )
    return np.asarray((off < STRAIGHT) & (alike < STRAIGHT) & (path.previous >= 0))


def near_moves(places: np.ndarray, moves: np.ndarray, waists: Pair) -> np.ndarray:
    """Rows (k, 3) of a place and the two ends of a move that reaches it."""
    scaled = places / np.array(waists)
    begin, way = scaled[moves[:, 0]], scaled[moves[:, 1]] - scaled[moves[:, 0]]
    length = np.hypot(*way.T)
    tree = cKDTree(scaled)
    pieces = np.maximum(
        np.ceil(length / (2.0 * REACH)).astype(int), 1
    )  # long moves are sought from several middles
    move = np.repeat(np.arange(len(moves)), pieces)
    part = (np.arange(len(move)) - np.repeat(np.cumsum(pieces) - pieces, pieces) + 0.5) / pieces[move]
    middle = begin[move] + part[:, None] * way[move]
    around = REACH + 0.5 * length[move] / pieces[move]
    near = tree.query_ball_point(middle, around)
    counts = np.array([len(one) for one in near])
    which, place = np.repeat(move, counts), np.concatenate([np.array(one, int) for one in near])
    off = scaled[place] - begin[which]
    along = np.clip(
        (off * way[which]).sum(axis=1) / np.where(length[which] > 0.0, length[which], 1.0) ** 2, 0.0, 1.0
    )
    reached = np.hypot(*(off - along[:, None] * way[which]).T) < REACH
    keys = np.unique(place[reached].astype(np.int64) * len(moves) + which[reached])
    rows = keys // len(moves), keys % len(moves)
    return np.stack([rows[0], moves[rows[1], 0], moves[rows[1], 1]], axis=1).astype(np.int32)
