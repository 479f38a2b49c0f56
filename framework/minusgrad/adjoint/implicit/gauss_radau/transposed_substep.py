"""Code of a Gauss-Radau substep's adjoint: its stage equations, transposed, by iteration.

With a_k = A(x_k, v_k, t_k) at the nodes s_k, and the integrals of Lagrange's polynomials (`quadrature`),

    x_k = x + h s_k v + h^2 sum_j OF_POSITION_kj a_j        v_k = v + h sum_j OF_VELOCITY_kj a_j

and x', v' likewise at s = 1. Given l_x' and l_v', the adjoints mu_j of the a_j and the pulls p_k, q_k of the
nodes solve

    mu_j = h^2 OF_POSITION_8j l_x' + h OF_VELOCITY_8j l_v'
         + sum_(k>0) (h^2 OF_POSITION_kj p_k + h OF_VELOCITY_kj q_k)
    p_k = (dA/dx)' mu_k,   q_k = (dA/dv)' mu_k              by Hessian products along z_k = mu_k / m

    l_x = l_x' + sum_k p_k       l_v = l_v' + h l_x' + sum_k (h s_k p_k + q_k)       l_m = -sum_k a_k z_k

The nodes are taken from the last to the first, each with the newest p and q of the others; the iteration
contracts as the forward one does. h counts as given.

    begin      p, q <- 0
    weigh      z at node `at`, and at the fields `along`
    pull       p and q there, from the products
    finish     l_x, l_v before the substep

Between `weigh` and `pull` the fields are placed (`PlacedSubstep.placed`), and products computed.

Decisions 0248.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....energies.fields import Motion
from ....engine import storage
from ....engine.kernels import Code
from ....steppers.timed.gauss_radau.quadrature import OF_POSITION, OF_VELOCITY, STAGES
from .placed_substep import PlacedSubstep

CONSTANTS = {"of_position": OF_POSITION, "of_velocity": OF_VELOCITY}


class TransposedSubstep(PlacedSubstep):
    """The pieces of code for some motions.

    along: arrays for z, by position. products, slowing: those of dU and dR, by the fields that these read.
    """

    def __init__(
        self,
        fields: Mapping[str, Any],
        motions: Sequence[Motion],
        along: Mapping[str, Any],
        products: Mapping[str, Any],
        slowing: Mapping[str, Any],
    ):
        super().__init__(fields, motions, products, slowing)
        self.along = along
        n = self.arrays["x"].shape[0]
        self.arrays |= {name: storage.allocate(np.zeros(n)) for name in ("u", "z", "lx", "lv", "lm")}
        self.arrays |= {name: storage.allocate(np.zeros((STAGES + 1, n))) for name in ("p", "q")}
        self.arrays |= {name: storage.allocate(values) for name, values in CONSTANTS.items()}

    def begin_transposed(self) -> Code:
        cleared = self._each("".join(f"p[{k}, i] = 0.0\nq[{k}, i] = 0.0\n" for k in range(STAGES + 1)))
        return Code.joined([cleared, self._numbers("{going} = 1.0\n{off} = 1e300\n{status} = 0.0\n")])

    def weigh(self) -> Code:
        begin = f"""\
ih = {{h}}
if at == {STAGES}:
    {{before}} = {{off}}
    {{off}} = 0.0
    {{size}} = 0.0
"""
        total = f"""\
itotal = ih * ih * of_position[8, at] * lx[i] + ih * of_velocity[8, at] * lv[i]
for k in range(1, {STAGES + 1}):
    itotal = itotal + ih * (ih * of_position[k, at] * p[k, i] + of_velocity[k, at] * q[k, i])
z[i] = itotal / mass[i]
"""
        pieces = [self._numbers(begin), self._each(total)]
        for k, motion in enumerate(self.motions):
            name, array = f"z_{motion.position}", self.along[motion.position]
            pieces.append(self._of_motion(k, name, array, [f"{name}[{{at}}] = z[{{i}}]"], {name: array}))
        return Code.joined(pieces)

    def pull(self) -> Code:
        pieces = []
        for k, motion in enumerate(self.motions):
            x, v = motion.position, motion.velocity
            lines, arrays = list[str](), dict[str, Any]()
            for vector, name in (("y", x), ("u", v)):
                parts = {"h": self.forces.get(name), "r": self.friction.get(name)}
                given = {f"{letter}_{name}": a for letter, a in parts.items() if a is not None}
                total = " - ".join(["0.0", *(f"{one}[{{at}}]" for one in given)])
                lines.append(f"{vector}[{{i}}] = {total}")
                arrays |= given
            name, array = f"z_{x}", self.along[x]
            pieces.append(self._of_motion(k, name, array, lines, {name: array, **arrays}))
        changed = """\
if ti.math.isnan(y[i] + u[i]) or ti.math.isinf(y[i] + u[i]):
    {status} = 1.0
if at > 0:
    {off} = ti.max({off}, ti.abs(ih * (y[i] - p[at, i])), ti.abs(u[i] - q[at, i]))
    {size} = ti.max({size}, ti.abs(ih * y[i]), ti.abs(u[i]))
p[at, i] = y[i]
q[at, i] = u[i]
"""
        return Code.joined([*pieces, self._numbers("ih = {h}\n"), self._each(changed)])

    def weigh_inertia(self) -> Code:
        """l_m less a_k z_k at node `at`."""
        return Code.joined([self.accelerated(), self._each("lm[i] = lm[i] - a[i] * z[i]\n")])

    def finish_transposed(self) -> Code:
        text = f"""\
lv[i] = lv[i] + ih * lx[i]
for k in range({STAGES + 1}):
    lx[i] = lx[i] + p[k, i]
    lv[i] = lv[i] + ih * nodes[k] * p[k, i] + q[k, i]
"""
        return Code.joined([self._numbers("ih = {h}\n"), self._each(text)])
