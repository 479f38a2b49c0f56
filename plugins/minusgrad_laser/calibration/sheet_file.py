"""The file of a sheet (TOML): where each element of a grid lies, its power, its speed and its dose.

Lengths are written in millimetres, powers in watts, speeds in mm/s, fluences in J/cm^2, each with its unit. A
line's dose is the energy on its length [J/m]; a square's is its fluence.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from minusgrad.plugin import Quantity, Record, TomlTable, UnitSystem, UserError, quantities

from .corner_marks import convex
from .sheet import BITS, Line, Sheet, Square

Length = Annotated[float | str, Quantity("m")]
Positive = Annotated[float | str, Quantity("m", "positive")]
Power = Annotated[float | str, Quantity("W", "positive")]
Speed = Annotated[float | str, Quantity("m s^-1", "positive")]
Place = tuple[Length, Length]
MOST_ELEMENTS = 5000


class LineTable(Record):
    """A test line."""

    start: Place
    """Place where it begins."""
    end: Place
    """Place where it ends."""
    power: Power
    """Power of the laser."""
    speed: Speed
    """Speed of the head."""
    dose: Annotated[float | str, Quantity("J m^-1")] | None = None
    """Energy on a length: power over speed."""


class SquareTable(Record):
    """A filled square."""

    corner: Place
    """Lower left corner."""
    side: Annotated[float | str, Quantity("m", "nonnegative")]
    """Side of the square."""
    pitch: Positive
    """Distance of its lines, which go along x."""
    power: Power
    """Power of the laser."""
    speed: Speed
    """Speed of the head."""
    dose: Annotated[float | str, Quantity("J m^-2")] | None = None
    """Energy on an area: power over pitch and speed."""


class SheetTable(Record):
    """The sheet of a grid."""

    machine: Annotated[str, Field(min_length=1)]
    """Name of the machine."""
    number: Annotated[int, Field(ge=0, lt=1 << BITS)]
    """What the code of the sheet says."""
    module: Positive
    """Length that the design is made of."""
    reference: Annotated[float | str, Quantity("W m^-2", "positive")]
    """Intensity at which thresholds are stated as fluences."""
    marks: tuple[Place, Place, Place, Place]
    """Centres of the corner marks, counter-clockwise from the lower left one."""
    code: Place
    """Lower left corner of the code."""
    ink: SquareTable
    """How marks and code are filled."""
    line: Annotated[list[LineTable], Field(min_length=1, max_length=MOST_ELEMENTS)]
    """Test lines: of each power and speed one and its reverse, along x, y and both diagonals."""
    focus: Length = "0 mm"
    """Height of the head, of a machine whose Z moves the focus."""
    square: Annotated[list[SquareTable], Field(max_length=MOST_ELEMENTS, default_factory=list)]
    """Filled squares."""


def sheet_text(sheet: Sheet) -> str:
    """The text of the file."""
    rows = [
        f"# The sheet of a grid for {_plain_text(sheet.machine)}: what its job file burns, and where.",
        f'machine = "{_plain_text(sheet.machine)}"',
        f"number = {sheet.number}",
        f'module = "{_digits(1e3 * sheet.module)} mm"',
        f'reference = "{_digits(sheet.reference)} W/m^2"',
        f"marks = [{', '.join(map(_place_text, sheet.marks))}]",
        f"code = {_place_text(sheet.code)}",
        f'focus = "{_digits(1e3 * sheet.focus)} mm"',
        "\n[ink]",
        *_square_rows(sheet.ink),
    ]
    for line in sheet.lines:
        rows += [
            "\n[[line]]",
            f"start = {_place_text(line.start)}",
            f"end = {_place_text(line.end)}",
            *_setting_rows(line),
            f'dose = "{_digits(line.power / line.speed)} J/m"',
        ]
    for square in sheet.squares:
        rows += ["\n[[square]]", *_square_rows(square)]
    return "\n".join(rows) + "\n"


def read_sheet(file: str | Path, data: bytes) -> Sheet:
    """The sheet of a file. Raises `UserError` with line and column of what is wrong."""
    table = TomlTable(str(file), data).record(SheetTable)
    si = UnitSystem.si()
    found = quantities(table, si)
    sheet = Sheet(
        table.machine, found["module"], found["reference"], _places(table.marks, si),
        _place(table.code, si), _square(table.ink, si),
        tuple(_line(one, si) for one in table.line), tuple(_square(one, si) for one in table.square),
        found["focus"],
    )  # fmt: skip
    _refuse_impossible(file, sheet)
    if sheet.number != table.number:
        raise UserError(
            f"{file}: number: is {sheet.number} of these lines and squares, got {table.number}; take the file"
            " that was written with the job"
        )
    return sheet


def _refuse_impossible(file: str | Path, sheet: Sheet) -> None:
    """Raise `UserError` for a sheet that no grid has."""
    cure = "take the file that was written with the job"
    marks = np.array(sheet.marks)
    size = np.ptp(marks, axis=0)
    sides = np.hypot(*(np.roll(marks, -1, axis=0) - marks).T)
    if size.min() <= 0.0 or not convex(marks) or sides.min() < 32.0 * sheet.module:
        raise UserError(f"{file}: marks: are no corners of a sheet; {cure}")
    low, high = marks.min(axis=0) - 1e-9, marks.max(axis=0) + 1e-9
    for key, one in enumerate(sheet.lines):
        ends = np.array([one.start, one.end])
        if one.length < sheet.module or (ends < low).any() or (ends > high).any():
            raise UserError(f"{file}: line.{key}: is no line between the marks; {cure}")
    for key, square in enumerate(sheet.squares):
        if (np.array(square.corner) < low).any() or square.side > size.max():
            raise UserError(f"{file}: square.{key}: is no square between the marks; {cure}")


def _line(table: LineTable, si: UnitSystem) -> Line:
    found = quantities(table, si)
    return Line(_place(table.start, si), _place(table.end, si), found["power"], found["speed"])


def _square(table: SquareTable, si: UnitSystem) -> Square:
    found = quantities(table, si)
    corner = _place(table.corner, si)
    return Square(corner, found["side"], found["pitch"], found["power"], found["speed"])


def _places(places: Sequence[Any], si: UnitSystem) -> tuple[tuple[float, float], ...]:
    return tuple(_place(one, si) for one in places)


def _place(place: Any, si: UnitSystem) -> tuple[float, float]:
    return si.convert(place[0], "m"), si.convert(place[1], "m")


def _square_rows(square: Square) -> Iterator[str]:
    yield f"corner = {_place_text(square.corner)}"
    yield f'side = "{_digits(1e3 * square.side)} mm"'
    yield f'pitch = "{_digits(1e3 * square.pitch)} mm"'
    yield from _setting_rows(square)
    yield f'dose = "{_digits(1e-4 * square.fluence)} J/cm^2"'


def _setting_rows(one: Line | Square) -> Iterator[str]:
    yield f'power = "{_digits(one.power)} W"'
    yield f'speed = "{_digits(1e3 * one.speed)} mm/s"'


def _place_text(place: tuple[float, float]) -> str:
    return "[" + ", ".join(f'"{1e3 * z:.4f} mm"' for z in place) + "]"


def _digits(value: float) -> str:
    return f"{value:.9g}"


def _plain_text(text: str) -> str:
    return "".join(one if one.isprintable() and one not in '"\\' else "_" for one in text)
