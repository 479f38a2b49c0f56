"""Gauss-Radau substeps whose places are measured from a body of the closest pair.

    forces at x_i - x_k,    k in the pair with the least |x_j - x_k| at the start of a substep

Places are rounded to 1e-16 of their distance from the origin, and so is the distance of two bodies that meet,
which may be smaller by far. Energies that are invariant under translations (`translations`) have the same
forces wherever the origin is: at the pair, places and their distance are rounded alike, and the error of the
sums of x (`rx`) counts.

Decisions 0348.
"""

from typing import Any

import numpy as np

from ....engine import storage
from ....engine.kernels import Code
from .radau_code import RadauCode

MOST = 100
"""Bodies up to which the closest pair is searched for, in each substep."""


class ClosePairs(RadauCode):
    """`RadauCode` of one motion, with an `origin` (N,): the place of that body, for each component."""

    begun = "(x[i] - origin[i])"

    def __init__(self, *arguments: Any, **more: Any):
        super().__init__(*arguments, **more)
        self.arrays["origin"] = storage.allocate(np.zeros(self.arrays["x"].shape[0]))
        (motion,) = self.motions
        self._size = int(np.prod(self.fields[motion.position].shape[1:], dtype=int))

    def begin(self) -> Code:
        d = self._size
        away = [f"(x[{d} * k + {c}] - x[{d} * j + {c}])" for c in range(d)]
        apart = " + ".join(f"{one} * {one}" for one in away)
        text = f"""\
ileast = ti.f64(1e300)
ibody = 0
for k in range(x.shape[0] // {d}):
    for j in range(k):
        iapart = {apart}
        if iapart < ileast:
            ileast = iapart
            ibody = k
for i in range(x.shape[0]):
    origin[i] = x[{d} * ibody + i % {d}]
"""
        return Code.joined([super().begin(), self._numbers(text)])

    def place(self) -> Code:
        first = self._each(f"y[i] = {self.begun} - rx[i]\n")
        start = Code.joined([first, self._scattered("y", "position")]).inside("if at == 0:")
        return Code.joined([start, super().place()])
