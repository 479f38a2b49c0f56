"""The Kepler part of the energy about a dominant mass, as code: its drift, and its share of the kicks.

    U = U_Kepler + the rest,    U_Kepler = -sum_i G m_i M_{i-1} / |q_i|          q: Jacobi coordinates

Drifts follow kinetic energy and U_Kepler together, each body on its ellipse or hyperbola
(`kepler_flow`); kicks take the rest: the gradient of all energies of the scene, less that of U_Kepler.
So the sum is that of the scene, whatever its energies are, and errors are of the size of the rest times a
power of dt (Wisdom & Holman 1991, AJ 102, 1528).

Decisions 0341.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minusgrad.plugin import Code, storage

from .jacobi_coordinates import (
    dot,
    inward,
    inward_adjoint,
    loop,
    masses_adjoint,
    outward,
    outward_adjoint,
    vector,
)
from .kepler_flow import KeplerFlow
from .universal_anomaly import TANGENT

Rows = Mapping[str, tuple[str, Any]]
"""Of parameters whose adjoints are asked for: the name of the array (1, 1) in the kernel, and the array."""
Strength = tuple[str, Any] | None
"""That of G; None: not asked for."""


class KeplerSplitting(KeplerFlow):
    """`KeplerFlow`, with its tangents and adjoints."""

    # Tangents

    def put_tangents(self, tangents: Mapping[str, np.ndarray]) -> None:
        """Set the tangent of G; zero, if it has none."""
        value = float(np.asarray(tangents.get(self.strength, 0.0)).reshape(-1)[0])
        storage.store(self.arrays["kepler_dG"], np.array([value]))

    def drift_tangent(self, tangents: Mapping[str, Any]) -> Code:
        """`drift`, with the tangents w of x and v, of the masses, and of G in `kepler_dG`."""
        pairs, dm = self._state_arrays, self._dm(tangents)
        body = inward(pairs, self._mass, self.d, dm) + self._each(
            self._solve_text() + self._moved_tangent() + self._moved()
        )
        body += vector("kdR{c} = kdR{c} + h * kdV{c}\nkR{c} = kR{c} + h * kV{c}", self.d)
        body += outward(pairs, self._mass, self.d, self._put_text, dm)
        return self._code(body, self._along(tangents))

    def kick_tangent(self, tangents: Mapping[str, Any]) -> Code:
        """`kick`, with the tangents w."""
        d, dm = self.d, self._dm(tangents)
        q, dq = "kepler_q[{c} * kw + kj]", "kepler_dq[{c} * kw + kj]"
        each = f"""\
ki = kepler_order[kj]
kr = ti.sqrt({dot(q, q, d)})
kdr = {dot(q, dq, d)} / kr
kbefore = kepler_M[kj] - {self._mass64}
kk = {self.G} * {self._mass64} * kbefore / (kr * kr * kr)
kdbefore = kepler_dM[kj] - ti.f64({dm})
kdmm = ti.f64({dm}) * kbefore + {self._mass64} * kdbefore
kdk = (kepler_dG[0] * {self._mass64} * kbefore + {self.G} * kdmm) / (kr * kr * kr) - 3.0 * kk * kdr / kr
"""
        each += vector("kepler_s[{c} * kw + kj] = kk * kepler_q[{c} * kw + kj]", d)
        each += vector(
            "kepler_ds[{c} * kw + kj] = kk * kepler_dq[{c} * kw + kj] + kdk * kepler_q[{c} * kw + kj]", d
        )
        body = inward(self._place_arrays, self._mass, d, dm) + loop("kj", "1, kepler_order.shape[0]", each)
        add = (
            f"kchange = (kdt{{c}} - kt{{c}} * ti.f64({dm}) / {self._mass64}) / {self._mass64}\n"
            f"w_{self.v}[ki, {{c}}] = w_{self.v}[ki, {{c}}] + {self.kind}(h * kchange)\n"
            f"f_{self.v}[ki, {{c}}] = f_{self.v}[ki, {{c}}] + {self.kind}(h * kt{{c}} / {self._mass64})"
        )
        body += self._outpull_text("s", vector(add, d), dm)
        return self._code(body, self._along(tangents))

    # Adjoints

    def drift_adjoint(self, adjoints: Mapping[str, Any], parameters: Rows) -> Code:
        """The adjoints l of x and v before a drift, from those after it, at the state before it.

        Those of the masses are added to, and that of G, if it is given.
        """
        strength = parameters.get(self.strength)
        d, pairs, masses = self.d, self._state_arrays, self.mass_field in adjoints
        body = self._clear() + inward(pairs, self._mass, d)
        # the state after the drift, which the way outward reads
        each = self._solve_text() + vector("kepler_dq[{c} * kw + kj] = kepler_q[{c} * kw + kj]", d)
        each += vector("kepler_du[{c} * kw + kj] = kepler_u[{c} * kw + kj]", d) + self._moved()
        body += self._each(each) + outward_adjoint(pairs, self._mass, d, masses)
        body += vector("klV{c} = klV{c} + h * klR{c}", d)
        back = (
            vector("kepler_q[{c} * kw + kj] = kepler_dq[{c} * kw + kj]", d)
            + vector("kepler_u[{c} * kw + kj] = kepler_du[{c} * kw + kj]", d)
            + self._solve_text()
        )
        body += self._each(back + self._pulled_text(masses or strength is not None))
        to = [("R", f"l_{self.x}[ki, {{c}}]", "lq", "q"), ("V", f"l_{self.v}[ki, {{c}}]", "lu", "u")]
        body += inward_adjoint(to, self._mass, d, masses, self.kind)
        body += self._to_parameters(masses, strength, f"l_{self.mass_field}")
        return self._code(body, self._adjoint_arrays(adjoints, strength))

    def kick_adjoint(self, kicked: Any, product: Mapping[str, Any], force: Any, parameters: Rows) -> Code:
        """Subtract U_Kepler's part from Hessian products along `kicked`, w: those by x, masses and G.

        product: the products by field. force: the gradient, from which that of U_Kepler is subtracted.
        parameters: of G, from whose adjoint the product by G was subtracted.
        """
        strength = parameters.get(self.strength)
        d, masses = self.d, self.mass_field in product
        q, y = "kepler_q[{c} * kw + kj]", "kepler_y[{c} * kw + kj]"
        pairs = [("R", f"f_{self.x}", "q"), ("V", f"w_{self.x}", "y")]
        each = f"""\
