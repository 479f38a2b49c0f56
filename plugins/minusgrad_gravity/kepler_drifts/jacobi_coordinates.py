"""Jacobi coordinates as text of kernels: from positions to them and back, with tangents and adjoints.

    q_i = x_i - R_{i-1},   R_i = R_{i-1} + (m_i / M_i) q_i,   R_0 = x_0,   M_i = m_0 + ... + m_i

x_0 is the central body's, the others follow in the order of the nodes; R_i is the centre of mass of the
bodies up to i, R_{n-1} that of all. Velocities transform alike. H = (P^2 / 2 M) + sum_i H_i + the rest, with

    H_i = p_i^2 / (2 m'_i) - G m_i M_{i-1} / |q_i|,    m'_i = m_i M_{i-1} / M_i,   mu_i = G M_i

(Wisdom & Holman 1991, AJ 102, 1528). Local names: c is a component; `ki` the node that is `kj`-th.
"""

from collections.abc import Callable, Sequence


def vector(text: str, d: int) -> str:
    """A line for each component: {c}."""
    return "".join(text.format(c=c) + "\n" for c in range(d))


def dot(a: str, b: str, d: int) -> str:
    """The scalar product of two names with {c}."""
    return "(" + " + ".join(f"{a.format(c=c)} * {b.format(c=c)}" for c in range(d)) + ")"


def inward(pairs: Sequence[tuple[str, str, str]], mass: str, d: int, tangent: str = "") -> str:
    """From arrays x to arrays q, for each (letter, x, q), and M into `kepler_M`.

    tangent: the text of dm_i; then tangents of x, in w, go to those of q, in `kepler_dq`, and `kepler_dM`.
    """
    lines = ["ki = kepler_order[0]\n", f"kM = ti.f64({mass})\n"]
    lines += [vector(f"k{s}{{c}} = ti.f64({x}[ki, {{c}}])", d) for s, x, _ in pairs]
    if tangent:
        lines += [f"kdM = ti.f64({tangent})\n"]
        lines += [vector(f"kd{s}{{c}} = ti.f64(w_{x[2:]}[ki, {{c}}])", d) for s, x, _ in pairs]
    body = [
        "ki = kepler_order[kj]\n",
        f"km = ti.f64({mass})\n",
        "kM = kM + km\n",
        "kf = km / kM\n",
        "kepler_M[kj] = kM\n",
    ]
    if tangent:
        body += [f"kdm = ti.f64({tangent})\n", "kdM = kdM + kdm\n", "kdf = (kdm - kf * kdM) / kM\n"]
        body += ["kepler_dM[kj] = kdM\n"]
    for s, x, q in pairs:
        body.append(vector(f"kepler_{q}[{{c}} * kw + kj] = ti.f64({x}[ki, {{c}}]) - k{s}{{c}}", d))
        if tangent:
            body.append(
                vector(f"kepler_d{q}[{{c}} * kw + kj] = ti.f64(w_{x[2:]}[ki, {{c}}]) - kd{s}{{c}}", d)
            )
            change = f"kf * kepler_d{q}[{{c}} * kw + kj] + kdf * kepler_{q}[{{c}} * kw + kj]"
            body.append(vector(f"kd{s}{{c}} = kd{s}{{c}} + {change}", d))
        body.append(vector(f"k{s}{{c}} = k{s}{{c}} + kf * kepler_{q}[{{c}} * kw + kj]", d))
    return "".join(lines) + loop("kj", "1, kepler_order.shape[0]", "".join(body))


def outward(
    pairs: Sequence[tuple[str, str, str]],
    mass: str,
    d: int,
    put: Callable[[str, str], str],
    tangent: str = "",
) -> str:
    """The inverse, from the centre of mass that is in the locals k(letter): q to x.

    put: the text that stores a value, with {c}, at row ki of an array.
    """
    body = ["kj = kepler_order.shape[0] - kback\n", "ki = kepler_order[kj]\n"]
    body += [f"kf = ti.f64({mass}) / kepler_M[kj]\n"]
    if tangent:
        body += [f"kdf = (ti.f64({tangent}) - kf * kepler_dM[kj]) / kepler_M[kj]\n"]
    for s, x, q in pairs:
        if tangent:
            change = f"kf * kepler_d{q}[{{c}} * kw + kj] + kdf * kepler_{q}[{{c}} * kw + kj]"
            body.append(vector(f"kd{s}{{c}} = kd{s}{{c}} - ({change})", d))
            body.append(put(f"w_{x[2:]}", f"kepler_d{q}[{{c}} * kw + kj] + kd{s}{{c}}"))
        body.append(vector(f"k{s}{{c}} = k{s}{{c}} - kf * kepler_{q}[{{c}} * kw + kj]", d))
        body.append(put(x, f"kepler_{q}[{{c}} * kw + kj] + k{s}{{c}}"))
    text = loop("kback", "1, kepler_order.shape[0]", "".join(body)) + "kj = 0\nki = kepler_order[0]\n"
    for s, x, _ in pairs:
        text += put(x, f"k{s}{{c}}")
        if tangent:
            text += put(f"w_{x[2:]}", f"kd{s}{{c}}")
    return text


