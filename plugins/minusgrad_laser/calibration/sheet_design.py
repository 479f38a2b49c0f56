"""Design of a grid: which powers and speeds, and where its lines and squares lie.

The dose in the middle of a line is sqrt(2 / pi) P / (w v). The weakest line has `WEAKEST` times the threshold
that is expected, with the spot of the profile, where the machine can do so; the others have up to `SPAN`
times the dose of the weakest.

Decisions 0178.
"""

from dataclasses import dataclass
from math import ceil, pi, sqrt

import numpy as np

from minusgrad.plugin import UserError

from ..machine.profile import Profile
from .sheet import BITS, RADII, Line, Sheet, Square, rounded

WEAKEST = 1.5
POWERS, SPEEDS = 4.0, 8.0
"""The largest over the least one."""
SPAN = POWERS * SPEEDS
INK = 8.0
"""Fluence of marks and code, in thresholds."""
PALEST = 0.3
"""Fluence of the weakest square, in thresholds."""
RUN_UP = 40.0
"""The way in which the head may reach its speed, in modules, where the fastest speed is chosen."""
LENGTH, PITCH = 40.0, 8.0
"""Of the lines, in modules."""
SIDE, GAP = 16.0, 6.0
"""Of the squares, in modules."""
MOST = 12
"""Powers or speeds of a grid."""


@dataclass(frozen=True)
class Ranges:
    """What a user asks of a grid; None: as the profile and the material have it.

    threshold [J/m^2]: the fluence that is expected to mark.
    """

    threshold: float
    powers: tuple[float, float] | None = None
    speeds: tuple[float, float] | None = None
    count: tuple[int, int] = (4, 4)
    width: float | None = None


