"""Kepler's problem in universal variables, as text of kernels: the solution, and its exact derivative.

    r0 = |q|,  eta = q.u,  beta = 2 mu / r0 - u.u          for d2q/dt2 = -mu q / |q|^3, u = dq/dt
    r0 G1 + eta G2 + mu G3 = h                             Kepler's equation for the universal anomaly X
    r = r0 G0 + eta G1 + mu G2
    q' = q + F q + g u,    u' = u + Fd q + Gd u            F = -mu G2 / r0,     g = r0 G1 + eta G2
                                                           Fd = -mu G1 / (r r0),  Gd = -mu G2 / r

after a time h, with G_n = X^n c_n(beta X^2) of Stumpff's functions c_n: ellipses, parabolas and hyperbolas
alike (Stumpff 1962; Wisdom & Hernandez 2015, MNRAS 453, 3015). X is the zero of a function that grows with
the slope r: Laguerre's method (Conway 1986, Celest. Mech. 39, 199) within a bracket that each value narrows.

The derivative is that of the equation, dX = -(change of its left side at fixed X) / r, with
dG_n/dX = G_{n-1} and dG_n/dbeta = (n G_{n+2} - X G_{n+1}) / 2 (Mikkola & Innanen 1999, Celest. Mech. 74, 59).

Decisions 0344.
"""

from math import factorial
from textwrap import indent

TERMS, FAR, FEW, NEAR = 12, 4.0, 6, 0.5
"""Terms of the series of c_4 and c_5 for |beta X^2| less than `FAR`, and for less than `NEAR`, as steps of a
tenth of a period have: the first that is left out is below 1e-17 of the sum."""
LAST = 1e-6
"""A move of X by less than this part is the last: what it leaves is of its third power, and the G_n follow by
Taylor's series in place of another evaluation."""
TRIALS = 60
"""The most values of X that are tried; four or five are needed, more on nearly radial orbits."""


def _series_text(n: int, terms: int) -> str:
    """c_n(kz) by Horner's rule."""
    text = "1.0"
    for k in range(terms, 0, -1):
        text = f"(1.0 - kz * {1.0 / ((n + 2 * k - 1) * (n + 2 * k))!r} * {text})"
    return f"{text} * {1.0 / factorial(n)!r}"


FUNCTIONS = f"""\
kz = kb * kX * kX
kc5 = ti.f64(0.0)
kc4 = ti.f64(0.0)
if ti.abs(kz) < {NEAR!r}:
    kc5 = {_series_text(5, FEW)}
    kc4 = {_series_text(4, FEW)}
else:
    kc5 = {_series_text(5, TERMS)}
    kc4 = {_series_text(4, TERMS)}
kc3 = {1.0 / 6.0!r} - kz * kc5
kc2 = 0.5 - kz * kc4
G5 = kX * kX * kX * kX * kX * kc5
G4 = kX * kX * kX * kX * kc4
G3 = kX * kX * kX * kc3
G2 = kX * kX * kc2
G1 = kX * (1.0 - kz * kc3)
G0 = 1.0 - kz * kc2
if ti.abs(kz) >= {FAR!r}:
    ks = ti.sqrt(ti.abs(kb))
    if kb > 0.0:
        ksine = ti.sin(0.5 * ks * kX)
        G0 = ti.cos(ks * kX)
        G1 = ti.sin(ks * kX) / ks
        G2 = 2.0 * ksine * ksine / kb
    else:
        kup = ti.exp(ks * kX)
        G0 = 0.5 * (kup + 1.0 / kup)
        G1 = 0.5 * (kup - 1.0 / kup) / ks
        G2 = (1.0 - G0) / kb
    G3 = (kX - G1) / kb
    G4 = (0.5 * kX * kX - G2) / kb
    G5 = (kX * kX * kX * {1.0 / 6.0!r} - G3) / kb
"""
"""G_0 to G_5 at `kX`, for `kb` = beta."""

