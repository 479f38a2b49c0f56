"""Dose of a Gaussian beam drawn along a path: elliptical, out of focus, and of any exponent n.

    D_p = sum over segments of  1 / (full I_0^(n-1)) integral of I(p - x(t))^n dt,        I = P k
    k(r) = 2 / (pi w_a w_b) exp(-2 |u|^2),      u = (r . e_a / w_a, r . e_b / w_b)
    w(z) = w(0) sqrt(1 + (z / z_R)^2)           of both waists

k [1/m^2] is the spot, whose waists w_a, w_b [m] lie along e_a, at an angle to the x axis, and e_b across;
z [m] is the distance from the focus and z_R [m] the Rayleigh range (Siegman 1986, Lasers, ch. 17). n = 1:
resist and burning; n = 2: two-photon absorption, whose rate goes with the square of the intensity (Maruo,
Nakamura & Kawata 1997, Opt. Lett. 22, 132). `full` [J/m^2] is the fluence that counts as dose one at the
intensity I_0 [W/m^2]; at another intensity I it takes the time full I_0^(n-1) / I^n. For n = 1 it does not
depend on I_0.

k^n is a Gaussian again, with waists w / sqrt n. In the coordinates u a segment of length l has the length q,
the place u_0 along it is nearest to p, and d away; it is written at the speed v, so that the integral is

    (P k(0))^n l / (v q) exp(-2 n d^2) sqrt(pi / (8 n)) [erf(sqrt(2 n) (q - u_0)) + erf(sqrt(2 n) u_0)]

A length of zero has the derivative zero. For h = sqrt(n) q < 0.01, where the difference of the erf loses its
digits, the integral is Gauss's rule of two points, right to h^4 / 90.
"""

from math import inf, pi, sqrt

from minusgrad.plugin import Cell, Parameter, erf, local_map, ti

from .spots import FAR, FULL, PATH, PIXEL, length

EXPONENT = Parameter(
    scale=2.0,
    bounds=(1.0, inf),
    about="Exponent of the intensity in the rate of exposure: 1, or 2 of two-photon absorption.",
)
DARK = 1e-30
"""Intensity below which (I / I_0)^(n-1) is that of this one, in units of I_0: it has a derivative at zero."""

SHORT = 0.01
"""A segment as short as this, in units of the waist of k^n, is integrated by two points."""
GAUSS = 0.5 / sqrt(3.0)
"""Their distance from its middle, in parts of its length."""


@ti.func
def growth(defocus, rayleigh):
    """Of a waist out of focus, w(z) / w(0)."""
    return ti.sqrt(1.0 + defocus * defocus / (rayleigh * rayleigh))


def beam_window(x, y, pixel, waists, angle, defocus, rayleigh, exponent):
    """Around the segment as far as the ellipse of the spot reaches along each axis."""
    far = FAR * growth(defocus, rayleigh) / ti.sqrt(exponent) / pixel
    a, b = waists[0], waists[1]
    c, s = ti.cos(angle), ti.sin(angle)
    wide, high = far * ti.sqrt(a * a * c * c + b * b * s * s), far * ti.sqrt(a * a * s * s + b * b * c * c)
    low = [ti.min(y[0], y[1]) / pixel - high, ti.min(x[0], x[1]) / pixel - wide]
    return low, [ti.max(y[0], y[1]) / pixel + high, ti.max(x[0], x[1]) / pixel + wide]


@local_map(
    "gaussian_beam_dose",
    gives="dose",
    over=2,
    **PATH,
    at=Cell(window=beam_window, spacing="pixel"),
    pixel=PIXEL,
    waists=Parameter(
        "m",
        shape=(2,),
        bounds=(0.0, inf),
        open=True,
        reason="a spot has a size",
        about="Waists at the focus along `angle` and across: radii at which the spot has 1/e^2 of its peak.",
    ),
    angle=Parameter("rad", default=0.0, about="Angle of the first waist to the x axis."),
    defocus=Parameter("m", default=0.0, about="Distance of the canvas from the focus."),
    rayleigh=Parameter(
        "m",
        bounds=(0.0, inf),
        open=True,
        reason="the defocus is divided by it",
        about="Rayleigh range: defocus at which the waists are sqrt(2) times those at the focus.",
    ),
    exponent=EXPONENT,
    reference=Parameter(
        "W m^-2",
        default=1.0,
        bounds=(0.0, inf),
        open=True,
        reason="the intensity is divided by it",
        about="Intensity at which `full` is the fluence that exposes fully, whatever the exponent.",
    ),
    full=FULL,
)
def gaussian_beam_dose(
    x, y, power, speed, at, pixel, waists, angle, defocus, rayleigh, exponent, reference, full
):
    """A Gaussian beam drawn along each segment: elliptical, out of focus, of any exponent of intensity."""
    wide = growth(defocus, rayleigh)
    a, b, c, s = wide * waists[0], wide * waists[1], ti.cos(angle), ti.sin(angle)
    dx, dy = x[1] - x[0], y[1] - y[0]
    px, py = at[1] * pixel - x[0], at[0] * pixel - y[0]
    ta, tb = (dx * c + dy * s) / a, (dy * c - dx * s) / b
    pa, pb = (px * c + py * s) / a, (py * c - px * s) / b
    square, l = ta * ta + tb * tb, length(x, y)  # noqa: E741
    q = ti.sqrt(ti.select(square > 0.0, square, 1.0))
    along, off = (pa * ta + pb * tb) / q, (pa * tb - pb * ta) / q
    root = ti.sqrt(2.0 * exponent)
    ends = erf(root * (q - along)) + erf(root * along)
    line = l / q * ti.exp(-2.0 * exponent * off * off) * ti.sqrt(pi / (8.0 * exponent)) * ends
    near, far = (0.5 - GAUSS) * q - along, (0.5 + GAUSS) * q - along
    two = ti.exp(-2.0 * exponent * near * near) + ti.exp(-2.0 * exponent * far * far)
    short = 0.5 * l * two * ti.exp(-2.0 * exponent * off * off)
    peak = 2.0 * power[1] / (pi * a * b)
    rate = peak * ti.exp((exponent - 1.0) * ti.log(ti.max(peak / reference, DARK))) / full
    return rate / speed[1] * ti.select(exponent * square < SHORT * SHORT, short, line)
