"""The box as a moving cell: it has an inertia, and positions follow it.

The cell deforms at the rate G = p / W, a symmetric matrix; positions x and edges (rows of h) follow it:

    dx/dt = v + x G       dh/dt = h G       dv/dt = -(dU/dx) / m - v G
    dp/dt = allowed part of  sum m v v - dU/de + (kT - P V + J / V) 1
    dU/de = sum x (dU/dx) + h^T (dU/dh)

W is (N + 1) kT relaxation^2 (Martyna, Tobias, Klein 1994, J. Chem. Phys. 101, 4177). Conserved, less the heat
that the baths give, is

    sum m v^2 / 2 + U + P V - kT ln V + J / V + tr(p p) / 2W

with V as a number in the run's units. J / V^2 is the pressure of sharp cutoffs at uniform density, where an
energy stands for the pairs beyond them, and J / V its work (`cutoff_jumps`); else J is 0. The term kT ln V
stands for their kT (sum m v^2) / (N_f kT), as in Bussi, Zykova-Timan, Parrinello 2009, J. Chem. Phys. 130,
074101. In a bath of the same kT volumes have the weight exp(-P V / kT) Z(V): an ideal gas has the mean volume
(N + 1) kT / P. The cell has a heat bath of its own, as in Quigley and Probert 2004, J. Chem. Phys. 120,
11432.

Flexible boxes have the weight V^(1-d) exp(-P V / kT) Z(h) dh, over all d^2 components of h (Martyna, Tobias,
Klein): V^(-d) dh is the measure that no deformation changes. So shapes of one volume are equally likely in
this measure, and nothing but U limits them: the box of a gas or a liquid grows longer without end. Edges that
are upright stay so (`orientation`), where U is known not to change by a rotation.

The energy is split into U + P V - kT ln V + J / V (a kick of v and p), the kinetic energy (a drift, and a
kick of p) and tr(p p) / 2W (a deformation). Each part is followed exactly, so a step is reversible and keeps
the measure; compositions of leapfrog keep their order.

Decisions 0060, 0370.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...energies.fields import Motion, ordered_sum
from ...engine import random, storage
from ...engine.kernels import BoundKernel, Code, real, short_loops_serial
from ...errors import EnergyError, RunFailedError
from ...potential.potential import Potential
from .barostat import Barostat
from .cutoff_jumps import CutoffJumps
from .orientation import is_upright, may_turn, rotated, upright_deformation
from .stress import Stress, box_of, product, volume

LARGEST = 0.5
"""The largest change of an edge in one deformation, as a fraction of it."""


class MovingBox:
    """The box of a potential, moved by a barostat, and the positions and velocities that follow it.

    motions, inertia: those of the integrator. `momentum` is p (d, d), `given` the heat that its bath has
    given so far, `before` the number of the step from which `exchange_heat` counts. Raises `EnergyError`
    where there is no box, and for positions that are no vectors of its dimension.
    """

    def __init__(
        self, barostat: Barostat, potential: Potential, motions: Sequence[Motion], inertia: Mapping[str, Any]
    ):
        self.barostat, self.box = barostat, box_of(potential)
        if not all(periodic := potential.fields.periodic):
            raise EnergyError(
                f"barostat: needs a box that repeats along every axis, got periodic = {[*periodic]}; use a"
                " stepper at constant volume"
            )
        self.dimension = d = self.box.shape[-1]
        self._stress, self.jumps = Stress(potential, motions, inertia), CutoffJumps(potential)
        self.jumps.refuse_changing([m.position for m in motions])
        self._pairs = [(potential.fields[m.position], potential.fields[m.velocity]) for m in motions]
        self.inertia = (1 + sum(len(x) for x, _ in self._pairs)) * barostat.kT * barostat.relaxation**2
        self.momentum = storage.allocate(np.zeros((d, d)))
        self.given = storage.allocate(np.zeros(1))
        self.before = 0
        self._change = storage.allocate(np.zeros((2, d, d)))
        self._deform = BoundKernel(short_loops_serial(self._deformation()))
        self._may_turn = barostat.shape == "flexible" and may_turn(potential, [m.position for m in motions])

    @property
    def energy(self) -> float:
        """P V - kT ln V + J / V + tr(p p) / 2W."""
        own, p, size = self.barostat, storage.host(self.momentum), volume(self.box)
        with np.errstate(all="ignore"):  # infinity and NaN are reported by those who ask
            moving = ordered_sum(p * p) / (2.0 * self.inertia)
            return float(own.pressure * size - own.kT * np.log(size) + moving) + self._jump / size

    @property
    def _jump(self) -> float:
        """J of the sharp cutoffs that are counted (`cutoff_jumps`)."""
        return self.jumps.total(0.0)

    # Moves

    def kick(self, h: float, gradient: Mapping[str, Any]) -> None:
        """p <- p + h (-dU/de + (kT - P V + J / V) 1), by the gradients of positions and box."""
        own, size = self.barostat, volume(self.box)
        push = (own.kT - own.pressure * size + self._jump / size) * np.eye(self.dimension)
        self._push(h, push - self._stress.strain_derivative(gradient))

    def kick_by_motion(self, h: float) -> None:
        """p <- p + h sum m v v: the effect of a drift of length h on the cell."""
        self._push(h, self._stress.kinetic())

    def deform(self, h: float) -> None:
        """x <- x e^(G h), edges likewise, v <- v e^(-G h), and all rotated where the box stays upright.

        Raises `RunFailedError` for a large change.
        """
        strain = storage.host(self.momentum) * (h / self.inertia)
        if not (largest := float(np.abs(strain).max())) < LARGEST:
            how = "explodes" if np.trace(strain) > 0.0 else "collapses"
            raise RunFailedError(
                f"the box {how}: its edges change by {largest:.0%} in one step, got a volume of"
                f" {volume(self.box):.4g}; use a smaller dt, a longer relaxation, or a start nearer to the"
                " pressure"
            )
        grown, shrunk = exponential_less_one(strain), exponential_less_one(-strain)
        edges = self.box.values[0].astype(np.float64)
        if self._may_turn and is_upright(edges):
            grown, inverse = upright_deformation(exponential_less_one(2.0 * strain))
            storage.store(self.momentum, rotated(storage.host(self.momentum), shrunk, grown))
            shrunk = inverse
        storage.store(self._change, np.stack([grown, shrunk]))
        self._deform()
        self.box.set((edges + product(edges, grown))[None])

    def exchange_heat(self, h: float, number: int) -> None:
        """p <- c p + noise, c = exp(-friction h), with the random numbers of a step; the heat is counted."""
        own, d = self.barostat, self.dimension
        if not own.friction:
            return
        decay = np.exp(-own.friction * h)
        width = np.sqrt(own.kT * self.inertia * (1.0 - decay * decay))
        draws = random.normals(own.seed, random.stream("bath/box"), number + self.before, np.arange(d * d))
        old = storage.host(self.momentum).copy()
        new = decay * old + width * own.allowed(draws.reshape(d, d))
        storage.store(self.momentum, new)
        heat = ordered_sum(new * new - old * old) / (2.0 * self.inertia)
        storage.store(self.given, storage.host(self.given) + heat)

    def _push(self, h: float, by: np.ndarray) -> None:
        storage.store(self.momentum, storage.host(self.momentum) + h * self.barostat.allowed(by))

    def _deformation(self) -> Code:
        """x <- x + x D, v <- v + v D', for the changes D and D' in `change`."""
        pieces, axes = [], range(self.dimension)
        for pair in self._pairs:
            for which, field in enumerate(pair):
                name = f"f_{field.name}"
                text = f"for n in range({name}.shape[0]):\n"
                text += "".join(f"    old_{a} = ti.f64({name}[n, {a}])\n" for a in axes)
                for b in axes:
                    change = " + ".join(f"old_{a} * change[{which}, {a}, {b}]" for a in axes)
                    text += f"    {name}[n, {b}] = {real(field.dtype)}(old_{b} + ({change}))\n"
                pieces.append(Code(text, {name: field.array, "change": self._change}))
        return Code.joined(pieces)


def exponential_less_one(strain: np.ndarray) -> np.ndarray:
    """e^strain - 1 of a small matrix (below `LARGEST`), by its series, to the last digit."""
    term, total, k = strain, strain, 1
    while np.abs(term).max() > 1e-18 * np.abs(strain).max():
        k += 1
        term = product(term, strain) / k
        total = total + term
    return total