SOLUTION = f"""\
kr0 = ti.sqrt(k_qq)
kinverse = 1.0 / kr0
kb = 2.0 * kmu * kinverse - k_uu
kX = h * kinverse
kfirst = 0.5 * k_qu * kinverse * kX
knear = kfirst * (2.0 * kfirst - 1.0) - (kmu * kinverse - kb) * {1.0 / 6.0!r} * kX * kX
if ti.abs(kfirst) < 0.2 and ti.abs(knear) < 0.2:
    kX = kX * (1.0 + knear)
klow = ti.f64(0.0)
khigh = ti.f64(0.0)
kopen = 1
kside = ti.f64(1.0)
if h < 0.0:
    kside = ti.f64(-1.0)
if kb > 0.0:
    kmean = kb * h / kmu
    kwide = 2.1 / ti.sqrt(kb)
    klow = ti.max(kside * kmean - kwide, 0.0)
    khigh = kside * kmean + kwide
    kopen = 0
    if kside * kX > khigh or kside * kX < klow:
        kX = kmean
else:
    kX = kside * ti.min(kside * kX, 1.0 / ti.sqrt(1e-300 - kb))
G0 = ti.f64(0.0)
G1 = ti.f64(0.0)
G2 = ti.f64(0.0)
G3 = ti.f64(0.0)
G4 = ti.f64(0.0)
G5 = ti.f64(0.0)
kold = ti.f64(1e300)
for ktrial in range({TRIALS}):
{indent(FUNCTIONS, "    ")}\
    koff = kr0 * G1 + k_qu * G2 + kmu * G3 - h
    kr = kr0 * G0 + k_qu * G1 + kmu * G2
    kbend = k_qu * G0 + (kmu - kb * kr0) * G1
    if kside * koff > 0.0:
        khigh = kside * kX
        kopen = 0
    else:
        klow = kside * kX
    kroot = ti.sqrt(ti.abs(16.0 * kr * kr - 20.0 * koff * kbend))
    kmove = -5.0 * koff / (kr + kroot)
    knext = kside * (kX + kmove)
    if ti.abs(kmove) <= 1e-15 * ti.abs(kX) or koff == 0.0 or (
        ti.abs(kmove) <= 1e-12 * ti.abs(kX) and ti.abs(kmove) >= kold
    ):
        break
    klargest = ti.max(ti.abs(kmove / kX), ti.abs(kmove * kbend / kr))
    if ti.max(klargest * klargest, ti.abs(kb) * kmove * kmove) <= {LAST * LAST!r}:
        kX = kX + kmove
        G5 = G5 + kmove * (G4 + 0.5 * kmove * G3)
        G4 = G4 + kmove * (G3 + 0.5 * kmove * G2)
        G3 = G3 + kmove * (G2 + 0.5 * kmove * G1)
        G2 = G2 + kmove * (G1 + 0.5 * kmove * G0)
        ksine = G1
        G1 = G1 + kmove * (G0 - 0.5 * kmove * kb * G1)
        G0 = G0 - kmove * kb * (ksine + 0.5 * kmove * G0)
        break
    if kopen == 1:
        kmost = 2.0 * klow + 1.0 / ti.sqrt(ti.abs(kb) + 1e-300)
        if not knext <= kmost:
            knext = kmost
    elif not (knext > klow and knext < khigh):
        knext = 0.5 * (klow + khigh)
    kold = ti.abs(kmove)
    kX = kside * knext
kr = kr0 * G0 + k_qu * G1 + kmu * G2
kF = -kmu * G2 * kinverse
kg = kr0 * G1 + k_qu * G2
kFd = -kmu * G1 / (kr * kr0)
kGd = -kmu * G2 / kr
"""
"""kF, kg, kFd, kGd for numbers k_qq = q.q, k_qu = q.u, k_uu = u.u, kmu = mu, and the time h."""

TANGENT = """\
tb = 2.0 * t_mu / kr0 - 2.0 * kmu * t_r0 / (kr0 * kr0) - 2.0 * t_w
tG1 = 0.5 * (G3 - kX * G2)
tG2 = G4 - 0.5 * kX * G3
tG3 = 0.5 * (3.0 * G5 - kX * G4)
tX = -(t_r0 * G1 + t_qu * G2 + t_mu * G3 + (kr0 * tG1 + k_qu * tG2 + kmu * tG3) * tb) / kr
t_G0 = -kb * G1 * tX - 0.5 * kX * G1 * tb
t_G1 = G0 * tX + tG1 * tb
t_G2 = G1 * tX + tG2 * tb
t_r = t_r0 * G0 + kr0 * t_G0 + t_qu * G1 + k_qu * t_G1 + t_mu * G2 + kmu * t_G2
t_F = -(t_mu * G2 + kmu * t_G2) / kr0 - kF * t_r0 / kr0
t_g = t_r0 * G1 + kr0 * t_G1 + t_qu * G2 + k_qu * t_G2
t_Fd = -(t_mu * G1 + kmu * t_G1) / (kr * kr0) - kFd * (t_r0 / kr0 + t_r / kr)
t_Gd = -(t_mu * G2 + kmu * t_G2) / kr - kGd * t_r / kr
"""
"""t_F, t_g, t_Fd, t_Gd: their tangents along t_r0, t_qu, t_w = u.du, and t_mu."""
