"""`minusgrad laser --fit`: spot, threshold, exponent, latency and kerf from a photo of a grid."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from minusgrad.plugin import UnitError, UnitSystem, UserError, images, write_file

from ...calibration.measured_lines import MeasuredSheet
from ...calibration.photo_fit import PhotoFit, fit_photo
from ...calibration.profile_file import fitted_keys, with_keys
from ...calibration.sheet import Sheet
from ...calibration.sheet_file import read_sheet
from ...calibration.spot_fit import MICRON, Estimate
from ...machine.profile import Profile, shipped
from .. import files, pictures, request
from ..machines import USUAL, machine
from ..printed import print_scores
from .contents import file_contents, profile_text
from .fit_picture import fit_picture

UNITS = {"threshold": (1e-4, "J/cm²"), "exponent": (1.0, ""), "latency": (1e6, "µs")}


def fit(a: argparse.Namespace) -> int:
    """Fit what a command line gives. Returns the exit code."""
    if a.image is not None:
        raise UserError(f"--fit: takes a photo alone, got the image {a.image}, too; leave it out")
    source = Path(a.fit)
    if source.suffix.lower() == ".csv":
        from .depths import fit_depths

        return fit_depths(a)
    if a.sheet is None:
        raise UserError("--fit: needs --sheet FILE, the grid's .toml that --grid wrote with the job")
    pictures.require()
    m, name = machine(a.machine), a.machine or USUAL
    out = _output_name(a.out, name)
    outputs = [out, out.with_suffix(".png"), out.with_suffix(".squares.csv")]
    data = file_contents(source)
    files.refuse(outputs, a.force, source)
    kerf_at = _cut(a.cut, m)
    sheet = read_sheet(a.sheet, file_contents(Path(a.sheet)))
    refuse_other_machine(a.sheet, sheet, m)
    light, _ = images.read(source.name, data)
    found = fit_photo(str(source), light, sheet, min(m.waists), kerf_at)
    text = with_keys(profile_text(name), fitted_keys(found.fitted.estimates, sheet.reference))
    contents: tuple[str | bytes, ...] = (
        text,
        fit_picture(found.data, found.fitted),
        squares_table(sheet, found.measured),
    )
    for file, content in zip(outputs, contents, strict=True):
        write_file(file, content)
    _print_fit(source, found, outputs, a.json)
    return 0


def refuse_other_machine(file: str, sheet: Sheet, m: Profile) -> None:
    """Raise `UserError` where the sheet was made for another machine."""
    if sheet.machine != m.name:
        raise UserError(f"{file}: is a grid for '{sheet.machine}', got --machine '{m.name}'; give the same")


def squares_table(sheet: Sheet, found: MeasuredSheet) -> str:
    """A table (CSV) of the squares: power, speed, fluence, and how dark each is."""
    rows = ["power (W),speed (mm/s),fluence (J/cm^2),darkness"]
    for square, dark in zip(sheet.squares, found.darkness, strict=True):
        rows.append(f"{square.power:.6g},{1e3 * square.speed:.6g},{1e-4 * square.fluence:.6g},{dark:.4f}")
    return "\n".join(rows) + "\n"


def _output_name(text: str | None, name: str) -> Path:
    stem = name if name in shipped() else Path(name).stem
    out = Path(text) if text else Path(f"{stem}.fitted.toml")
    if out.suffix.lower() != ".toml":
        raise UserError(f"--out: the profile is a TOML file, got '{out}'; end it with .toml")
    return out


def _cut(text: str | None, m: Profile) -> tuple[float, float] | None:
    """Power and speed of a cut, such as "5 W, 10 mm/s"."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2:
        raise UserError(f"--cut: needs a power and a speed, such as '5 W, 10 mm/s', got '{text}'")
    try:
        power, speed = (
            UnitSystem.si().convert(part.strip(), unit)
            for part, unit in zip(parts, ("W", "m s^-1"), strict=True)
        )
    except UnitError as error:
        raise UserError(f"--cut: {error}") from None
    if power > m.power[1]:
        raise UserError(f"--cut: {m.name} has {m.power[1]:g} W at most, got {power:g} W")
    return request.positive("--cut", power), request.positive("--cut", speed)


def _print_fit(source: Path, found: PhotoFit, outputs: list[Path], as_json: bool) -> None:
    fitted, measured = found.fitted, found.measured
    shown = shown_estimates(fitted.estimates)
    if as_json:
        facts = {
            name: {"value": one.value, "error": one.error, "interval": list(one.interval)}
            for name, one in shown.items()
        }
        print(json.dumps({
            "fit": facts, "lines": int(fitted.used.sum()), "width_noise": fitted.width_noise,
            "pixel": measured.pixel, "tone": found.tone, "files": [str(one) for one in outputs],
        }, indent=1))  # fmt: skip
        return
    used = f"{int(fitted.used.sum())} of {len(measured.width)}"
    rows = [(name, estimate_text(name, one)) for name, one in shown.items()]
    rows += [
        ("lines", f"{used}; widths scatter by {1e6 * MICRON * fitted.widths.scatter:.2g} µm"),
        ("photo", f"{1e6 * measured.pixel:.3g} µm a pixel, {found.tone}"),
    ]
    print_scores(f"{source}: standard errors, and intervals that hold 95 %", rows, outputs)


def shown_estimates(estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The estimates with diameters of the spot in place of waists."""
    found = {}
    for name, one in estimates.items():
        if name.startswith("waist"):
            name, one = f"spot {name[-1]}", Estimate(2.0 * one.value, 2.0 * one.error, one.freedom)
        found[name] = one
    return found


def estimate_text(name: str, one: Estimate) -> str:
    """The value, its standard error and its interval, in the unit that people use."""
    scale, unit = UNITS.get(name, (1e6, "µm"))
    low, high = (scale * end for end in one.interval)
    return f"{scale * one.value:.4g} ± {scale * one.error:.2g} {unit} ({low:.4g} to {high:.4g})".replace(
        "  ", " "
    )
