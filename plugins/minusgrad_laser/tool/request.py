"""What a user asks of `minusgrad laser`, checked and in SI units, before anything is read or written."""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from minusgrad.plugin import UnitError, UnitSystem, UserError

from ..machine.profile import Profile
from ..pictures.fonts import split_font
from ..search import recipe
from ..search.recipe import USUAL, Exposure
from ..targets.target import FEWEST_DPI, MOST_DPI

DRAWINGS = (".svg", ".svgz")
DEFAULTS = {"threshold": 0.5, "steepness": 5.0, "seed": 0}
"""Of options that have one."""
LINEAR = 0.05
"""By which the exponent of a dose may be off 1 without a remark."""


@dataclass(frozen=True)
class Request:
    """A job that is wanted: from an image, on a machine, into a file."""

    image: Path
    machine: Profile
    out: Path
    material: Exposure
    power: float
    """The largest power to use [W]."""
    pixel: float
    width: float | None
    dpi: float | None
    invert: bool
    fonts: tuple[tuple[str, Path], ...]
    """Of the text of a drawing: the generic family that a file is given for, "" for none, and the file."""
    start: recipe.Start
    steps: int | None
    quality: str
    seed: int
    length: str | None
    """Unit of a drawing's lengths."""
    only: tuple[str, ...]
    """Layers of a drawing; none: all."""
    stroke: float | None
    again: str
    """The command that continues the job."""

    @property
    def run(self) -> Path:
        """The run folder of the search, beside the job file."""
        return self.out.with_suffix(".run")

    def path_beside(self, ending: str) -> Path:
        """A file of the job beside the job file: `heron.gcode` has `heron.report.html`."""
        return self.out.with_name(f"{self.out.stem}{ending}")


def of(a: argparse.Namespace, machine: Profile) -> Request:
    """The request of a command line. Raises `UserError` with the option that is wrong."""
    image = Path(a.image)
    out = Path(a.out) if a.out else Path(f"{image.stem}.gcode")
    if out.suffix.lower() not in (".gcode", ".nc", ".gc", ".g", ".ngc", ".tap"):
        raise UserError(f"--out: needs the name of a job file, such as {out.stem}.gcode, got '{out}'")
    if a.width is not None and a.dpi is not None:
        raise UserError("--width: gives the scale, as --dpi does; give one of them")
    pixel = machine.pixel if a.pixel is None else quantity("--pixel", a.pixel, "m")
    return Request(
        image=image,
        machine=machine,
        out=out,
        material=material(a, machine),
        power=_parse_power(a.power, machine),
        pixel=pixel,
        width=None if a.width is None else quantity("--width", a.width, "m"),
        dpi=None if a.dpi is None else _parse_dpi(a.dpi),
        invert=a.invert,
        fonts=_font_paths(image, a.font or ()),
        start=a.start or "contours",
        steps=None if a.steps is None else int(positive("--steps", a.steps)),
        quality="draft" if a.draft else "fine" if a.fine else "usual",
        seed=a.seed,
        length=a.length,
        only=tuple(a.only or ()),
        stroke=None if a.stroke is None else quantity("--stroke", a.stroke, "m"),
        again=shlex.join(["minusgrad", "laser", *_command_words(a), "--resume"]),
    )


def _font_paths(image: Path, fonts: Sequence[str]) -> tuple[tuple[str, Path], ...]:
    """The files of the fonts, whose names differ: they lie beside one scene."""
    found = tuple((family, Path(file)) for family, file in map(split_font, fonts))
    paths = [path for _, path in found]
    if paths and image.suffix.lower() not in DRAWINGS:
        raise UserError(f"--font: is for the text of a drawing, SVG, got '{image}'; leave it out")
    names = [path.name for path in paths]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"--font: two files have the name '{twice}'; rename one")
    return found


def _parse_power(text: str | None, machine: Profile) -> float:
    least, most = machine.power
    power = most if text is None else quantity("--power", text, "W")
    if not least <= power <= most:
        raise UserError(f"--power: {machine.name} has {least:g} to {most:g} W, got {power:g} W")
    return power


def _command_words(a: argparse.Namespace) -> list[str]:
    """The words of the command line, but for those that restart a job or end it early."""
    words = [a.image]
    for name, value in vars(a).items():
        if name in ("image", "replay", "resume", "force", "max_hours", "scene_only", "saves", "run_verb"):
            continue
        if value is not None and value is not False and value != DEFAULTS.get(name):
            for one in value if isinstance(value, list) else [value]:
                words += [f"--{name}"] if one is True else [f"--{name}", str(one)]
    return words


def material(a: argparse.Namespace, machine: Profile) -> Exposure:
    """The material of a command line; without --full what a fit wrote into the profile, if there is that."""
    threshold = positive("--threshold", a.threshold)
    usual = USUAL.full if machine.threshold is None else machine.threshold / threshold
    return Exposure(
        full=usual if a.full is None else quantity("--full", a.full, "J m^-2"),
        threshold=threshold,
        steepness=positive("--steepness", a.steepness),
    )


def exponent_remarks(machine: Profile) -> tuple[str, ...]:
    """What is to be said of a material whose dose is none of the fluence alone."""
    if abs(machine.exponent - 1.0) <= LINEAR:
        return ()
    text = (
        f"the profile has an exponent of {machine.exponent:.3g}, and jobs take 1: less intensity than its"
        f" `reference` marks {'less' if machine.exponent > 1.0 else 'more'} than is said here"
    )
    return (text,)


def quantity(option: str, text: str, unit: str) -> float:
    """A number above zero, in SI, of a text with its unit. Raises `UserError` that names the option."""
    try:
        value = UnitSystem.si().convert(text, unit)
    except UnitError as error:
        raise UserError(f"{option}: {error}") from None
    return positive(option, value)


def _parse_dpi(value: float) -> float:
    if not FEWEST_DPI <= value <= MOST_DPI:
        raise UserError(f"--dpi: needs {FEWEST_DPI:g} to {MOST_DPI:g} pixels an inch, got {value:g}")
    return value


def positive(option: str, value: float) -> float:
    if not (isfinite(value) and value > 0.0):
        raise UserError(f"{option}: must be above 0, got {value:g}")
    return value
