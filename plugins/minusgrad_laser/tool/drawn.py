"""The drawing of a job and the table of its layers, read and looked at before anything is planned."""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from minusgrad.plugin import UserError, input_files, read_toml, write_file

from ..drawings.drawing import Drawing
from ..drawings.read import read_drawing
from ..layers.choice import Mark, choose_marks, marks_of
from ..layers.layer_table import LayersTable, LayerTable
from ..layers.settings import Settings, settle_layer
from ..layers.template import describe_marks, write_template
from ..machine.profile import Profile
from . import files
from .request import Request

TOLERANCE = 1.0 / 200.0
"""Distance of curves from their chords, in spots."""
CSS_DPI = 96.0
"""Pixels of an SVG to an inch."""


REACH = 2.0
"""By how far a cut may be outside of an outline, in spots."""
CELLS = 2e7
"""Cells of a canvas from which on they are made larger than usual."""
USUAL, LARGEST = 0.2, 0.25
"""Sides of a cell in spots: the usual one, or the profile's if that is smaller, and the largest."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A drawing, the layers that are put out, each with its marks, and remarks about both."""

    drawing: Drawing
    layers: list[tuple[Settings, list[Mark]]]
    remarks: tuple[str, ...]
    pixel: float
    """Side of a cell [m]: the profile's, or larger for a large drawing."""


def read_layers(wanted: Request, table: Path | None, pixel_given: bool) -> Drawn:
    """The drawing and the layers of a request; without a table those that the drawing's file states.

    pixel_given: the side of cells is what the user asks for.

    Raises `UserError` for what is wrong about either.
    """
    drawing = read_wanted_drawing(wanted)
    name = wanted.image.name
    layers = _stated_layers(drawing, name) if table is None else read_toml(table, LayersTable).layer
    chosen = choose_marks(drawing, layers, name)
    machine = wanted.machine
    settled = [
        (settle_layer(layer, marks, drawing, machine, wanted.material, wanted.power), marks)
        for layer, marks in zip(layers, chosen, strict=True)
        if layer.output
    ]
    if not settled:
        raise UserError(f"{name}: no layer is put out, got output = false in each; take it out of one")
    low, high = _drawn_extent(drawing, [marks for _, marks in settled])
    _refuse_beyond_field(low, high, machine, name)
    pixel = usual = wanted.pixel if pixel_given else min(wanted.pixel, USUAL * min(machine.spot))
    if not pixel_given:
        pixel = max(pixel, min(LARGEST * min(machine.spot), np.sqrt(np.prod(high - low) / CELLS)))
    wider = (f"the dose is computed in cells of {pixel * 1e6:.3g} um; --pixel sets others",)
    cuts = any(settings.mode == "cut" for settings, _ in settled)
    lead = max(settings.lead for settings, _ in settled)
    drawing, moved = _clear_of_rim(drawing, low, REACH * max(machine.spot) + lead if cuts else 0.0)
    left = [layer.title for layer in layers if not layer.output]
    out = (f"left out, by output = false: {', '.join(left)}",) if left else ()
    coarse = wider if pixel > usual else ()
    return Drawn(drawing, settled, (*drawing.remarks, *moved, *out, *coarse), float(pixel))


def read_wanted_drawing(wanted: Request) -> Drawing:
    """The drawing of a request. Raises `UserError` for a file that is none, and for --invert."""
    if wanted.invert:
        raise UserError("--invert: swaps the darkness of images, and a job of layers has none; leave it out")
    try:
        data = input_files.read(wanted.image)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{wanted.image}: cannot be read: {reason}") from None
    tolerance, dpi = TOLERANCE * min(wanted.machine.spot), wanted.dpi or CSS_DPI
    return read_drawing(
        wanted.image.name,
        data,
        tolerance=tolerance,
        dpi=dpi,
        width=wanted.width,
        length=wanted.length,
        layers=wanted.only or None,
    )


