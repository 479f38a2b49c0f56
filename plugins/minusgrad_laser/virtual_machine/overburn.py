"""Over-burn: the dose of each cell over that of the line which was meant there.

    B(p) = D(p) / (q(p) sqrt(2 / pi) / w / full),        q(p) = sum_k q_k^2 K_k(p) / sum_k q_k K_k(p)

An endless line of energy q [J/m] on a length has the peak dose q sqrt(2 / pi) / w / full. q_k = P_k / F_k is
what block k programs, and K_k(p) is the integral of the spot along it: where several lines meet, each counts
by its dose. In the middle of a line B is 1; at a corner it is more, because lines overlap there, and because
the head is slow.
"""

import numpy as np

from ..machine.profile import Profile
from .canvas import Canvas
from .dose import lines
from .motion import quantise_power
from .planner import Plan
from .program import Program
from .replays import Replay

FAINT = 1e-3
"""Cells with less of the largest programmed dose have no over-burn: NaN."""


def overburn(done: Replay) -> np.ndarray:
    """The map (rows, columns) of a replayed job; NaN where no line was meant."""
    meant, squares = programmed_dose(done, 1), programmed_dose(done, 2)
    return over_meant(done.dose, meant, squares, done.waist, done.full, meant.max())


def over_meant(
    dose: np.ndarray, meant: np.ndarray, squares: np.ndarray, waist: float, full: float, most: float
) -> np.ndarray:
    """B of some cells from their dose and the sums of q K and q^2 K; most: the largest of the former."""
    with np.errstate(invalid="ignore", divide="ignore"):
        line = squares / meant * np.sqrt(2.0 / np.pi) / waist / full
        return np.where(meant > FAINT * most, dose / line, np.nan)


def programmed_dose(done: Replay, power: int = 1) -> np.ndarray:
    """sum_k q_k^power K_k (rows, columns) over the lit blocks of the program, as if there were no inertia."""
    places, density = meant_lines(done.program, done.plan, done.motion.profile)
    canvas = Canvas(done.dose.shape, done.pixel, done.waist, done.origin)
    lines(canvas, places[:-1], places[1:], density**power)
    return canvas.values()


def meant_lines(program: Program, plan: Plan, profile: Profile) -> tuple[np.ndarray, np.ndarray]:
    """The points (n + 1, 2) [m] of the program; of each block the energy q [J/m] on a length, 0 if dark."""
    lit = (program.power > 0.0) & (plan.length > 0.0)
    feed = program.feed if profile.rules.scaled_by_feed else plan.nominal
    density = np.where(lit, quantise_power(program.power, profile) / np.where(lit, feed, 1.0), 0.0)
    return np.stack([program.x, program.y], axis=1), density
