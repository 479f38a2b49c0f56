"""Depths of a material that were measured at powers and speeds, as the table of a response.

    dose = P / (pitch v) / H_full                                 of areas, filled by lines a pitch apart
    dose = D_0 / H_full,   D_0 as in `line_widths`, in the middle of lines of the profile's spot

Depths of one dose are averaged, and made to not fall by the least squares among such tables (Barlow et al.
1972, Statistical Inference under Order Restrictions: pool adjacent violators), since noise is no response.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from minusgrad.plugin import CsvTable, UnitError, UnitSystem, UserError

from ..machine.profile import Profile
from .spot_fit import LineData, line_doses

UNITS = {"power": "W", "speed": "m s^-1", "depth": "m", "pitch": "m"}
ALIKE = 1e-6
"""Doses that differ by less, in parts of them, are one."""


@dataclass(frozen=True, eq=False)
class MeasuredDepths:
    """Doses (n,) in parts of `full` [J/m^2] in growing order, depths (n,) [m] that do not fall.

    noise [m]: deviation of the rows from the table; rows: how many there are.
    """

    dose: np.ndarray
    depth: np.ndarray
    full: float
    noise: float
    rows: int

    def text(self) -> str:
        """The table (CSV) of a scene's `response`."""
        rows = [f"{dose:.6g},{1e6 * depth:.6g}" for dose, depth in zip(self.dose, self.depth, strict=True)]
        return "\n".join(["# Depth in um over dose in parts of the full one.", "dose,depth", *rows]) + "\n"


def measured_depths(file: str, data: bytes, machine: Profile, full: float | None) -> MeasuredDepths:
    """The table of a CSV file: columns `power [W]`, `speed [mm/s]`, `depth [um]`, and of areas `pitch [um]`.

    full [J/m^2]: the dose that counts as one; None: the largest. Raises `UserError` for what is no such file.
    """
    table = CsvTable(file, data)
    columns = {
        name: _numbers_in_si(table, name) for name in UNITS if name != "pitch" or _heading(table, name)
    }
    for name, values in columns.items():
        wrong = np.flatnonzero(values < 0.0 if name == "depth" else values <= 0.0)
        if len(wrong):
            rule = "at least 0" if name == "depth" else "above 0"
            raise UserError(
                f"{table.places[wrong[0]]}: column '{name}': must be {rule}, got {values[wrong[0]]:g};"
                " correct it"
            )
    if "pitch" in columns:
        dose = columns["power"] / (columns["pitch"] * columns["speed"])
    else:
        dose = _doses_of_lines(columns["power"], columns["speed"], machine)
    full = float(dose.max()) if full is None else full
    part, means, counts, scatter = _means_by_dose(dose / full, columns["depth"])
    if len(part) < 2:
        raise UserError(f"{file}: needs rows of two doses or more, got {len(part)}; add rows")
    depth = isotonic_regression(means, weights=counts).x
    if depth[-1] <= depth[0]:
        raise UserError(f"{file}: column 'depth': does not grow with the dose; look at powers and speeds")
    fitted = np.repeat(depth, counts)
    freedom = max(1, len(dose) - len(np.unique(depth)))
    noise = float(np.sqrt((scatter + (counts * (means - depth) ** 2).sum()) / freedom))
    return MeasuredDepths(part, depth, full, noise, len(fitted))


def _doses_of_lines(power: np.ndarray, speed: np.ndarray, machine: Profile) -> np.ndarray:
    """In the middle of a line along x [J/m^2]."""
    none, count = np.zeros(0), len(power)
    reference = machine.reference or machine.peak_intensity
    data = LineData(
        np.tile([0.0, 1.0], (count, 1)), power, speed, np.zeros(count), np.zeros((0, 2)), none, none,
        reference, (1.0, 1.0),
    )  # fmt: skip
    return line_doses(data, machine.waists, machine.exponent)


def _means_by_dose(dose: np.ndarray, depth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Doses in growing order, mean depth and rows of each, and the sum of squares about the means."""
    order = np.argsort(dose, kind="stable")
    dose, depth = dose[order], depth[order]
    group = np.cumsum(np.diff(dose, prepend=dose[0]) > ALIKE * dose)
    counts = np.bincount(group)
    means = np.bincount(group, depth) / counts
    return np.bincount(group, dose) / counts, means, counts, float(((depth - means[group]) ** 2).sum())


def _heading(table: CsvTable, name: str) -> str | None:
    """The heading of a column, such as `power [W]`."""
    return next((one for one in table.columns if one.split("[")[0].split("(")[0].strip() == name), None)


def _numbers_in_si(table: CsvTable, name: str) -> np.ndarray:
    heading = _heading(table, name)
    example = {"power": "power [W]", "speed": "speed [mm/s]", "depth": "depth [um]", "pitch": "pitch [um]"}[
        name
    ]
    if heading is None:
        raise UserError(
            f"{table.file}: has no column '{name}', got {', '.join(table.columns)}; write its heading"
            f" as {example}"
        )
    unit = heading[len(name) :].strip().strip("[]()").strip()
    if not unit:
        raise UserError(
            f"{table.file}: column '{name}': needs a unit, got none; write its heading as {example}"
        )
    try:
        return table.numbers(heading) * UnitSystem.si().convert(f"1 {unit}", UNITS[name])
    except UnitError as error:
        raise UserError(f"{table.file}: column '{name}': {error}") from None
