"""Strokes of a grid: lit lines with dark ways before and behind, in which the head reaches its speed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..jobs.toolpath import Toolpath
from ..machine.profile import Profile
from ..virtual_machine.planner import limit
from .sheet import RADII, Line, Sheet, Square

ROOM = 1.1
"""The dark way over the one in which the speed is reached."""


def sheet_strokes(sheet: Sheet) -> list[Line]:
    """All lit lines of a sheet, in the order in which they are burnt."""
    found = [stroke for mark in sheet.marks for stroke in _mark_strokes(sheet, mark)]
    for corner, burnt in sheet.code_cells():
        if burnt:
            found += _square_strokes(replace(sheet.ink, corner=corner, side=sheet.cell))
    found += sheet.lines
    found += [stroke for square in sheet.squares for stroke in _square_strokes(square)]
    return found


def _mark_strokes(sheet: Sheet, centre: tuple[float, float]) -> Iterator[Line]:
    inner, within, without = (sheet.module * one for one in RADII)
    x, y = centre
    right = True
    for height in sheet.ink_rows(without):
        chords = [float(np.sqrt(max(r * r - height * height, 0.0))) for r in (inner, within, without)]
        disc, hole, rim = chords
        pieces = [(-rim, rim)] if hole == 0.0 else [(-rim, -hole), (hole, rim)]
        if disc > 0.0:
            pieces.insert(1, (-disc, disc))
        pieces = [(a, b) for a, b in pieces if b - a > sheet.ink.pitch]
        for a, b in pieces if right else [(b, a) for a, b in reversed(pieces)]:
            yield Line((x + a, y + height), (x + b, y + height), sheet.ink.power, sheet.ink.speed)
        right = not right


def _square_strokes(square: Square) -> Iterator[Line]:
    count = max(1, int(square.side / square.pitch))
    first = 0.5 * (square.side - (count - 1) * square.pitch)
    x, y = square.corner
    for k in range(count):
        height = y + first + k * square.pitch
        ends = (x, height), (x + square.side, height)
        yield Line(*(ends if k % 2 == 0 else ends[::-1]), square.power, square.speed)


@dataclass(frozen=True)
class PlacedGrid:
    """The path of a sheet, and the sheet where the path has it: no place is below 0."""

    path: Toolpath
    sheet: Sheet


def placed_grid(sheet: Sheet, machine: Profile) -> PlacedGrid:
    """The path of a sheet with the dark ways that the machine needs."""
    strokes = sheet_strokes(sheet)
    ends = np.array([(one.start, one.end) for one in strokes])
    way = ends[:, 1] - ends[:, 0]
    length = np.hypot(*way.T)
    along = way / length[:, None]
    speed = np.array([one.speed for one in strokes])
    dark = (
        ROOM * speed**2 / (2.0 * limit(machine.acceleration, along))
        + 0.5 * sheet.module
        + 2.0 * machine.place
    )
    before, behind = ends[:, 0] - dark[:, None] * along, ends[:, 1] + dark[:, None] * along
    places = np.stack([before, ends[:, 0], ends[:, 1], behind], axis=1).reshape(-1, 2)
    shift = 1e-6 * np.ceil(1e6 * (np.array(machine.backlash) - places.min(axis=0)))
    lit = np.tile([False, False, True, False], len(strokes))
    power = np.where(lit, np.repeat([one.power for one in strokes], 4), 0.0)
    x, y = (places + shift).T
    path = Toolpath(x, y, power, np.where(lit, np.repeat(speed, 4), np.inf), lit)
    return PlacedGrid(path, moved_sheet(sheet, float(shift[0]), float(shift[1])))


def moved_sheet(sheet: Sheet, x: float, y: float) -> Sheet:
    """The sheet at another place."""

    def at(place: tuple[float, float]) -> tuple[float, float]:
        return place[0] + x, place[1] + y

    return replace(
        sheet,
        marks=tuple(map(at, sheet.marks)),
        code=at(sheet.code),
        lines=tuple(replace(one, start=at(one.start), end=at(one.end)) for one in sheet.lines),
        squares=tuple(replace(one, corner=at(one.corner)) for one in sheet.squares),
    )
