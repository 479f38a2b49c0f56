"""`minusgrad laser --grid`: a job of test lines and squares, the file of its sheet, and its picture."""

import argparse
import json
from dataclasses import replace
from pathlib import Path

from minusgrad.plugin import UnitError, UnitSystem, UserError, write_file

from ...calibration.sheet import Sheet
from ...calibration.sheet_design import Ranges, design_sheet
from ...calibration.sheet_file import sheet_text
from ...calibration.sheet_picture import sheet_picture
from ...calibration.strokes import PlacedGrid, placed_grid
from ...jobs.gcode import job_text
from ...machine.profile import Profile, shipped
from .. import evidence, files, request
from ..machines import machine
from ..printed import print_scores, say_aside

JOBS = (".gcode", ".nc", ".gc", ".g", ".ngc", ".tap")


def write_grid(a: argparse.Namespace) -> int:
    """Write the grid of a command line. Returns the exit code."""
    if a.image is not None:
        raise UserError(f"--grid: is a job without an image, got {a.image}, too; leave it out")
    m = machine(a.machine)
    out = Path(a.out) if a.out else Path("grid.gcode")
    if out.suffix.lower() not in JOBS:
        raise UserError(f"--out: needs the name of a job file, such as grid.gcode, got '{out}'")
    if not m.blanking:
        raise UserError(
            f"--grid: {m.name} cannot switch its laser off between lines; there is no grid for it"
        )
    material = request.material(a, m)
    ranges = Ranges(
        threshold=material.threshold * material.full,
        powers=_ends("--powers", a.powers, "W"),
        speeds=_ends("--speeds", a.speeds, "m s^-1"),
        count=_counts(a.counts),
        width=None if a.width is None else request.quantity("--width", a.width, "m"),
    )
    heights = _heights(a.focus, m)
    grids = [placed_grid(replace(design_sheet(m, ranges), focus=one), m) for one in heights]
    refuse_larger_grid(grids[0], m)
    names = [out] if a.focus is None else [_name_at_height(out, one) for one in heights]
    profile = None if a.machine in (None, *shipped()) else Path(a.machine)
    files.refuse([other for one in names for other in _files_of(one)], a.force, profile)
    made = [_made_files(one, m, ranges.threshold) for one in grids]
    for name, (contents, _) in zip(names, made, strict=True):
        for file, content in zip(_files_of(name), contents, strict=True):
            write_file(file, content)
    rows = _grid_rows([one.sheet for one in grids], sum(seconds for _, seconds in made))
    outputs = [file for name in names for file in _files_of(name)]
    remark = None if m.focus_axis else f"no steps of focus: {m.name} has no focus_axis in its profile"
    if a.json:
        facts = {"grid": dict(rows), "remarks": [remark] if remark else []}
        print(json.dumps(facts | {"files": [str(one) for one in outputs]}, indent=1))
        return 0
    print_scores(f"{out}: a grid for {m.name}", rows, outputs)
    if remark:
        say_aside(remark)
    return 0


def _files_of(job: Path) -> list[Path]:
    """The job file, its sheet and its picture."""
    return [job, job.with_suffix(".toml"), job.with_suffix(".svg")]


def _made_files(grid: PlacedGrid, m: Profile, threshold: float) -> tuple[tuple[str, str, str], float]:
    """The texts of the files of a grid, and the time of its job [s]."""
    text, planned = job_text(grid.path, replace(m, latency=0.0))
    if m.focus_axis:
        text = at_height(text, grid.sheet.focus)
    contents = text, sheet_text(grid.sheet), sheet_picture(grid.sheet, m, threshold)
    return contents, planned.seconds


def at_height(text: str, height: float) -> str:
    """A job whose head goes to a height [m] before its first move."""
    lines = text.splitlines()
    first = next(k for k, line in enumerate(lines) if line[:2] in ("G0", "X0") or line[:1] == "X")
    return "\n".join([*lines[:first], f"G0 Z{1e3 * height:.3f}", *lines[first:]]) + "\n"


def _heights(text: str | None, m: Profile) -> list[float]:
    """Heights of the head [m]."""
    if text is None:
        return [0.0]
    if not m.focus_axis:
        raise UserError(f"--focus: {m.name} has no focus axis; write focus_axis = true into its profile")
    try:
        found = [UnitSystem.si().convert(one.strip(), "m") for one in text.split(",")]
    except UnitError as error:
        raise UserError(f"--focus: {error}") from None
    if len({f"{1e3 * one:.3f}" for one in found}) < len(found):
        raise UserError(f"--focus: needs heights that differ, got '{text}'")
    return found


def _name_at_height(out: Path, height: float) -> Path:
    return out.with_name(f"{out.stem}.z{1e3 * height:+.3g}mm{out.suffix}")


def refuse_larger_grid(grid: PlacedGrid, m: Profile) -> None:
    """Raise `UserError` where the grid with its dark ways is larger than the field."""
    size = float(grid.path.x.max()), float(grid.path.y.max())
    if size[0] > m.field[0] or size[1] > m.field[1]:
        theirs = f"{1e3 * m.field[0]:g} x {1e3 * m.field[1]:g} mm"
        raise UserError(
            f"--grid: needs {1e3 * size[0]:.4g} x {1e3 * size[1]:.4g} mm with the ways in which the head gets"
            f" its speed, but the field of {m.name} is {theirs}; give fewer --counts, less --speeds or"
            " --width"
        )


def _grid_rows(sheets: list[Sheet], seconds: float) -> list[tuple[str, str]]:
    sheet = sheets[0]
    powers = sorted({one.power for one in sheet.lines})
    speeds = sorted({one.speed for one in sheet.lines})
    (x, y), (right, top) = sheet.marks[0], sheet.marks[2]
    return [
        ("powers", ", ".join(f"{one:.3g}" for one in powers) + " W"),
        ("speeds", ", ".join(f"{1e3 * one:.3g}" for one in speeds) + " mm/s"),
        ("lines", f"{len(sheet.lines)}, {len(sheet.squares)} squares"),
        ("between marks", f"{1e3 * (right - x):.4g} x {1e3 * (top - y):.4g} mm"),
        ("number", ", ".join(str(one.number) for one in sheets)),
        ("job time", evidence.clock(seconds)),
    ]


def _ends(option: str, text: str | None, unit: str) -> tuple[float, float] | None:
    """The least and the largest of a text such as "1 W, 5 W", in SI."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        example = "1 W, 5 W" if unit == "W" else "10 mm/s, 100 mm/s"
        raise UserError(f"{option}: needs the least and the largest, such as '{example}', got '{text}'")
    try:
        least, most = (UnitSystem.si().convert(part, unit) for part in parts)
    except UnitError as error:
        raise UserError(f"{option}: {error}") from None
    return request.positive(option, least), request.positive(option, most)


def _counts(text: str | None) -> tuple[int, int]:
    parts = (text or "4x4").lower().split("x")
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
        raise UserError(f"--counts: needs powers x speeds, such as 4x4, got '{text}'")
    return int(parts[0]), int(parts[1])
