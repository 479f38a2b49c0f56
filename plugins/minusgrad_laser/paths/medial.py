"""Medial lines: the middle of thin regions, as polylines.

A region is thinned to lines one cell wide (Zhang and Suen 1984, Commun. ACM 27, 236), which keeps what is
connected; the lines are cut where they branch, and smoothed along their length.

Decisions 0229.
"""

from collections import Counter

import numpy as np
from scipy.ndimage import gaussian_filter1d

AROUND = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
"""The neighbours of a cell (row, column), clockwise."""
SMOOTH = 2.0
"""Deviation of the Gaussian by which a line of cells is smoothed, in cells."""

LOOK = 8
"""Cells of a line that give its direction at an end, and how far the rim is sought straight on."""

Cell = tuple[int, int]


def medial_lines(region: np.ndarray, least: float = 0.0) -> list[np.ndarray]:
    """Polylines (k, 2) as (column, row) in the middle of a region (rows, columns) of booleans; k >= 2.

    least: branches shorter than so many cells are left out. A part that is thinned to one cell becomes a line
    one cell long.
    """
    thin = np.argwhere(_thin_region(region))
    return [
        _smooth_line(cells)
        for cells in _prune_branches({(int(row), int(column)) for row, column in thin}, least)
    ]


def extend_ends(lines: list[np.ndarray], inside: np.ndarray, beyond: float) -> list[np.ndarray]:
    """Medial lines (k, 2) that go on at dead ends, `beyond` cells past the rim of `inside` (rows, columns).

    Thinning shortens a line by half its width, and a spot leaves half of a line's dose at its end.
    """
    ends = Counter(tuple(line[k].tolist()) for line in lines for k in (0, -1))
    found = []
    for line in lines:
        for _ in range(2):  # its last end, then its first
            line = line[::-1]
            if ends[tuple(line[0].tolist())] == 1:
                line = np.concatenate([_way_out(line, inside, beyond), line])
        found.append(line)
    return found


def _way_out(line: np.ndarray, inside: np.ndarray, beyond: float) -> np.ndarray:
    """The point (1, 2) past the rim straight on from the first point of a line; (0, 2) if it is far away."""
    back = line[min(LOOK, len(line) - 1)]
    way = (line[0] - back) / np.hypot(*(line[0] - back))
    steps = np.arange(0.5, LOOK + 0.5, 0.5)
    column, row = np.rint(line[0] + steps[:, None] * way).astype(int).T
    rows, columns = inside.shape
    on = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    on[on] = inside[row[on], column[on]]
    if on.all():
        return np.empty((0, 2))
    return (line[0] + (steps[int(np.argmin(on))] - 0.5 + beyond) * way)[None]


def _prune_branches(cells: set[Cell], least: float) -> list[list[Cell]]:
    """The lines of cells, without short branches: of those that meet at a cell, the shortest goes first."""
    while True:
        lines = _trace_lines(_without_steps(cells))
        ends = Counter(end for line in lines for end in (line[0], line[-1]))
        gone = set[Cell]()
        for line in sorted(lines, key=len):
            dead = [end for end in (line[0], line[-1]) if ends[end] == 1]
            forks = {line[0], line[-1]} - set(dead)
            if len(dead) == 1 and len(line) - 1 < least and not forks & gone:
                gone |= set(line)
        forks = {end for end, count in ends.items() if count > 1}
        if not gone - forks:
            return lines
        cells = {cell for line in lines for cell in line} - (gone - forks)


def _thin_region(region: np.ndarray) -> np.ndarray:
    """Zhang and Suen's two alternate passes, until nothing changes."""
    left = np.pad(region, 1)
    changed = True
    while changed:
        changed = False
        for first in (True, False):
            p = [np.roll(left, (-row, -column), (0, 1)) for row, column in AROUND]
            count = np.sum(p, axis=0)
            rises = np.sum([~p[k] & p[(k + 1) % 8] for k in range(8)], axis=0)
            north, east, south, west = p[0], p[2], p[4], p[6]
            if first:
                open_sides = ~(north & east & south) & ~(east & south & west)
            else:
                open_sides = ~(north & east & west) & ~(north & south & west)
            gone = left & (count >= 2) & (count <= 6) & (rises == 1) & open_sides
            changed |= bool(gone.any())
            left &= ~gone
    return left[1:-1, 1:-1]


def _without_steps(lines: set[Cell]) -> set[Cell]:
    """The cells of the lines less the corners of their steps: cells whose neighbours meet without them."""
    cells = set(lines)
    for cell in sorted(cells):
        near = _neighbouring_cells(cell, cells)
        if len(near) > 1 and _are_connected(near):
            cells.remove(cell)
    return cells


def _neighbouring_cells(cell: Cell, cells: set[Cell]) -> list[Cell]:
    around = ((cell[0] + row, cell[1] + column) for row, column in AROUND)
    return [one for one in around if one in cells]


def _are_connected(cells: list[Cell]) -> bool:
    """True if cells are connected among themselves."""
    reached, left = [cells[0]], set(cells[1:])
    for cell in reached:
        near = [one for one in left if max(abs(one[0] - cell[0]), abs(one[1] - cell[1])) == 1]
        reached += near
        left -= set(near)
    return not left


def _trace_lines(cells: set[Cell]) -> list[list[Cell]]:
    """The lines of cells from end to end, from branch to branch, and around."""
    near = {cell: _neighbouring_cells(cell, cells) for cell in sorted(cells)}
    used: set[tuple[Cell, Cell]] = set()
    found = [[cell] for cell, others in near.items() if not others]
    ends = [cell for cell, others in near.items() if len(others) not in (0, 2)]
    for begin in ends + [cell for cell, others in near.items() if len(others) == 2]:
        for second in near[begin]:
            if (begin, second) in used:
                continue
            line = [begin, second]
            used |= {(begin, second), (second, begin)}
            while len(near[line[-1]]) == 2 and line[-1] != begin:
                onward = next((c for c in near[line[-1]] if (line[-1], c) not in used), None)
                if onward is None:
                    break
                used |= {(line[-1], onward), (onward, line[-1])}
                line.append(onward)
            found.append(line)
    return found


def _smooth_line(cells: list[Cell]) -> np.ndarray:
    """A smooth polyline through the centres of cells; its ends are kept."""
    line = np.array(cells, float)[:, ::-1]
    if len(line) == 1:
        return line + np.array([[-0.5, 0.0], [0.5, 0.0]])
    if (line[0] == line[-1]).all():
        smooth = gaussian_filter1d(line[:-1], SMOOTH, axis=0, mode="wrap")
        return np.concatenate([smooth, smooth[:1]])
    smooth = gaussian_filter1d(line, SMOOTH, axis=0, mode="nearest")
    smooth[0], smooth[-1] = line[0], line[-1]
    return smooth
