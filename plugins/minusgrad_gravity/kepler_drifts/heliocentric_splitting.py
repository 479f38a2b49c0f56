"""The Kepler part of the energy in democratic heliocentric coordinates, as code: drift, jump, kick.

    q_i = x_i - x_0,   u_i = v_i - V,   R, V: centre of mass;    H = P^2 / 2M + H_K + H_J + the rest
    H_K = sum_i m_i u_i^2 / 2 - G m_0 m_i / |q_i|            Kepler orbits with mu = G m_0
    H_J = |sum_i m_i u_i|^2 / (2 m_0)                        jump: q_i <- q_i + h S,  S = sum_i m_i u_i / m_0

(Duncan, Levison & Lee 1998, AJ 116, 2067.) Bodies need no order. A drift is a jump of half its length, Kepler
orbits, and another such jump; kicks take the gradient of all energies less that of -G m_0 m_i / |q_i|. So a
drift is symmetric, and not the exact flow of kinetic energy and Kepler part: schemes for small perturbations
and correctors, which need that, are refused with it (`central_mass`).

Local names as in `jacobi_coordinates`; `km0` is the dominant mass. Elements of its node are read and written
in loops over all nodes (`_loop_over_all`): in a kernel of many steps an element at an index that no loop
changes had a stale value after a write through another index that was the same.

Decisions 0343.
"""

from collections.abc import Mapping
from typing import Any

from minusgrad.plugin import Code

from .jacobi_coordinates import dot, loop, vector
from .kepler_splitting import KeplerSplitting, Rows, Strength

Q, U = "kepler_q[{c} * kw + kj]", "kepler_u[{c} * kw + kj]"
DQ, DU = "kepler_dq[{c} * kw + kj]", "kepler_du[{c} * kw + kj]"
LQ, LU = "kepler_lq[{c} * kw + kj]", "kepler_lu[{c} * kw + kj]"


