"""A heat bath: the exact solution of friction and noise for a time h, at fixed positions.

    v <- c v + sqrt((1 - c^2) kT / inertia) xi,   c = exp(-gamma h),   Q <- Q + the kinetic energy it gives

xi is normally distributed, a function of seed, field, step and component (`random`): so the numbers of a run
depend neither on where it was cut nor on the threads. Between two half drifts, in the middle of a leapfrog,
it makes BAOAB (Leimkuhler and Matthews 2013, Appl. Math. Res. Express 2013, 34), whose positions are sampled
to second order in h, in a harmonic potential exactly.

Decisions 0369.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...energies.fields import Field
from ...engine import random, storage
from ...engine.kernels import Code, real


@dataclass(frozen=True)
class Bath:
    """Friction gamma [1/time] and kT [energy], in the run's units; the numbers are those of `seed`."""

    friction: float
    kT: float  # noqa: N815  (as it is written)
    seed: int
    given: Any = field(default_factory=lambda: storage.allocate(np.zeros(1)))
    """Q: the energy that it has given so far."""
    before: Any = field(default_factory=lambda: storage.allocate(np.zeros(1)))
    """The number of the step from which kernels count, so that each step of a run has numbers of its own."""

    @cached_property
    def numbers(self) -> Any:
        """Friction, kT and the two words of the seed, as an array for kernels."""
        return storage.allocate(np.array([self.friction, self.kT, *_words(self.seed)], np.float64))

    def draw_as(self, seed: int) -> None:
        """From now on kernels draw the numbers of this seed."""
        storage.store(self.numbers, np.array([self.friction, self.kT, *_words(seed)], np.float64))

    def count_from(self, step: int) -> None:
        """Kernels count their steps from here; `number` plus this is the number of the step in the run."""
        storage.store(self.before, np.array([float(step)]))

    def drift(self, x: Field, v: Field, inertia: Any, free: Any, sums: bool, drifting: bool = True) -> Code:
        """Half a drift, the bath, half a drift, for scalars h and `number` (the step's); held nodes drift.

        With `sums` the heat is added to `given`: in loops on one thread. The bath alone, if not `drifting`.
        """
        xs, vs, precision = f"f_{x.name}", f"f_{v.name}", real(x.dtype)
        mass = f"i_{x.name}[{'n' if inertia.shape[0] > 1 else 0}]"
        stream = f"ti.f64({random.stream(f'bath/{x.name}')}.0)"
        places = list(np.ndindex(tuple(x.array.shape[1:])))
        text = [
            "decay = ti.exp(-bath[0] * h)\n",
            "width = ti.sqrt(bath[1] * (ti.f64(1.0) - decay * decay))\n",
            "seed = ti.cast(bath[2], ti.u64) | (ti.cast(bath[3], ti.u64) << ti.u64(32))\n",
            f"for n in range({xs}.shape[0]):\n",
            f"    mass = ti.f64({mass})\n",
        ]
        for k, place in enumerate(places):
            at = ", ".join(["n", *map(str, place)])
            draw = f"random_normal(seed, {stream}, number + before[0], n * {len(places)} + {k})"
            new = f"decay * old + width / ti.sqrt(mass) * {draw}"
            kept = new if free is None else f"ti.select(free_{x.name}[{at}] > 0, {new}, old)"
            halves = f"{precision}(ti.f64(0.5) * h) * ({vs}[{at}] + {precision}(new))"
            lines = [f"old = ti.f64({vs}[{at}])", f"new = {kept}"]
            lines += [f"{xs}[{at}] = {xs}[{at}] + {halves}"] if drifting else []
            lines += [f"{vs}[{at}] = {precision}(new)"]
            if sums:
                lines.append("given[0] = given[0] + ti.f64(0.5) * mass * (new * new - old * old)")
            text += [f"    {line}\n" for line in lines]
        arrays = {xs: x.array, vs: v.array, f"i_{x.name}": inertia}
        arrays |= {"bath": self.numbers, "before": self.before}
        arrays |= {} if free is None else {f"free_{x.name}": free}
        return Code("".join(text), arrays | ({"given": self.given} if sums else {}))


def _words(seed: int) -> list[int]:
    """The two words of a seed."""
    return [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
