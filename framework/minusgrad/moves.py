"""Kernels that move: a kick, a drift, and many whole steps in one.

The text of a step inside the one kernel is joined from the pieces of which single steps are made.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from . import runtime
from .fields import Motion
from .kernels import Code
from .potential import Potential
from .schemes import Scheme


class Moves:
    """Loops over the nodes of everything that moves; `gradient` and `inertia` by the position's name."""

    def __init__(
        self,
        potential: Potential,
        motions: Sequence[Motion],
        gradient: Mapping[str, Any],
        inertia: Mapping[str, Any],
        work: Any,
    ):
        self.potential, self.motions = potential, motions
        self.gradient, self.inertia, self.work = gradient, inertia, work

    def drift(self) -> Code:
        """x <- x + h v"""
        return Code.joined(self._drift(motion) for motion in self.motions)

    def kick(self) -> Code:
        """v <- v - h (dU/dx) / inertia"""
        return Code.joined(self._kick(motion) for motion in self.motions)

    def steps(self, scheme: Scheme) -> Code:
        """For a kernel of (steps, first, t0, dt): so many steps of length dt from number `first` on."""
        rows = {
            "kicks": scheme.kicks,
            "drifts": scheme.drifts,
            "ends": [*accumulate(scheme.drifts[:-1]), 1.0],
        }
        move = [
            Code("h = drifts[move] * dt\n"),
            self.drift(),
            Code("t = t0 + (first + ti.f64(sub) + ends[move]) * dt\n"),
            *(_zeroed(f"g_{name}", array) for name, array in self.gradient.items()),
            self.potential.gradient_code(self.gradient),
            Code("h = kicks[move + 1] * dt\n"),
            *self._kick_and_work(),
        ]
        step = [
            Code("t = t0 + (first + ti.f64(sub)) * dt\nh = kicks[0] * dt\n"),
            *self._kick_and_work(),
            Code.joined(move).inside("for move in range(drifts.shape[0]):"),
        ]
        loop = Code.joined(step).inside("ti.loop_config(serialize=True)\nfor sub in range(steps):")
        arrays = {name: runtime.allocate(np.array(row)) for name, row in rows.items()}
        return Code(loop.text, {**loop.arrays, **arrays})

    def _kick_and_work(self) -> list[Code]:
        """A kick, and the work h dU/dt that an explicit time dependence does in it."""
        pieces = [self.kick()]
        for code, buffer in self.potential.rate_code():
            add = f"for e in range({buffer}.shape[0]):\n    work[0] = work[0] + h * {buffer}[e, 0]\n"
            pieces += [code, Code(add, {"work": self.work})]
        return pieces

    def _drift(self, motion: Motion) -> Code:
        x, v = (self.potential.fields[name] for name in (motion.position, motion.velocity))
        place = f"f_{x.name}[{{at}}]"
        line = f"{place} = {place} + {_real(x.dtype)}(h) * f_{v.name}[{{at}}]"
        return Code(_at_each(f"f_{x.name}", x.array, line), {f"f_{x.name}": x.array, f"f_{v.name}": v.array})

    def _kick(self, motion: Motion) -> Code:
        x, v = (self.potential.fields[name] for name in (motion.position, motion.velocity))
        gradient, inertia = self.gradient[x.name], self.inertia[x.name]
        place, mass = f"f_{v.name}[{{at}}]", f"i_{x.name}[{'n' if len(inertia) > 1 else 0}]"
        line = f"{place} = {place} - {_real(x.dtype)}(h) * (g_{x.name}[{{at}}] / {mass})"
        arrays = {f"g_{x.name}": gradient, f"i_{x.name}": inertia, f"f_{v.name}": v.array}
        return Code(_at_each(f"f_{v.name}", v.array, line), arrays)


def _real(dtype: np.dtype) -> str:
    return f"ti.{runtime.ENGINE_DTYPES[dtype.name]}"


def _zeroed(name: str, array: Any) -> Code:
    return Code(_at_each(name, array, f"{name}[{{at}}] = 0.0"), {name: array})


def _at_each(name: str, array: Any, line: str) -> str:
    """A loop over the nodes n of an array, with the line for every component, {at} its index."""
    places = (", ".join(["n", *map(str, c)]) for c in np.ndindex(tuple(array.shape[1:])))
    body = "".join(f"    {line.format(at=at)}\n" for at in places)
    return f"for n in range({name}.shape[0]):\n{body}"