def design_sheet(machine: Profile, ranges: Ranges) -> Sheet:
    """The sheet for a machine. Raises `UserError` for ranges that the machine does not have."""
    columns, rows = _count_values("--powers", ranges.count[0]), _count_values("--speeds", ranges.count[1])
    width, height, blocks = _placed_blocks(columns * rows, rows)
    spot = sqrt(machine.waists[0] * machine.waists[1]) * 2.0
    outer = 2.0 * RADII[2]
    module = spot if ranges.width is None else ranges.width / (width + outer)
    if module < spot * 0.5:
        least = 0.5 * spot * (width + outer)
        raise UserError(
            f"--width: lines of a spot of {spot * 1e6:.3g} um need a grid of {least * 1e3:.3g} mm, got"
            f" {(ranges.width or 0.0) * 1e3:.3g} mm; make it wider, or take fewer powers and speeds"
        )
    powers, speeds = chosen_values(machine, ranges, module)
    pairs = [(power, speed) for power in powers for speed in speeds]
    lines = [
        Line(rounded(module, *start), rounded(module, *stop), *pairs[k // 2])
        for places in blocks.lines
        for k, (start, stop) in enumerate(places)
    ]
    pitch = 0.8 * min(machine.waists)
    pale = min(1.0, PALEST * ranges.threshold * pitch * speeds[-1] / powers[0])
    squares = [
        Square(rounded(module, x, y), SIDE * module, pitch, max(pale * power, machine.power[0]), speed)
        for (x, y), (power, speed) in zip(blocks.squares, pairs, strict=True)
    ]
    reference = machine.peak_intensity
    return Sheet(
        machine.name, module, reference,
        tuple(rounded(module, x, y) for x, y in ((0, 0), (width, 0), (width, height), (0, height))),
        rounded(module, RADII[2] + 8.0, -3.0), _ink_square(machine, ranges, pitch),
        tuple(lines), tuple(squares),
    )  # fmt: skip


def chosen_values(machine: Profile, ranges: Ranges, module: float) -> tuple[list[float], list[float]]:
    """The powers [W], at levels of the machine, and the speeds [m/s], each from the least to the largest."""
    waist = sqrt(machine.waists[0] * machine.waists[1])
    least, most = machine.power
    reach = min(machine.speed)
    dose = WEAKEST * ranges.threshold * waist / sqrt(2.0 / pi)
    if ranges.speeds is None:
        top = min(reach, sqrt(2.0 * min(machine.acceleration) * RUN_UP * module), most / POWERS / dose)
        speeds = top / SPEEDS, top
    else:
        speeds = ranges.speeds
        _refuse_range("--speeds", speeds, (0.0, reach), "m/s", machine)
    if ranges.powers is None:
        strong = min(
            most, max(POWERS * dose * speeds[1], POWERS * least, POWERS * most / (2**machine.bits - 1))
        )
        powers = strong / POWERS, strong
    else:
        powers = ranges.powers
        _refuse_range("--powers", powers, machine.power, "W", machine)
    levels = 2**machine.bits - 1
    steps = np.rint(np.geomspace(*powers, ranges.count[0]) / most * levels).clip(
        max(1.0, ceil(least / most * levels)), levels
    )
    if len(set(steps.tolist())) < ranges.count[0]:
        raise UserError(
            f"--powers: {ranges.count[0]} powers from {powers[0]:.3g} to {powers[1]:.3g} W are no more than"
            f" {len(set(steps.tolist()))} levels of {machine.name}, which has {machine.bits} bits; take fewer"
        )
    return (steps / levels * most).tolist(), np.geomspace(*speeds, ranges.count[1]).tolist()


def _count_values(option: str, count: int) -> int:
    if not 2 <= count <= MOST:
        raise UserError(f"{option}: a grid has 2 to {MOST} of them, got {count}")
    return count


def _refuse_range(
    option: str, got: tuple[float, float], room: tuple[float, float], unit: str, machine: Profile
) -> None:
    least, most = got
    if not least < most:
        raise UserError(f"{option}: needs the least and the largest, got {least:g} and {most:g} {unit}")
    if least < room[0] or most > room[1] * (1.0 + 1e-9):
        raise UserError(
            f"{option}: {machine.name} has {room[0]:g} to {room[1]:g} {unit}, got {least:g} to {most:g}"
        )


def _ink_square(machine: Profile, ranges: Ranges, pitch: float) -> Square:
    """Power and speed of marks and code."""
    reach = min(machine.speed)
    speed = min(0.5 * reach, machine.power[1] / (pitch * INK * ranges.threshold))
    power = max(machine.power[0], min(machine.power[1], INK * ranges.threshold * pitch * speed))
    return Square((0.0, 0.0), 0.0, pitch, power, speed)


@dataclass(frozen=True)
class _Blocks:
    """Places in modules: of four blocks of lines the ends of each, of the squares their corners."""

    lines: list[list[tuple[tuple[float, float], tuple[float, float]]]]
    squares: list[tuple[float, float]]


def _placed_blocks(count: int, most_columns: int) -> tuple[float, float, _Blocks]:
    """Width and height between the marks; places of `count` pairs of lines each way and as many squares."""
    clear = RADII[2] + 8.0
    across = LENGTH + 10.0
    rows = 2 * ceil(count / 4)
    slope = sqrt(0.5)
    per_row = 2 * ceil(count / 2)
    left = max(4.0 * across, per_row * PITCH / slope + slope * LENGTH)
    right = per_row * PITCH
    side = SIDE + GAP
    columns = max(1, min(most_columns, int((right + GAP) // side)))
    square_rows = ceil(count / columns)
    low = 2.0 * (slope * LENGTH + 6.0)
    heights = rows * PITCH + 8.0 + 2.0 * low, 2.0 * across + 8.0 + square_rows * side
    height = max(heights) + 24.0
    top = height - 10.0
    width = max(left + 14.0 + right + 2.0 * clear, 2 * BITS * 6.0 + 2.0 * clear)
    x_lines = _stack(count, (clear, top - 4.0), (0.0, -PITCH), rows, (across, 0.0), (LENGTH, 0.0))
    begin = top - rows * PITCH - 8.0
    diagonals = []
    for k, upward in enumerate((True, False)):
        reach = slope * LENGTH
        first = clear, begin - k * low - (reach if upward else 0.0)
        turn = (reach, reach if upward else -reach)
        diagonals.append(_stack(count, first, (PITCH / slope, 0.0), per_row, (0.0, -reach - 6.0), turn))
    start = clear + left + 14.0
    y_lines = _stack(count, (start, top - LENGTH), (PITCH, 0.0), per_row, (0.0, -across), (0.0, LENGTH))
    high = top - 2.0 * across - 8.0 - SIDE
    squares = [(start + side * (k % columns), high - side * (k // columns)) for k in range(count)]
    return width, height, _Blocks([x_lines, y_lines, *diagonals], squares)


def _stack(
    count: int, first: tuple[float, float], step: tuple[float, float], each: int, shift: tuple[float, float],
    along: tuple[float, float],
) -> list[tuple[tuple[float, float], tuple[float, float]]]:  # fmt: skip
    """Ends of 2 `count` lines: `each` of them `step` apart, then the next row; every second one reversed."""
    found = []
    for k in range(2 * count):
        row, place = divmod(k, each)
        x = first[0] + place * step[0] + row * shift[0]
        y = first[1] + place * step[1] + row * shift[1]
        ends = (x, y), (x + along[0], y + along[1])
        found.append(ends if k % 2 == 0 else ends[::-1])
    return found