def list_layers(wanted: Request) -> int:
    """Print what a table of layers can take of a drawing. Returns the exit code."""
    drawing = read_wanted_drawing(wanted)
    width, height = (side * 1e3 for side in drawing.size)
    print(f"{wanted.image}: {width:.4g} x {height:.4g} mm")
    rows = describe_marks(drawing)
    longest = max((len(text) for text, _ in rows), default=0)
    for text, count in rows:
        print(f"  {text:<{longest}}  {count}")
    print(f"write a table of them with --layers new: {template_file(wanted)}")
    return 0


def begin_table(wanted: Request, force: bool) -> int:
    """Write a table of layers for a drawing, to be filled in. Returns the exit code."""
    drawing = read_wanted_drawing(wanted)
    if not any(True for _ in marks_of(drawing)):
        raise UserError(f"{wanted.image}: has no line and no area, got an empty drawing; draw something")
    file = template_file(wanted)
    files.refuse([file], force)
    write_file(file, write_template(drawing, wanted.image.name, wanted.machine))
    print(file)
    return 0


def template_file(wanted: Request) -> Path:
    """Where a table of layers is begun: beside the job file."""
    return wanted.out.with_name(f"{wanted.image.stem}.layers.toml")


def of_layers(a: argparse.Namespace) -> str | Path | None:
    """What `--layers` asks for: "new", "list", the file of a table, or None for "file".

    Raises `UserError` for a name that is none of these.
    """
    if a.layers in ("new", "list"):
        return str(a.layers)
    if a.layers == "file":
        return None
    path = Path(a.layers)
    if path.suffix.lower() != ".toml":
        raise UserError(
            f"--layers: takes the name of a TOML file, or new, list or file, got '{a.layers}'; begin a file"
            " by --layers new"
        )
    return path


def _stated_layers(drawing: Drawing, name: str) -> tuple[LayerTable, ...]:
    """A layer for each that the drawing's file states with its mode, and that has a line."""
    used = {mark.layer for mark in marks_of(drawing)}
    found = tuple(
        LayerTable(layer=layer.name, order=None if layer.order is None else float(layer.order))
        for layer in drawing.layers
        if layer.mode is not None and layer.name in used
    )
    if not found:
        raise UserError(
            f"--layers: {name} states no settings of layers, got file; begin a table by --layers new"
        )
    return found


def _clear_of_rim(drawing: Drawing, low: np.ndarray, reach: float) -> tuple[Drawing, tuple[str, ...]]:
    """The drawing, moved so that cuts half a kerf outside of its outlines lie in the field, and a remark."""
    by = np.where(low < reach, np.ceil((reach - low) * 1e4) * 1e-4, 0.0)
    if not by.any():
        return drawing, ()
    outlines = tuple(replace(one, points=one.points + by) for one in drawing.outlines)
    text = (
        f"the drawing is moved by {by[0] * 1e3:.1f} mm along x and {by[1] * 1e3:.1f} mm along y: cuts lie"
        " outside of its outline, and have to be in the field"
    )
    return replace(drawing, outlines=outlines), (text,)


def _drawn_extent(drawing: Drawing, chosen: list[list[Mark]]) -> tuple[np.ndarray, np.ndarray]:
    """Lower left and upper right corner of what is drawn [m]."""
    points = np.concatenate([drawing.outlines[mark.outline].points for marks in chosen for mark in marks])
    return points.min(axis=0), points.max(axis=0)


def _refuse_beyond_field(low: np.ndarray, high: np.ndarray, machine: Profile, name: str) -> None:
    for axis, letter in enumerate("xy"):
        size = high[axis] - low[axis]
        room = machine.field[axis]
        span = f"from {low[axis] * 1e3:.4g} to {high[axis] * 1e3:.4g} mm along {letter}"
        if size > room:
            raise UserError(
                f"{name}: is {size * 1e3:.4g} mm along {letter}, but the field of {machine.name} is"
                f" {room * 1e3:.4g} mm; give a smaller --width, or another machine"
            )
        if low[axis] < -5e-7 or high[axis] > room + 5e-7:
            raise UserError(
                f"{name}: its lines go {span}, and the field of {machine.name} from 0 to {room * 1e3:.4g} mm;"
                " move them, or the page, which has its lower left corner at 0, 0"
            )
