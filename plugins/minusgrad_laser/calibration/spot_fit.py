"""The fit of a sheet: spot, threshold, exponent, latency and kerf, from widths and shifts of its lines.

Widths and shifts are those of `line_widths`; lines whose dose is close to the threshold are left out, and
those that are far off all others (dirt, a scratch).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import t as student

import minusgrad
from minusgrad.plugin import Fields, Potential, UserError

from ..machine.spot import waists_across
from .least_squares import Optimum, least_misfit
from .line_widths import line_shift_misfit, line_width_misfit
from .measured_lines import MeasuredSheet
from .sheet import Sheet

LEAST = 0.05
"""What is known of an edge at best, in pixels: lenses and pixels are not what a homography says."""
NEAR = 0.1
"""Logarithm of the dose over the threshold that a line needs."""
FAR = 5.0
"""Misfits beyond which a line is left out, in (robust) deviations of all."""
ROUNDS = 4
UNKNOWNS = ("waists", "threshold", "exponent", "edge")
MICRON = 1e-6
TINY = 1e-3
"""A fluence that every line exceeds [J/m^2]."""


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error, in SI units, and the interval that holds it in 95 % of all photos."""

    value: float
    error: float
    freedom: int

    @property
    def interval(self) -> tuple[float, float]:
        half = float(student.ppf(0.975, self.freedom)) * self.error
        return self.value - half, self.value + half


@dataclass(frozen=True, eq=False)
class LineData:
    """Lines with a width: normals (n, 2), powers, speeds (n,), widths (n,) [m]; and pairs with a shift:
    directions (m, 2), speeds (m,), shifts (m,) [m]. reference [W/m^2], kerf_at: power and speed of the kerf.
    """

    normal: np.ndarray
    power: np.ndarray
    speed: np.ndarray
    width: np.ndarray
    pair_direction: np.ndarray
    pair_speed: np.ndarray
    shift: np.ndarray
    reference: float
    kerf_at: tuple[float, float]
    floor: float = 0.0
    """No edge in the photo is known better than to this [m]."""


@dataclass(frozen=True, eq=False)
class SpotFit:
    """What a sheet says of a machine and its material.

    estimates: `waist x`, `waist y`, `threshold`, `exponent`, `edge`, `latency`, `play x`, `play y`, `kerf x`,
    `kerf y`. used (n,): the lines that count. width_noise, shift_noise [m]: deviations of what was measured.
    """

    estimates: Mapping[str, Estimate]
    used: np.ndarray
    width_noise: float
    shift_noise: float
    widths: Optimum
    shifts: Optimum


def line_data(sheet: Sheet, measured: MeasuredSheet, kerf_at: tuple[float, float] | None = None) -> LineData:
    """The data of a measured sheet. kerf_at: power and speed of a cut (default: of the strongest line)."""
    seen = np.isfinite(measured.width)
    along = np.array([one.direction for one in sheet.lines])
    power, speed = (np.array([getattr(one, name) for one in sheet.lines]) for name in ("power", "speed"))
    pairs = sheet.reversed_pairs()
    halves = 0.5 * (measured.middle[pairs[:, 0]] + measured.middle[pairs[:, 1]])
    known = np.isfinite(halves)
    first = pairs[known, 0]
    normal = np.stack([-along[:, 1], along[:, 0]], axis=1)
    strongest = int(np.argmax(power / speed))
    return LineData(
        normal[seen], power[seen], speed[seen], measured.width[seen], along[first], speed[first],
        halves[known], sheet.reference, kerf_at or (float(power[strongest]), float(speed[strongest])),
        LEAST * measured.pixel,
    )  # fmt: skip


