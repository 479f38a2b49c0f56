"""Over-burn: the dose of each cell over that of the line which was meant there.

    B(p) = D(p) / m(p),     m(p) = sum_k m_k q_k K_k(p) / sum_k q_k K_k(p)
    m_k  = q_k sqrt(2 / pi) / w_k / full

An endless line of energy q_k [J/m] on a length has the peak dose m_k, where w_k is the radius of the spot
across the line. q_k = P_k / F_k is what block k programs, and K_k(p) is the integral of the spot along it:
where several lines meet, each counts by its dose. In the middle of a line B is 1; at a corner it is more,
because lines overlap there, and because the head is slow.
"""

import numpy as np

from ..machine.profile import Profile
from .canvas import Canvas, line_waists
from .dose import lines
from .motion import quantise_power
from .planner import Plan
from .program import Program
from .replays import Replay

FAINT = 1e-3
"""Cells with less of the largest programmed dose have no over-burn: NaN."""


def overburn(done: Replay, density: np.ndarray | None = None) -> np.ndarray:
    """The map (rows, columns) of a replayed job; NaN where no line was meant.

    density (n,) [J/m]: what each block means (default: what the program says, `meant_lines`).
    """
    meant, peaks = programmed_dose(done, density=density), programmed_dose(done, True, density)
    return over_meant(done.dose, meant, peaks, done.full, meant.max())


def over_meant(
    dose: np.ndarray, meant: np.ndarray, peaks: np.ndarray, full: float, most: float
) -> np.ndarray:
    """B of some cells from their dose and the sums of q K and m full q K; most: the largest of the former."""
    with np.errstate(invalid="ignore", divide="ignore"):
        line = peaks / meant / full
        return np.where(meant > FAINT * most, dose / line, np.nan)


def programmed_dose(done: Replay, peaks: bool = False, density: np.ndarray | None = None) -> np.ndarray:
    """sum_k q_k K_k (rows, columns) over the lit blocks of the program, as if there were no inertia.

    peaks: each times the peak of its line, m_k full [J/m^2].
    """
    places, programmed = meant_lines(done.program, done.plan, done.motion.profile)
    density = programmed if density is None else density
    canvas = Canvas(done.dose.shape, done.pixel, done.waists, done.origin)
    each = line_peaks(density, done.plan.direction, done.waists) if peaks else 1.0
    lines(canvas, places[:-1], places[1:], density * each)
    return canvas.values()


def line_peaks(density: np.ndarray, direction: np.ndarray, waists: tuple[float, float]) -> np.ndarray:
    """Peaks (n,) [J/m^2] of endless lines along unit vectors (n, 2), of energies on a length (n,) [J/m]."""
    across = line_waists(waists, direction)
    return density * np.sqrt(2.0 / np.pi) / np.where(across > 0.0, across, 1.0)


def meant_lines(program: Program, plan: Plan, profile: Profile) -> tuple[np.ndarray, np.ndarray]:
    """The points (n + 1, 2) [m] of the program; of each block the energy q [J/m] on a length, 0 if dark."""
    lit = (program.power > 0.0) & (plan.length > 0.0)
    feed = program.feed if profile.rules.scaled_by_feed else plan.nominal
    density = np.where(lit, quantise_power(program.power, profile) / np.where(lit, feed, 1.0), 0.0)
    return np.stack([program.x, program.y], axis=1), density