def outward_adjoint(pairs: Sequence[tuple[str, str, str]], mass: str, d: int, masses: bool) -> str:
    """Adjoints back through `outward`: l_x to l_q, and to the centre of mass in the locals kl(letter).

    masses: the adjoints of m_i / M_i are added to `kepler_lf`.
    """
    text = "ki = kepler_order[0]\n"
    text += "".join(vector(f"kl{s}{{c}} = ti.f64(l_{x[2:]}[ki, {{c}}])", d) for s, x, _ in pairs)
    body = ["ki = kepler_order[kj]\n", f"kf = ti.f64({mass}) / kepler_M[kj]\n"]
    for s, x, q in pairs:
        body.append(vector(f"kt{{c}} = ti.f64(l_{x[2:]}[ki, {{c}}])", d))
        body.append(vector(f"kl{s}{{c}} = kl{s}{{c}} + kt{{c}}", d))
        if masses:
            own = dot(f"kl{s}{{c}}", f"kepler_{q}[{{c}} * kw + kj]", d)
            body.append(f"kepler_lf[kj] = kepler_lf[kj] - {own}\n")
        body.append(vector(f"kepler_l{q}[{{c}} * kw + kj] = kt{{c}} - kf * kl{s}{{c}}", d))
    return text + loop("kj", "1, kepler_order.shape[0]", "".join(body))


def inward_adjoint(
    pairs: Sequence[tuple[str, str, str, str]], mass: str, d: int, masses: bool, kind: str
) -> str:
    """Adjoints back through `inward`, from the l_q and the locals kl(letter): to elements `to`, with {c}."""
    body = ["kj = kepler_order.shape[0] - kback\n", "ki = kepler_order[kj]\n"]
    body += [f"kf = ti.f64({mass}) / kepler_M[kj]\n"]
    for s, to, lq, q in pairs:
        if masses:
            body.append(
                f"kepler_lf[kj] = kepler_lf[kj] + {dot(f'kl{s}{{c}}', f'kepler_{q}[{{c}} * kw + kj]', d)}\n"
            )
        body.append(vector(f"kt{{c}} = kepler_{lq}[{{c}} * kw + kj] + kf * kl{s}{{c}}", d))
        body.append(vector(f"{to} = {kind}(kt{{c}})", d))
        body.append(vector(f"kl{s}{{c}} = kl{s}{{c}} - kt{{c}}", d))
    text = loop("kback", "1, kepler_order.shape[0]", "".join(body)) + "ki = kepler_order[0]\n"
    return text + "".join(vector(f"{to} = {kind}(kl{s}{{c}})", d) for s, to, *_ in pairs)


def masses_adjoint(mass: str, into: str, sign: str = "+") -> str:
    """To an array of masses, from `kepler_lf` (of m_i / M_i), `kepler_lM` (M_i) and `kepler_lm` (m_i)."""
    body = (
        "kj = kepler_order.shape[0] - kback\n"
        "ki = kepler_order[kj]\n"
        "kf = kepler_lf[kj] / kepler_M[kj]\n"
        f"ksum = ksum + kepler_lM[kj] - kf * ti.f64({mass}) / kepler_M[kj]\n"
        f"{into}[ki] = {into}[ki] {sign} (kf + kepler_lm[kj] + ksum)\n"
    )
    end = f"ki = kepler_order[0]\n{into}[ki] = {into}[ki] {sign} (ksum + kepler_lM[0])\n"
    return "ksum = ti.f64(0.0)\n" + loop("kback", "1, kepler_order.shape[0]", body) + end


def loop(name: str, ends: str, body: str) -> str:
    """A loop of one thread over bodies."""
    return f"for {name} in range({ends}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
