"""Measured curves of a fabric from files: a monotone cubic through their rows, on an even grid.

    T(s) = T_k + (T_{k+1} - T_k) s^2 (3 - 2 s) + h m_k s (1 - s)^2 - h m_{k+1} s^2 (1 - s)

e_k = e_0 + k h are strains at equal distances h, T_k [N/m] the tension there, m_k its slope, and s = (e -
e_k) / h. T goes through the rows as PCHIP does (Fritsch & Carlson 1980, SIAM J. Numer. Anal. 17, 238):
monotone where they are. Between rows at uneven distances the grid of `CELLS` cells or more is off by some
1e-4 of a cell's change; rows at even distances are met exactly. The slopes of the grid are at most 3 secants,
so that T is monotone on it."""

from dataclasses import dataclass

import numpy as np

from minusgrad.plugin import CsvTable, UserError

CELLS = 256
"""Cells of the grid, at least."""


@dataclass(frozen=True, eq=False)
class FabricCurve:
    """First strain, step of strain h, and rows (W_k, T_k, h m_k), (cells + 1, 3), in the unit of T."""

    start: float
    spacing: float
    rows: np.ndarray

    @classmethod
    def through(cls, strain: np.ndarray, tension: np.ndarray) -> "FabricCurve":
        """The curve through strains and tensions (rows,); T and W are 0 at strain 0, a point of the grid."""
        from scipy.interpolate import PchipInterpolator

        parts, curve = len(strain) - 1, PchipInterpolator(strain, tension)
        h = (strain[-1] - strain[0]) / (parts * -(-CELLS // parts))
        before = int(np.ceil(-strain[0] / h - 1e-9))
        h = -strain[0] / before if before else h
        grid = h * (np.arange(int(np.ceil((strain[-1] - strain[0]) / h - 1e-9)) + 1) - before)
        inside = np.clip(grid, strain[0], strain[-1])
        slopes = h * curve.derivative()(inside)
        values = curve(inside) + slopes * (grid - inside) / h
        values[before] = 0.0
        secants = np.diff(values)
        slopes = np.clip(
            slopes, 0.0, 3.0 * np.minimum(np.append(secants, np.inf), np.append(np.inf, secants))
        )
        steps = h * (0.5 * (values[1:] + values[:-1]) + (slopes[:-1] - slopes[1:]) / 12.0)
        energy = np.concatenate([[0.0], np.cumsum(steps)])
        energy -= energy[before]
        return cls(float(strain[0]), float(h), np.stack([energy, values, slopes], axis=1))


def measured_curve(key: str, file: str, data: bytes, column: str, is_odd: bool = False) -> FabricCurve:
    """The curve of a CSV file with the columns `column` and tension, in rows of growing strain, in SI units.

    is_odd: rows are given from 0 on, and the curve goes on to the other side with the other sign.
    Raises `UserError` for rows that do not grow, for tensions that fall, and for a curve that does not pass
    through zero at rest.
    """
    table = CsvTable(file, data)
    strain, tension = table.numbers(column), table.numbers("tension")
    if len(strain) < 2:
        raise UserError(f"{file}: needs two rows or more, got {len(strain)}; add rows")
    _refuse_row(np.diff(strain) <= 0.0, table, column, "must grow; sort the rows")
    _refuse_row(np.diff(tension) < 0.0, table, "tension", "must not fall with the strain; correct it")
    if not tension[-1] > tension[0]:
        raise UserError(f"{file}: column 'tension': must grow, got {tension[0]:g} in all rows; correct it")
    if not strain[0] <= 0.0 < strain[-1]:
        raise UserError(
            f"{file}: column '{column}': must begin at 0 or below, got {strain[0]:g}; add the rest"
        )
    at_rest = float(np.interp(0.0, strain, tension))
    if abs(at_rest) > 1e-9 * np.abs(tension).max():
        raise UserError(
            f"{file}: column 'tension': must be 0 at rest, got {at_rest:g} for {key}; subtract the preload"
        )
    if is_odd and strain[0] < 0.0:
        raise UserError(
            f"{file}: column '{column}': must begin at 0 for {key}, got {strain[0]:g}; leave it out"
        )
    if is_odd:
        strain = np.concatenate([-strain[:0:-1], strain])
        tension = np.concatenate([-tension[:0:-1], tension])
    return FabricCurve.through(strain, tension)


def _refuse_row(wrong: np.ndarray, table: CsvTable, column: str, rule: str) -> None:
    """Raise `UserError` with the first row that is wrong after the one before it."""
    if wrong.any():
        k, values = int(np.flatnonzero(wrong)[0]) + 1, table.numbers(column)
        rule, cure = rule.split("; ")
        raise UserError(
            f"{table.places[k]}: column '{column}': {rule}, got {values[k]:g} after {values[k - 1]:g}; {cure}"
        )
