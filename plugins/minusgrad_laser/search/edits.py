"""Edits of a path: functions from a path to an edited one, without random numbers.

A stroke is a sequence of lit moves; travels lie between strokes. Merged moves keep their mean exposure
E = power / speed along their length: E = sum(E_i l_i) / sum(l_i), at the speed of sum(l_i) in sum(l_i / v_i).
"""

from dataclasses import dataclass, replace

import numpy as np

from ..paths.order import improve_order


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a path, and the move that ends at each.

    point (n, p): x, y, and what else belongs to a point, such as the means of Adam. move (n, m): power,
    speed, and what else belongs to a move. lit (n,) of booleans. All of the first move is unused.
    """

    point: np.ndarray
    move: np.ndarray
    lit: np.ndarray

    def __len__(self) -> int:
        return len(self.lit)

    @property
    def lengths(self) -> np.ndarray:
        """Of the moves (n,); 0 for the first."""
        return np.append(0.0, np.hypot(*np.diff(self.point[:, :2], axis=0).T))

    def at(self, rows: np.ndarray) -> "Points":
        """The points of some rows, in their order."""
        return Points(self.point[rows], self.move[rows], self.lit[rows])


def tidy_travels(path: Points) -> Points:
    """Without points between two travels, and without travels at the begin and at the end."""
    on = np.flatnonzero(path.lit)
    if not len(on):
        return path
    path = path.at(np.arange(on[0] - 1, on[-1] + 1))
    lit = path.lit.copy()
    lit[0] = False
    keep = lit | np.append(lit[1:], True)
    return replace(path, lit=lit).at(np.flatnonzero(keep))


def darken_weak_moves(path: Points, least: float) -> Points:
    """Moves with less power than `least` are travels: this splits strokes, and shortens them."""
    return tidy_travels(replace(path, lit=path.lit & (path.move[:, 0] >= least)))


def join_short_travels(path: Points, gap: float) -> Points:
    """Without travels that are shorter than `gap`: the two points become one, in the middle."""
    short = ~path.lit & (path.lengths < gap)
    short[0] = False
    short &= ~np.append(False, short[:-1])
    rows = np.flatnonzero(short)
    point = path.point.copy()
    point[rows - 1] = 0.5 * (point[rows - 1] + point[rows])
    return replace(path, point=point).at(np.flatnonzero(~short))


def merge_points(path: Points, shortest: float, straight: float) -> Points:
    """Without points inside strokes that end a move shorter than `shortest`, or that hardly bend it.

    straight: a point hardly bends a stroke if it is nearer than this to the line between its neighbours, and
    the exposures before and after it differ by less than a twentieth. No two neighbours go at once.
    """
    n, length = len(path), path.lengths
    exposure = path.move[:, 0] / path.move[:, 1]
    gone = np.zeros(n, bool)
    for i in range(1, n - 1):
        if not (path.lit[i] and path.lit[i + 1]) or gone[i - 1]:
            continue
        a, p, b = path.point[i - 1 : i + 2, :2]
        low, high = sorted((exposure[i], exposure[i + 1]))
        useless = _segment_distance(a, p, b) < straight and high - low <= 0.05 * high
        gone[i] = useless or min(length[i], length[i + 1]) < shortest
    move = path.move.copy()
    for i in np.flatnonzero(gone).tolist():
        both = length[i : i + 2]
        share = both / both.sum() if both.any() else np.array([0.5, 0.5])
        move[i + 1] = share @ path.move[i : i + 2]
        speed = 1.0 / (share @ (1.0 / path.move[i : i + 2, 1]))
        move[i + 1, :2] = share @ exposure[i : i + 2] * speed, speed
    return replace(path, move=move).at(np.flatnonzero(~gone))


def insert_points(path: Points, longest: float, shortest: float, spare: int, blame: np.ndarray) -> Points:
    """With points in the middle of lit moves, at most `spare`, those with most blame first.

    Moves longer than `longest` come first, by length; then those with blame (n,) > 0 whose halves are not
    shorter than `shortest`.
    """
    length = path.lengths
    long, poor = path.lit & (length > longest), path.lit & (blame > 0.0) & (length >= 2.0 * shortest)
    merit = np.where(long, length / longest + blame.max(initial=0.0), np.where(poor, blame, 0.0))
    chosen = np.sort(np.argsort(-merit, kind="stable")[: min(spare, np.count_nonzero(merit))])
    if not len(chosen):
        return path
    rows = np.insert(np.arange(len(path)), chosen, chosen)
    new = chosen + np.arange(len(chosen))
    path = path.at(rows)
    path.point[new] = 0.5 * (path.point[new - 1] + path.point[new + 1])
    return path


def order_strokes(path: Points) -> Points:
    """The strokes in an order, and each in a direction, of shorter travel."""
    begins = np.flatnonzero(~path.lit)
    ends = np.append(begins[1:], len(path)) - 1
    places = path.point[np.stack([begins, ends], axis=1), :2]
    order, turned = improve_order(places)
    parts = [path.at(np.arange(begins[k], ends[k] + 1)) for k in order]
    parts = [_reverse_stroke(part) if flip else part for part, flip in zip(parts, turned, strict=True)]
    whole = [
        np.concatenate(values) for values in zip(*((p.point, p.move, p.lit) for p in parts), strict=True)
    ]
    return Points(*whole)


def _reverse_stroke(stroke: Points) -> Points:
    """A stroke the other way round; its first row, of the travel to it, stays."""
    turned = np.append(0, np.arange(len(stroke) - 1, 0, -1))
    return Points(stroke.point[::-1], stroke.move[turned], stroke.lit)


def _segment_distance(a: np.ndarray, p: np.ndarray, b: np.ndarray) -> float:
    """Distance of p from the segment between a and b."""
    along = b - a
    square = along @ along
    f = min(1.0, max(0.0, (p - a) @ along / square)) if square > 0.0 else 0.0
    return float(np.hypot(*(a + f * along - p)))