def fit_spot(data: LineData) -> SpotFit:
    """The least squares fit. Raises `UserError` where the lines do not determine it."""
    for name, direction in (("x", 1), ("y", 0)):
        if (count := np.count_nonzero(np.abs(data.normal[:, direction]) > 0.9)) < 3:
            raise UserError(
                f"--fit: needs three lines along {name} that are wider than the blur of the photo, got"
                f" {count}; take a sharper photo, or burn a grid with more --powers"
            )
    used = np.ones(len(data.width), bool)
    potential = _width_potential(data, used, _start_values(data))
    for k in range(ROUNDS):
        found = _least_widths(potential, int(used.sum()), data.floor)
        model = predicted_widths(data, found.values)
        misses = data.width - model
        spread = _robust_spread(misses[used])
        narrow = 2.0 * waists_across(found.values, data.normal) * sqrt(NEAR / (2.0 * found.values[3]))
        fits = (np.abs(misses) < FAR * spread) & (model - found.values[4] > narrow)
        if (fits == used).all() or k == ROUNDS - 1:
            break
        used = fits
        potential = _width_potential(data, used, _named_values(found.values))
    shifts, noise = _fit_shifts(data)
    return SpotFit(
        {**_width_estimates(found), **_shift_estimates(shifts), **_kerfs(data, found)},
        used, found.deviation * MICRON, noise, found, shifts,
    )  # fmt: skip


def _least_widths(potential: Potential, count: int, floor: float) -> Optimum:
    values = {name: potential.fields[name].values.ravel() for name in UNKNOWNS}
    scales = {name: np.abs(value) for name, value in values.items()} | {"edge": [values["waists"].mean()]}
    return least_misfit(potential, scales, count, ("waists", "threshold", "exponent"), floor / MICRON)


def _width_potential(data: LineData, used: np.ndarray, start: Mapping[str, Any]) -> Potential:
    """U of the widths, in squares of micrometres."""
    fields = Fields(start)
    count = int(used.sum())
    term = minusgrad.bind(
        line_width_misfit,
        fields,
        tuples=np.zeros((count, 1), int),
        data={
            "normal": data.normal[used],
            "power": data.power[used],
            "speed": data.speed[used],
            "reference": np.full(count, data.reference),
            "measured": data.width[used],
            "sigma": np.full(count, MICRON),
        },
    )
    return Potential(fields, [term])


def _start_values(data: LineData) -> dict[str, Any]:
    """Of a linear fit: b^2 = 2 W^2 ln P - 2 W^2 / n ln v + c W^2, W^2 linear in squares of the waists."""
    squares = data.normal**2
    power, speed = np.log(data.power), np.log(data.speed)
    matrix = np.concatenate(
        [2.0 * squares * power[:, None], -2.0 * squares * speed[:, None], squares], axis=1
    )
    found = np.linalg.lstsq(matrix, data.width**2, rcond=None)[0]
    typical = np.median(data.width) ** 2 / 4.0
    square = np.clip(found[:2], 0.02 * typical, 20.0 * typical)
    exponent = float(np.clip(square.sum() / max(found[2:4].sum(), 0.1 * square.sum()), 0.5, 3.0))
    waists = np.sqrt(square)
    start = {"waists": waists[None], "threshold": [1.0], "exponent": [exponent], "edge": [0.0]}
    dose = np.log(line_doses(data, (waists[0], waists[1]), exponent))
    threshold = np.exp(np.median(dose - 0.5 * exponent * data.width**2 / (squares @ square)))
    return start | {"threshold": [float(threshold)]}


def predicted_widths(data: LineData, values: np.ndarray) -> np.ndarray:
    """Widths (n,) [m] of lines by the unknowns (5,): distances from a measured width of 0."""
    none = replace(data, width=np.zeros(len(data.power)))
    potential = _width_potential(none, np.ones(len(data.power), bool), _named_values(values))
    return MICRON * np.sqrt(2.0 * potential.by_element(line_width_misfit.name))


def line_doses(data: LineData, waists: tuple[float, float], exponent: float) -> np.ndarray:
    """Dose in the middle of each line (n,) [J/m^2], from widths for a threshold of `TINY`."""
    values = np.array([*waists, TINY, exponent, 0.0])
    part = predicted_widths(data, values) / waists_across(values, data.normal)
    return TINY * np.exp(0.5 * exponent * part**2)


def fitted_widths(data: LineData, fitted: SpotFit) -> np.ndarray:
    """Widths of the lines by the fit (n,) [m], with the shift of the photo's edges."""
    return predicted_widths(data, fitted.widths.values)


def _named_values(values: np.ndarray) -> dict[str, Any]:
    return {
        "waists": values[None, :2],
        "threshold": values[2:3],
        "exponent": values[3:4],
        "edge": values[4:5],
    }


def _width_estimates(found: Optimum) -> dict[str, Estimate]:
    names = ("waist x", "waist y", "threshold", "exponent", "edge")
    errors = np.sqrt(np.diag(found.covariance))
    return {
        name: Estimate(float(value), float(error), found.freedom)
        for name, value, error in zip(names, found.values, errors, strict=True)
    }


