"""Drifts along Kepler orbits about a dominant mass, and kicks by the rest of the energy, as code.

    q, u <- Kepler orbits for a time h      v <- v - h (dU/dx - dU_Kepler/dx) / m      (`kepler_splitting`)

Everything is computed in double precision, by one thread: work arrays have a column for each body. Drifts
and kicks add changes to x and v by compensated sums, whose errors are saved with the state, so that rounding
is of the size of changes, not of places.

Decisions 0115, 0341.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from minusgrad.plugin import Code, Consumer, Motion, PartFlow, Potential, lanes, real, storage

from .compensated_sums import added
from .jacobi_coordinates import dot, inward, loop, outward, vector
from .universal_anomaly import SOLUTION
from .universal_lanes import WIDE, columns, drift_lanes


class KeplerFlow(PartFlow):
    """U_Kepler of a motion whose gravity has the strength G of a term, and the code that uses it.

    central: the node of the dominant mass. term, strength: the term of gravity and its parameter G.
    """

    name = "wisdom_holman"
    consumer = Consumer(name, {"friction", "far pairs", "time"}, cure="use leapfrog or yoshida6")
    slow = "one thread takes its drifts along Kepler orbits"

    def __init__(self, potential: Potential, motion: Motion, central: int, term: str, strength: str):
        self.potential, self.motion, self.central = potential, motion, central
        self.term, self.strength = term, f"{term}.{strength}"
        self.parameters = [self.strength]
        x = potential.fields[motion.position]
        self.x, self.v, self.mass_field = motion.position, motion.velocity, str(motion.inertia)
        n, self.d = x.values.shape
        self.kind = real(x.dtype)
        self._G, at = potential.kernels[term].emitter.parameter_place(strength)
        self.G = f"ti.f64(kepler_G[{at}])"
        order = np.array([central, *(k for k in range(n) if k != central)], np.int32)
        self.arrays: dict[str, Any] = {"kepler_order": storage.allocate(order)}
        for name in ("q", "u", "y", "s", "dq", "du", "ds", "lq", "lu", "ly"):
            self.arrays[f"kepler_{name}"] = storage.allocate(np.zeros(self.d * columns(n)))
        for name in ("M", "dM", "lf", "lM", "lm"):
            self.arrays[f"kepler_{name}"] = storage.allocate(np.zeros(columns(n)))
        self.arrays["kepler_dG"] = storage.allocate(np.zeros(1))
        self.arrays["kepler_one"] = storage.allocate(np.ones(1))
        new = partial(storage.allocate, np.zeros(self.d * columns(n)))
        self.rests = {f"rest {field}": new() for field in (self.x, self.v)}
        self.arrays |= {f"rest_{name[5:]}": array for name, array in self.rests.items()} | {"kepler_a": new()}
        self.state = self.rests | {f"gradient/{self.x} of the rest per mass": self.arrays["kepler_a"]}
        self.statements = 400.0 * n

    def begin(self) -> None:
        """Begin compensated sums at the present fields."""
        for array in self.rests.values():
            array.fill(0)

    def drift(self) -> Code:
        """(x, v) after a time `h` of kinetic energy and U_Kepler."""
        body = inward(self._state_arrays, self._mass, self.d) + self._drift_text()
        body += vector("kR{c} = h * kV{c}\nkV{c} = ti.f64(0.0)", self.d)
        return self._code(body + outward(self._state_arrays, self._mass, self.d, self._added_text))

    def rest(self, gradient: Any) -> Code:
        """(dU/dx - dU_Kepler/dx) / m at the present x, for kicks; gradient: the array of dU/dx."""
        line = f"kepler_a[{{c}} * kw + kj] = (ti.f64(g_{self.x}[ki, {{c}}]) - kt{{c}}) * kper"
        use = f"kper = 1.0 / {self._mass64}\n" + vector(line, self.d)
        return self._code(self._gradient_text() + self._outpull_text("s", use), {f"g_{self.x}": gradient})

    def kick(self) -> Code:
        """v <- v - h (dU/dx - dU_Kepler/dx) / m, as `rest` computed it."""
        added = self._added_text(f"f_{self.v}", "kper * kepler_a[{c} * kw + kj]")
        return self._code(
            "kper = -h\n" + loop("kj", "0, kepler_order.shape[0]", "ki = kepler_order[kj]\n" + added)
        )

    # Pieces

    @property
    def _state_arrays(self) -> list[tuple[str, str, str]]:
        return [("R", f"f_{self.x}", "q"), ("V", f"f_{self.v}", "u")]

    @property
    def _place_arrays(self) -> list[tuple[str, str, str]]:
        return [("R", f"f_{self.x}", "q")]

    @property
    def _mass(self) -> str:
        return f"f_{self.mass_field}[ki]"

    @property
    def _mass64(self) -> str:
        return f"ti.f64({self._mass})"

    def _each(self, body: str) -> str:
        return loop("kj", "1, kepler_order.shape[0]", body)

    def _solve_text(self) -> str:
        q, u = "kepler_q[{c} * kw + kj]", "kepler_u[{c} * kw + kj]"
        numbers = f"k_qq = {dot(q, q, self.d)}\nk_qu = {dot(q, u, self.d)}\nk_uu = {dot(u, u, self.d)}\n"
        return f"kmu = {self.G} * kepler_M[kj]\n{numbers}{SOLUTION}"

    def _put_text(self, array: str, value: str) -> str:
        """A value stored in row ki of an array."""
        return vector(f"{array}[ki, {{c}}] = {self.kind}({value})", self.d)

    def _added_text(self, array: str, change: str) -> str:
        """A change added to row ki of a field (f_x, f_v), in a compensated sum."""
        return vector(
            added(array, f"rest_{array[2:]}", "ki, {c}", "{c} * kw + kj", change, self.kind), self.d
        )

    def _drift_text(self) -> str:
        """In place of q and u their changes in a Kepler drift: of all bodies at once, if there are lanes."""
        text = vector("kt{c} = kepler_q[{c} * kw + kj]\nks{c} = kepler_u[{c} * kw + kj]", self.d)
        text += vector("kepler_q[{c} * kw + kj] = kF * kt{c} + kg * ks{c}", self.d)
        one = (
            self._solve_text() + text + vector("kepler_u[{c} * kw + kj] = kFd * kt{c} + kGd * ks{c}", self.d)
        )
        return drift_lanes(self.G, self.d, one) if lanes(np.float64) == WIDE else self._each(one)

    def _gradient_text(self) -> str:
        """k q / r^3 in Jacobi coordinates, into `kepler_s`."""
        q = "kepler_q[{c} * kw + kj]"
        each = f"""\