ki = kepler_order[kj]
kr = ti.sqrt({dot(q, q, d)})
kbefore = kepler_M[kj] - {self._mass64}
kcube = 1.0 / (kr * kr * kr)
kk = {self.G} * {self._mass64} * kbefore * kcube
kqy = {dot(q, y, d)}
kepler_lm[kj] = {self.G} * kbefore * kqy * kcube - {self.G} * {self._mass64} * kqy * kcube
kepler_lM[kj] = {self.G} * {self._mass64} * kqy * kcube
kpull = kpull + {self._mass64} * kbefore * kqy * kcube
"""
        each += vector("kepler_lu[{c} * kw + kj] = kk * kepler_q[{c} * kw + kj]", d)
        each += vector(
            f"kepler_lq[{{c}} * kw + kj] = kk * ({y} - 3.0 * kqy / (kr * kr) * {q})",
            d,
        )
        body = self._clear() + "kpull = ti.f64(0.0)\n" + inward(pairs, self._mass, d)
        body += loop("kj", "1, kepler_order.shape[0]", each)
        body += vector("klR{c} = ti.f64(0.0)\nklV{c} = ti.f64(0.0)", d)
        to = [("R", "kepler_dq[{c} * kw + ki]", "lq", "q"), ("V", "kepler_du[{c} * kw + ki]", "lu", "y")]
        body += inward_adjoint(to, self._mass, d, masses, "ti.f64")
        lines = vector(
            f"h_{self.x}[kn, {{c}}] = h_{self.x}[kn, {{c}}] - {self.kind}(kepler_dq[{{c}} * kw + kn])", d
        )
        arrays = {f"w_{self.x}": kicked} | {f"h_{n}": a for n, a in product.items() if n == self.x}
        if force is not None:
            lines += vector(
                f"g_{self.x}[kn, {{c}}] = g_{self.x}[kn, {{c}}] - {self.kind}(kepler_du[{{c}} * kw + kn])", d
            )
            arrays |= {f"g_{self.x}": force}
        body += loop("kn", "0, kepler_order.shape[0]", lines)
        if masses:
            body += masses_adjoint(self._mass, f"h_{self.mass_field}", "-").replace(
                "- (k", f"- {self.kind}(k"
            )
            arrays |= {f"h_{self.mass_field}": product[self.mass_field]}
        if strength is not None:
            body += "{0}[0, 0] = {0}[0, 0] + kpull\n".format(strength[0])
            arrays |= dict([strength])
        return self._code(body, arrays)

    # Pieces

    def _dm(self, tangents: Mapping[str, Any]) -> str:
        return f"w_{self.mass_field}[ki]" if self.mass_field in tangents else "0.0"

    def _along(self, tangents: Mapping[str, Any]) -> dict[str, Any]:
        return {f"w_{n}": tangents[n] for n in (self.x, self.v, self.mass_field) if n in tangents}

    def _adjoint_arrays(self, adjoints: Mapping[str, Any], strength: Strength) -> dict[str, Any]:
        arrays = {f"l_{n}": adjoints[n] for n in (self.x, self.v, self.mass_field) if n in adjoints}
        return arrays | (dict([strength]) if strength else {})

    def _moved(self) -> str:
        text = vector("kt{c} = kepler_q[{c} * kw + kj]\nks{c} = kepler_u[{c} * kw + kj]", self.d)
        text += vector("kepler_q[{c} * kw + kj] = kt{c} + (kF * kt{c} + kg * ks{c})", self.d)
        return text + vector("kepler_u[{c} * kw + kj] = ks{c} + (kFd * kt{c} + kGd * ks{c})", self.d)

    def _moved_tangent(self) -> str:
        d, q, u = self.d, "kepler_q[{c} * kw + kj]", "kepler_u[{c} * kw + kj]"
        dq, du = "kepler_dq[{c} * kw + kj]", "kepler_du[{c} * kw + kj]"
        text = (
            f"t_r0 = {dot(q, dq, d)} / kr0\nt_qu = {dot(dq, u, d)} + {dot(q, du, d)}\nt_w = {dot(u, du, d)}\n"
        )
        text += f"t_mu = kepler_dG[0] * kepler_M[kj] + {self.G} * kepler_dM[kj]\n{TANGENT}"
        text += vector(f"kt{{c}} = {dq}\nks{{c}} = {du}", d)
        text += vector(f"{dq} = kt{{c}} + kF * kt{{c}} + t_F * {q} + kg * ks{{c}} + t_g * {u}", d)
        return text + vector(f"{du} = ks{{c}} + kFd * kt{{c}} + t_Fd * {q} + kGd * ks{{c}} + t_Gd * {u}", d)

    def _pulled_text(self, parameters: bool) -> str:
        """l_q and l_u before a Kepler drift: the tangents along the four numbers, transposed."""
        d, q, u = self.d, "kepler_q[{c} * kw + kj]", "kepler_u[{c} * kw + kj]"
        lq, lu = "kepler_lq[{c} * kw + kj]", "kepler_lu[{c} * kw + kj]"
        text = vector(f"kt{{c}} = {lq}\nks{{c}} = {lu}", d)
        text += vector(f"{lq} = kt{{c}} + kF * kt{{c}} + kFd * ks{{c}}", d)
        text += vector(f"{lu} = ks{{c}} + kg * kt{{c}} + kGd * ks{{c}}", d)
        text += f"ka = {dot('kt{c}', q, d)}\nkb1 = {dot('kt{c}', u, d)}\n"
        text += f"kc1 = {dot('ks{c}', q, d)}\nkd1 = {dot('ks{c}', u, d)}\n"
        numbers = ("t_r0", "t_qu", "t_w", "t_mu")
        takes = (
            vector(f"{lq} = {lq} + ksum * {q} / kr0", d),
            vector(f"{lq} = {lq} + ksum * {u}\n{lu} = {lu} + ksum * {q}", d),
            vector(f"{lu} = {lu} + ksum * {u}", d),
            f"kepler_lM[kj] = kepler_lM[kj] + {self.G} * ksum\nkpull = kpull + kepler_M[kj] * ksum\n",
        )
        chosen = list(zip(numbers, takes, strict=True))[: 4 if parameters else 3]
        for number, take in chosen:
            text += "".join(f"{n} = ti.f64({1.0 if n == number else 0.0})\n" for n in numbers)
            text += TANGENT + "ksum = ka * t_F + kb1 * t_g + kc1 * t_Fd + kd1 * t_Gd\n" + take
        return text

    def _clear(self) -> str:
        zero = "".join(f"kepler_{n}[kj] = 0.0\n" for n in ("lf", "lM", "lm"))
        return loop("kj", "0, kepler_order.shape[0]", zero) + "kpull = ti.f64(0.0)\n"

    def _to_parameters(self, masses: bool, strength: Strength, into: str) -> str:
        text = masses_adjoint(self._mass, into).replace("+ (k", f"+ {self.kind}(k") if masses else ""
        return text if strength is None else text + "{0}[0, 0] = {0}[0, 0] + kpull\n".format(strength[0])