def _fit_shifts(data: LineData) -> tuple[Optimum, float]:
    """The fit of shifts, and the deviation of one [m]."""
    used = np.ones(len(data.shift), bool)
    for _ in range(ROUNDS):
        found = _least_shifts(data.pair_direction[used], data.pair_speed[used], data.shift[used])
        misses = np.abs(data.shift - _shifts(data.pair_direction, data.pair_speed, found.values))
        fits = misses < FAR * _robust_spread(misses[used])
        if (fits == used).all():
            break
        used = fits
    direction, speed, shift = _typical_shifts(
        data.pair_direction[used], data.pair_speed[used], data.shift[used]
    )
    found = _least_shifts(direction, speed, shift, data.floor)
    return found, found.deviation * MICRON * sqrt(used.sum() / len(shift))


def _typical_shifts(
    direction: np.ndarray, speed: np.ndarray, shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Medians of the shifts of one direction and speed: their pixels err alike, so they count as one.

    Medians, since the ends of weak lines are ragged.
    """
    key = np.stack([np.rint(8.0 * np.arctan2(direction[:, 1], direction[:, 0]) / np.pi), speed], axis=1)
    _, first, which = np.unique(key, axis=0, return_index=True, return_inverse=True)
    typical = [np.median(shift[which.ravel() == k]) for k in range(len(first))]
    return direction[first], speed[first], np.array(typical)


def _shifts(direction: np.ndarray, speed: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Shifts (n,) [m] by latency and play (3,)."""
    return values[0] * speed - 0.5 * np.abs(direction) @ values[1:]


def _least_shifts(direction: np.ndarray, speed: np.ndarray, shift: np.ndarray, floor: float = 0.0) -> Optimum:
    scales = {"latency": [MICRON / float(speed.max(initial=MICRON))], "play": [MICRON, MICRON]}
    return least_misfit(_shift_potential(direction, speed, shift), scales, len(shift), floor=floor / MICRON)


def _robust_spread(misses: np.ndarray) -> float:
    """Standard deviation of normal misses, whatever a few are [m]."""
    return max(1.4826 * float(np.median(np.abs(misses))), 1e-12)


def _shift_potential(direction: np.ndarray, speed: np.ndarray, shift: np.ndarray) -> Potential:
    """U of the shifts, in squares of micrometres."""
    count = len(shift)
    fields = Fields({"latency": [0.0], "play": [[0.0, 0.0]]})
    term = minusgrad.bind(
        line_shift_misfit,
        fields,
        tuples=np.zeros((count, 1), int),
        data={"direction": direction, "speed": speed, "measured": shift, "sigma": np.full(count, MICRON)},
    )
    return Potential(fields, [term])


def _shift_estimates(found: Optimum) -> dict[str, Estimate]:
    errors = np.sqrt(np.diag(found.covariance))
    return {
        name: Estimate(float(value), float(error), found.freedom)
        for name, value, error in zip(("latency", "play x", "play y"), found.values, errors, strict=True)
    }


def _kerfs(data: LineData, found: Optimum) -> dict[str, Estimate]:
    """Width of a cut along x and along y: of lines along y and along x, without the photo's shift of edges.

    For a measured width of 0, U = b^2 / 2 has the gradient b db, so db, by which errors pass on, follows.
    """
    kerfs = {}
    for name, normal in (("kerf x", (1.0, 0.0)), ("kerf y", (0.0, 1.0))):
        power, speed = data.kerf_at
        one = LineData(
            np.array([normal]), np.array([power]), np.array([speed]), np.zeros(1), np.zeros((0, 2)),
            np.zeros(0), np.zeros(0), data.reference, data.kerf_at,
        )  # fmt: skip
        values = np.array([*found.values[:4], 0.0])
        potential = _width_potential(one, np.ones(1, bool), _named_values(values))
        width = float(np.sqrt(2.0 * potential.value()))
        change = np.concatenate([potential.gradient(one).ravel() for one in UNKNOWNS]) * MICRON / width
        change[4] = 0.0
        error = float(np.sqrt(change @ found.covariance @ change))
        kerfs[name] = Estimate(width * MICRON, error, found.freedom)
    return kerfs