ki = kepler_order[kj]
kr = ti.sqrt({dot(q, q, self.d)})
kk = {self.G} * {self._mass64} * (kepler_M[kj] - {self._mass64}) / (kr * kr * kr)
"""
        each += vector("kepler_s[{c} * kw + kj] = kk * kepler_q[{c} * kw + kj]", self.d)
        return inward(self._place_arrays, self._mass, self.d) + loop("kj", "1, kepler_order.shape[0]", each)

    def _outpull_text(self, s: str, use: str, dm: str = "") -> str:
        """From a gradient in Jacobi coordinates to that in x: the locals kt (and kdt) for `use`."""
        d = self.d
        text = vector("klR{c} = ti.f64(0.0)" + ("\nkldR{c} = ti.f64(0.0)" if dm else ""), d)
        body = (
            f"kj = kepler_order.shape[0] - kback\nki = kepler_order[kj]\nkf = {self._mass64} / kepler_M[kj]\n"
        )
        if dm:
            body += f"kdf = (ti.f64({dm}) - kf * kepler_dM[kj]) / kepler_M[kj]\n"
            body += vector(f"kdt{{c}} = kepler_d{s}[{{c}} * kw + kj] + kf * kldR{{c}} + kdf * klR{{c}}", d)
            body += vector("kldR{c} = kldR{c} - kdt{c}", d)
        body += vector(f"kt{{c}} = kepler_{s}[{{c}} * kw + kj] + kf * klR{{c}}", d)
        body += vector("klR{c} = klR{c} - kt{c}", d) + use
        text += loop("kback", "1, kepler_order.shape[0]", body) + "ki = kepler_order[0]\n"
        last = vector("kt{c} = klR{c}" + ("\nkdt{c} = kldR{c}" if dm else ""), d)
        return text + "kj = 0\n" + last + use

    def _code(self, body: str, more: Mapping[str, Any] | None = None) -> Code:
        """One loop of one turn, on one thread."""
        fields = self.potential.fields
        known = {f"f_{n}": fields[n].array for n in (self.x, self.v, self.mass_field)} | self.arrays
        known |= {"kepler_G": self._G} | dict(more or {})
        arrays = {name: array for name, array in known.items() if name + "[" in body or name + "." in body}
        return Code(
            loop("kwhole", "1", "kw = kepler_M.shape[0]\n" + body),
            arrays | {"kepler_M": self.arrays["kepler_M"]},
        )