class HeliocentricSplitting(KeplerSplitting):
    """`KeplerSplitting` in democratic heliocentric coordinates."""

    inexact = ("democratic heliocentric coordinates", 'coordinates = "jacobi"')

    # Forward

    def drift(self) -> Code:
        d = self.d
        body = self._inward_text() + self._jump_text() + self._drift_text()
        # dS = sum m du / m_0, the jumps of both halves, dT = sum m dq / M
        body += self._zero_vector("kdS") + self._loop_over_others(
            vector(f"kdS{{c}} = kdS{{c}} + km / km0 * {U}", d)
        )
        jumps = vector(f"{Q} = {Q} + h * (kS{{c}} + 0.5 * kdS{{c}})\nkT{{c}} = kT{{c}} + km / kM * {Q}", d)
        body += self._zero_vector("kT") + self._loop_over_others(jumps)
        use = self._choose_vector("kt", "h * kV{c} - kT{c}", f"h * kV{{c}} - kT{{c}} + {Q}")
        use += self._choose_vector("ks", "-kdS{c}", U)
        use += self._added_text(f"f_{self.x}", "kt{c}") + self._added_text(f"f_{self.v}", "ks{c}")
        return self._code(body + self._loop_over_all(use))

    def rest(self, gradient: Any) -> Code:
        d = self.d
        each = self._pull_locals() + vector(f"kepler_s[{{c}} * kw + kj] = {self.G} * km0 * kc{{c}}", d)
        each += vector(f"kS{{c}} = kS{{c}} + {self.G} * km * kc{{c}}", d)
        use = self._choose_vector("kt", "-kS{c}", "kepler_s[{c} * kw + kj]") + "kper = 1.0 / km\n"
        use += vector(f"kepler_a[{{c}} * kw + kj] = ti.f64(g_{self.x}[ki, {{c}}]) * kper - kt{{c}}", d)
        body = (
            self._origin_locals(("x", f"f_{self.x}"))
            + self._zero_vector("kS")
            + self._each(each)
            + self._loop_over_all(use)
        )
        return self._code(body, {f"g_{self.x}": gradient})

    # Tangents

    def drift_tangent(self, tangents: Mapping[str, Any]) -> Code:
        moved = self._each(self._solve_text() + self._moved_tangent() + self._moved())
        body = self._inward_text(tangents) + self._jump_text(tangents) + moved + self._jump_text(tangents)
        return self._code(body + self._outward_text(tangents), self._along(tangents))

    def kick_tangent(self, tangents: Mapping[str, Any]) -> Code:
        d, dm = self.d, self._dm(tangents)
        each = self._pull_locals(("dq", "w", f"w_{self.x}"))
        each += f"kdm = ti.f64({dm})\nkqy = {dot(Q, DQ, d)}\n"
        each += vector(f"kdc{{c}} = kcube * ({DQ} - 3.0 * kqy / (kr * kr) * {Q})", d)
        for into, mass, change in (("kh", "km0", "kdm0"), ("kb", "km", "kdm")):
            rate = f"(kepler_dG[0] * {mass} + {self.G} * {change}) * kc{{c}} + {self.G} * {mass} * kdc{{c}}"
            each += vector(f"{into}{{c}} = h * ({rate})", d)
        each += vector("kepler_ds[{c} * kw + kj] = kh{c}\nkdS{c} = kdS{c} + kb{c}", d)
        each += vector(f"kepler_s[{{c}} * kw + kj] = h * {self.G} * km0 * kc{{c}}", d)
        each += vector(f"kS{{c}} = kS{{c}} + h * {self.G} * km * kc{{c}}", d)
        body = self._origin_locals(("x", f"f_{self.x}"), ("w", f"w_{self.x}"), dm=dm)
        body += self._zero_vector("kS") + self._zero_vector("kdS") + self._each(each)
        use = self._choose_vector("kt", "-kS{c}", "kepler_s[{c} * kw + kj]") + self._add_to_array(
            f"f_{self.v}", "kt"
        )
        use += self._choose_vector("ks", "-kdS{c}", "kepler_ds[{c} * kw + kj]") + self._add_to_array(
            f"w_{self.v}", "ks"
        )
        return self._code(body + self._loop_over_all(use), self._along(tangents))

    # Adjoints

    def drift_adjoint(self, adjoints: Mapping[str, Any], parameters: Rows) -> Code:
        strength = parameters.get(self.strength)
        d, masses = self.d, self.mass_field in adjoints
        kept = vector(f"{DQ} = {Q}\n{DU} = {U}", d)
        body = self._clear() + self._inward_text() + self._jump_text()
        body += self._each(self._solve_text() + kept + self._moved()) + self._jump_text()
        body += self._outward_adjoint() + self._jump_adjoint()
        back = vector(f"{Q} = {DQ}\n{U} = {DU}", d) + self._solve_text()
        body += self._each(back + self._pulled_text(masses or strength is not None))
        body += self._sum_of_momenta() + self._jump_adjoint() + self._inward_adjoint()
        body += self._parameters_adjoint(f"l_{self.mass_field}" if masses else None, "+", strength)
        return self._code(body, self._adjoint_arrays(adjoints, strength))

    def kick_adjoint(self, kicked: Any, product: Mapping[str, Any], force: Any, parameters: Rows) -> Code:
        strength = parameters.get(self.strength)
        d, masses = self.d, self.mass_field in product
        y = "kepler_y[{c} * kw + kj]"
        each = self._pull_locals(("y", "w", f"w_{self.x}"))
        each += f"kqy = {dot(Q, y, d)}\nkk = {self.G} * km0 * km * kcube\n"
        each += f"kepler_lm[kj] = {self.G} * km0 * kqy * kcube\n"
        each += f"klm = klm + {self.G} * km * kqy * kcube\nkpull = kpull + km0 * km * kqy * kcube\n"
        each += vector(f"{LQ} = kk * ({y} - 3.0 * kqy / (kr * kr) * {Q})\nkS{{c}} = kS{{c}} + {LQ}", d)
        each += vector(f"{LU} = kk * {Q}\nkT{{c}} = kT{{c}} + {LU}", d)
        use = self._choose_vector("kt", "-kS{c}", LQ) + self._add_to_array(f"h_{self.x}", "kt", "-")
        arrays = {f"w_{self.x}": kicked, f"h_{self.x}": product[self.x]}
        if force is not None:
            use += self._choose_vector("ks", "-kT{c}", LU) + self._add_to_array(f"g_{self.x}", "ks", "-")
            arrays[f"g_{self.x}"] = force
        body = self._clear() + self._origin_locals(("x", f"f_{self.x}"), ("w", f"w_{self.x}"))
        body += (
            self._zero_vector("kS") + self._zero_vector("kT") + self._each(each) + self._loop_over_all(use)
        )
        body += self._parameters_adjoint(f"h_{self.mass_field}" if masses else None, "-", strength)
        arrays |= {f"h_{self.mass_field}": product[self.mass_field]} if masses else {}
        return self._code(body, arrays | (dict([strength]) if strength else {}))

    # Coordinates

    def _zero_vector(self, name: str) -> str:
        return vector(f"{name}{{c}} = ti.f64(0.0)", self.d)

    def _loop_over_all(self, body: str) -> str:
        """A loop over all bodies, the dominant one first."""
        return loop("kj", "0, kepler_order.shape[0]", f"ki = kepler_order[kj]\nkm = {self._mass64}\n" + body)

    def _loop_over_others(self, body: str) -> str:
        """A loop over all others."""
        return self._each(f"ki = kepler_order[kj]\nkm = {self._mass64}\n" + body)

    def _choose_vector(self, into: str, first: str, others: str) -> str:
        """A vector of locals: one text at the dominant body, another at the others; inside
        `_loop_over_all`."""
        text = vector(f"{into}{{c}} = {first}", self.d)
        return text + "if kj > 0:\n" + vector(f"    {into}{{c}} = {others}", self.d)

    def _add_to_array(self, array: str, values: str, sign: str = "+") -> str:
        line = f"{array}[ki, {{c}}] = {array}[ki, {{c}}] {sign} {self.kind}({values}{{c}})"
        return vector(line, self.d)

    def _origin_locals(self, *pairs: tuple[str, str], dm: str = "") -> str:
        """The dominant mass and its rows of arrays, as locals `ko` and a letter; its tangent kdm0."""
        text = "km0 = ti.f64(1.0)\nkdm0 = ti.f64(0.0)\n" + "".join(
            self._zero_vector(f"ko{s}") for s, _ in pairs
        )
        each = "if kj == 0:\n    km0 = km\n" + (f"    kdm0 = ti.f64({dm})\n" if dm else "")
        for s, array in pairs:
            each += vector(f"    ko{s}{{c}} = ti.f64({array}[ki, {{c}}])", self.d)
        return text + self._loop_over_all(each)

    def _pull_locals(self, *more: tuple[str, str, str]) -> str:
        """For body kj: q, and arrays less those of the dominant node; kr, kcube = 1 / kr^3, kc = q / r^3."""
        text = f"ki = kepler_order[kj]\nkm = {self._mass64}\n"
        for own, s, array in (("q", "x", f"f_{self.x}"), *more):
            text += vector(f"kepler_{own}[{{c}} * kw + kj] = ti.f64({array}[ki, {{c}}]) - ko{s}{{c}}", self.d)
        text += f"kr = ti.sqrt({dot(Q, Q, self.d)})\nkcube = 1.0 / (kr * kr * kr)\n"
        return text + vector(f"kc{{c}} = kcube * {Q}", self.d)

    def _inward_text(self, tangents: Mapping[str, Any] | None = None) -> str:
        """Centre of mass in kR, kV, kM; q, u and mu / G; with their tangents."""
        d, x, v = self.d, f"ti.f64(f_{self.x}[ki, {{c}}])", f"ti.f64(f_{self.v}[ki, {{c}}])"
        dm = "" if tangents is None else self._dm(tangents)
        pairs = [("x", f"f_{self.x}"), *([("w", f"w_{self.x}")] if dm else [])]
        text = (
            self._origin_locals(*pairs, dm=dm)
            + "kM = ti.f64(0.0)\n"
            + self._zero_vector("kR")
            + self._zero_vector("kV")
        )
        sums = "kM = kM + km\n" + vector(f"kR{{c}} = kR{{c}} + km * {x}\nkV{{c}} = kV{{c}} + km * {v}", d)
        text += self._loop_over_all(sums) + vector("kR{c} = kR{c} / kM\nkV{c} = kV{c} / kM", d)
        each = "kepler_M[kj] = km0\n" + vector(f"{Q} = {x} - kox{{c}}\n{U} = {v} - kV{{c}}", d)
        if not dm:
            return text + self._loop_over_others(each)
        wx, wv = f"ti.f64(w_{self.x}[ki, {{c}}])", f"ti.f64(w_{self.v}[ki, {{c}}])"
        text += "kdM = ti.f64(0.0)\n" + self._zero_vector("kdR") + self._zero_vector("kdV")
        sums = f"kdm = ti.f64({dm})\nkdM = kdM + kdm\n"
        sums += vector(f"kdR{{c}} = kdR{{c}} + km * {wx} + kdm * ({x} - kR{{c}})", d)
        sums += vector(f"kdV{{c}} = kdV{{c}} + km * {wv} + kdm * ({v} - kV{{c}})", d)
        text += self._loop_over_all(sums) + vector("kdR{c} = kdR{c} / kM\nkdV{c} = kdV{c} / kM", d)
        each += "kepler_dM[kj] = kdm0\n" + vector(f"{DQ} = {wx} - kow{{c}}\n{DU} = {wv} - kdV{{c}}", d)
        return text + self._loop_over_others(each)

    def _sum_of_momenta(self, tangents: Mapping[str, Any] | None = None) -> str:
        """kS = sum m u / m_0, and its tangent kdS."""
        d = self.d
        text, each = self._zero_vector("kS"), vector(f"kS{{c}} = kS{{c}} + km * {U}", d)
        end = vector("kS{c} = kS{c} / km0", d)
        if tangents is not None:
            text += self._zero_vector("kdS")
            each += f"kdm = ti.f64({self._dm(tangents)})\n"
            each += vector(f"kdS{{c}} = kdS{{c}} + km * {DU} + kdm * {U}", d)
            end += vector("kdS{c} = (kdS{c} - kdm0 * kS{c}) / km0", d)
        return text + self._loop_over_others(each) + end

    def _jump_text(self, tangents: Mapping[str, Any] | None = None) -> str:
        """q <- q + (h / 2) S"""
        each = vector(f"{Q} = {Q} + 0.5 * h * kS{{c}}", self.d)
        if tangents is not None:
            each += vector(f"{DQ} = {DQ} + 0.5 * h * kdS{{c}}", self.d)
        return self._sum_of_momenta(tangents) + self._each(each)

    def _mean_text(self) -> str:
        """kT = sum m q / M"""
        each = vector(f"kT{{c}} = kT{{c}} + km * {Q}", self.d)
        return self._zero_vector("kT") + self._loop_over_others(each) + vector("kT{c} = kT{c} / kM", self.d)

    def _outward_text(self, tangents: Mapping[str, Any] | None = None) -> str:
        """x and v after a time h of the centre of mass."""
        d, kind = self.d, self.kind
        text = self._mean_text() + self._sum_of_momenta(tangents)
        use = self._choose_vector("kt", "kR{c} + h * kV{c} - kT{c}", f"kR{{c}} + h * kV{{c}} - kT{{c}} + {Q}")
        use += self._choose_vector("ks", "kV{c} - kS{c}", f"kV{{c}} + {U}")
        use += vector(f"f_{self.x}[ki, {{c}}] = {kind}(kt{{c}})\nf_{self.v}[ki, {{c}}] = {kind}(ks{{c}})", d)
        if tangents is not None:
            sums = f"kdm = ti.f64({self._dm(tangents)})\n"
            sums += vector(f"kdT{{c}} = kdT{{c}} + km * {DQ} + kdm * ({Q} - kT{{c}})", d)
            text += self._zero_vector("kdT") + self._loop_over_others(sums)
            # dT of the sum with its own weight: the dominant body has q = 0
            text += vector("kdT{c} = kdR{c} + h * kdV{c} - (kdT{c} - kdm0 * kT{c}) / kM", d)
            use += self._choose_vector("kt", "kdT{c}", f"kdT{{c}} + {DQ}")
            use += self._choose_vector("ks", "kdV{c} - kdS{c}", f"kdV{{c}} + {DU}")
            w = f"w_{self.x}[ki, {{c}}] = {kind}(kt{{c}})\nw_{self.v}[ki, {{c}}] = {kind}(ks{{c}})"
            use += vector(w, d)
        return text + self._loop_over_all(use)

    # Their adjoints: l_q, l_u; klR, klV of the centre of mass; lm of masses, klm of the dominant one

    def _clear(self) -> str:
        return super()._clear() + "klm = ti.f64(0.0)\n"

    def _outward_adjoint(self) -> str:
        d, lx, lv = self.d, f"ti.f64(l_{self.x}[ki, {{c}}])", f"ti.f64(l_{self.v}[ki, {{c}}])"
        text = self._mean_text() + self._sum_of_momenta()
        text += self._zero_vector("klR") + self._zero_vector("klV") + self._zero_vector("kl")
        sums = vector(f"klR{{c}} = klR{{c}} + {lx}\nklV{{c}} = klV{{c}} + {lv}", d)
        text += self._loop_over_all(sums + "if kj == 0:\n" + vector(f"    kl{{c}} = {lv}", d))
        each = vector(f"{LQ} = {lx} - km / kM * klR{{c}}\n{LU} = {lv} - km / km0 * kl{{c}}", d)
        each += vector(f"kt{{c}} = {Q} - kT{{c}}", d)
        each += f"kepler_lm[kj] = -{dot('klR{c}', 'kt{c}', d)} / kM - {dot('kl{c}', U, d)} / km0\n"
        text += self._loop_over_others(each)
        text += f"klm = klm + {dot('klR{c}', 'kT{c}', d)} / kM + {dot('kl{c}', 'kS{c}', d)} / km0\n"
        return text + vector("klV{c} = klV{c} + h * klR{c}", d)

    def _jump_adjoint(self) -> str:
        """By u and kS at the jump."""
        d = self.d
        text = self._zero_vector("kT") + self._each(vector(f"kT{{c}} = kT{{c}} + 0.5 * h * {LQ}", d))
        each = vector(f"{LU} = {LU} + km / km0 * kT{{c}}", d)
        each += f"kepler_lm[kj] = kepler_lm[kj] + {dot('kT{c}', U, d)} / km0\n"
        return text + self._loop_over_others(each) + f"klm = klm - {dot('kT{c}', 'kS{c}', d)} / km0\n"

    def _inward_adjoint(self) -> str:
        d, x, v = self.d, f"ti.f64(f_{self.x}[ki, {{c}}])", f"ti.f64(f_{self.v}[ki, {{c}}])"
        lx, lv, kind = f"l_{self.x}", f"l_{self.v}", self.kind
        text = self._zero_vector("kT")
        text += self._each(vector(f"kT{{c}} = kT{{c}} + {LQ}\nklV{{c}} = klV{{c}} - {LU}", d))
        use = self._choose_vector("kt", "-kT{c}", LQ) + self._choose_vector("ks", "ti.f64(0.0)", LU)
        use += vector(f"{lx}[ki, {{c}}] = {kind}(kt{{c}} + km / kM * klR{{c}})", d)
        use += vector(f"{lv}[ki, {{c}}] = {kind}(ks{{c}} + km / kM * klV{{c}})", d)
        use += vector(f"kt{{c}} = {x} - kR{{c}}\nks{{c}} = {v} - kV{{c}}", d)
        use += f"kk = ({dot('klR{c}', 'kt{c}', d)} + {dot('klV{c}', 'ks{c}', d)}) / kM\n"
        use += "if kj == 0:\n    klm = klm + kk\nelse:\n    kepler_lm[kj] = kepler_lm[kj] + kk\n"
        return text + self._loop_over_all(use)

    def _parameters_adjoint(self, into: str | None, sign: str, strength: Strength) -> str:
        """To an array of masses, from lm, klm and `kepler_lM`, of mu / G; and to that of G."""
        text = ""
        if into is not None:
            text += self._each("klm = klm + kepler_lM[kj]\n")
            use = "kk = klm\nif kj > 0:\n    kk = kepler_lm[kj]\n"
            text += self._loop_over_all(use + f"{into}[ki] = {into}[ki] {sign} {self.kind}(kk)\n")
        return text + ("{0}[0, 0] = {0}[0, 0] + kpull\n".format(strength[0]) if strength else "")
