"""Over-burn: the dose of each cell over that of the line which was meant there.

    B(p) = D(p) / (q(p) sqrt(2 / pi) / w / full),        q(p) = sum_k q_k^2 K_k(p) / sum_k q_k K_k(p)

An endless line of energy q [J/m] on a length has the peak dose q sqrt(2 / pi) / w / full. q_k = P_k / F_k is
what block k programs, and K_k(p) is the integral of the spot along it: where several lines meet, each counts
by its dose. In the middle of a line B is 1; at a corner it is more, because lines overlap there, and because
the head is slow.
"""

import numpy as np

from .dose import Canvas, lines
from .motion import quantised
from .replays import Replay

FAINT = 1e-3
"""Cells with less of the largest programmed dose have no over-burn: NaN."""


def overburn(done: Replay) -> np.ndarray:
    """The map (rows, columns) of a replayed job; NaN where no line was meant."""
    meant, squares = programmed(done, 1), programmed(done, 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        line = squares / meant * np.sqrt(2.0 / np.pi) / done.waist / done.full
        return np.where(meant > FAINT * meant.max(), done.dose / line, np.nan)


def programmed(done: Replay, power: int = 1) -> np.ndarray:
    """sum_k q_k^power K_k (rows, columns) over the lit blocks of the program, as if there were no inertia."""
    program, profile = done.program, done.motion.profile
    lit = (program.power > 0.0) & (done.plan.length > 0.0)
    feed = program.feed if profile.dialect == "grbl" else done.plan.nominal
    density = np.where(lit, quantised(program.power, profile) / np.where(lit, feed, 1.0), 0.0)
    places = np.stack([program.x, program.y], axis=1)
    canvas = Canvas(done.dose.shape, done.pixel, done.waist, done.origin)
    lines(canvas, places[:-1], places[1:], density**power)
    return canvas.values()
