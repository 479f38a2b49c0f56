"""Lines that meet end to end become one line, and a closed outline where its ends meet.

Ends no farther apart than the tolerance are one place: those that agree to a thousandth of it first, so that
short chords of a curve are never one place. Only lines of one layer and one colour are joined. Where more
than two ends meet, a line goes on into the one that turns least, of equal ones into the first of the file,
and never straight back. So lines that are drawn twice stay two lines, and a crossing stays a crossing.

Decisions 0176.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from .drawing import Outline

STRAIGHT_BACK = 1.0 - 1e-6
"""Cosine between two lines from one place above which one lies on the other."""


def join_outlines(outlines: Sequence[Outline], tolerance: float) -> tuple[Outline, ...]:
    """Outlines with open strokes joined; each stands where its first line did. tolerance [m]."""
    return _join_within(_join_within(outlines, 1e-3 * tolerance), tolerance)


def _join_within(outlines: Sequence[Outline], tolerance: float) -> tuple[Outline, ...]:
    groups: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    found: dict[int, Outline] = {}
    for k, one in enumerate(outlines):
        if one.closed or one.fill is not None or _is_short(one.points, tolerance):
            found[k] = one
        else:
            groups[one.layer, one.stroke].append(k)
    for members in groups.values():
        for first, joined in _join_lines([outlines[k] for k in members], tolerance):
            found[members[first]] = joined
    return tuple(found[k] for k in sorted(found))


def _is_short(points: np.ndarray, tolerance: float) -> bool:
    """True if both ends of a line would be one place, and all of it."""
    return not float(np.hypot(*(points - points[0]).T).max(initial=0.0)) > tolerance


@dataclass
class _Chain:
    """Lines one after another, each with its direction."""

    steps: list[tuple[int, bool]]
    closed: bool = False


def _join_lines(lines: list[Outline], tolerance: float) -> list[tuple[int, Outline]]:
    """The joined lines, each with the least number of those that it is made of."""
    ends = np.concatenate([[one.points[0], one.points[-1]] for one in lines])
    place = _merge_places(ends, tolerance).reshape(-1, 2)
    at: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for k, (begin, end) in enumerate(place.tolist()):
        at[begin].append((k, True))
        at[end].append((k, False))
    used = np.zeros(len(lines), bool)
    found = []
    for k in range(len(lines)):
        if used[k]:
            continue
        used[k] = True
        chain = _Chain([(k, True)])
        _extend_chain(chain, lines, place, at, used)
        if not chain.closed:
            chain.steps = [(line, not forward) for line, forward in reversed(chain.steps)]
            _extend_chain(chain, lines, place, at, used)
            chain.steps = [(line, not forward) for line, forward in reversed(chain.steps)]
        found.append((min(line for line, _ in chain.steps), _make_outline(chain, lines)))
    return found


def _extend_chain(
    chain: _Chain,
    lines: list[Outline],
    place: np.ndarray,
    at: dict[int, list[tuple[int, bool]]],
    used: np.ndarray,
) -> None:
    """Go on at the end of the chain, until nothing follows, or its begin is reached."""
    first, is_forward = chain.steps[0]
    begin = place[first, 0 if is_forward else 1]
    while True:
        last, is_forward = chain.steps[-1]
        end = place[last, 1 if is_forward else 0]
        if end == begin:
            chain.closed = True
            return
        back = _end_direction(lines[last].points, not is_forward)
        best: tuple[float, int, bool] | None = None
        for line, forward in at[end]:
            if not used[line]:
                turn = float(back @ _end_direction(lines[line].points, forward))  # -1: straight on
                if turn < STRAIGHT_BACK and (best is None or turn < best[0] - 1e-9):
                    best = (turn, line, forward)
        if best is None:
            return
        used[best[1]] = True
        chain.steps.append(best[1:])


def _end_direction(points: np.ndarray, at_begin: bool) -> np.ndarray:
    """Unit direction (2,) from an end of a line into it."""
    along = points - points[0] if at_begin else (points - points[-1])[::-1]
    apart = np.hypot(*along.T)
    far = int(np.argmax(apart > 0.0))
    return along[far] / max(apart[far], 1e-300)


def _make_outline(chain: _Chain, lines: list[Outline]) -> Outline:
    first = min(line for line, _ in chain.steps)
    parts = [lines[line].points if forward else lines[line].points[::-1] for line, forward in chain.steps]
    points = np.concatenate([parts[0][:1], *(part[1:] for part in parts)])
    if chain.closed:
        points = points[:-1]
    return replace(lines[first], points=points, closed=chain.closed)


def _merge_places(ends: np.ndarray, tolerance: float) -> np.ndarray:
    """A number for each end (n, 2): the same for those within the tolerance, and for a row of such."""
    pairs = cKDTree(ends).query_pairs(tolerance, output_type="ndarray")
    n = len(ends)
    graph = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (n, n))
    return connected_components(graph, directed=False)[1]
