"""Widths of burnt lines by an elliptical Gaussian spot, as misfits of what was measured.

A line along the unit vector t, with normal m, is written with the power P [W] and the speed v [m/s]. The dose
at the distance d from it, for the intensity I = 2 P / (pi w_x w_y) exp(-2 x^2 / w_x^2 - 2 y^2 / w_y^2), is

    D(d) = 1 / I_0^(n-1) integral of I^n dt = D_0 exp(-2 n d^2 / W^2),    W^2 = w_x^2 m_x^2 + w_y^2 m_y^2
    D_0  = I_0 (2 P / (pi w_x w_y I_0))^n  w_x w_y / (W v)  sqrt(pi / (2 n))

so that the material, which marks above the threshold fluence H [J/m^2], is marked over the width

    b = 2 W sqrt(ln(D_0 / H) / (2 n)) + e

w_x, w_y [m] are the waists, radii at 1/e^2 of the peak intensity, n the exponent of the dose, I_0 [W/m^2] the
intensity at which H is a fluence, and e [m] how far both edges of a picture are shifted by its exposure. For
n = 1 it is b = W sqrt(2 ln(D_0 / H)), D_0 = sqrt(2 / pi) P / (W v) (Liu 1982, Opt. Lett. 7, 196, of a spot).

A laser that answers late by tau [s] shifts a line by v tau along its direction; play b_x, b_y [m] that is
left over in the axes shifts lines towards smaller numbers. Half the shift between both directions is

    s = v tau - (b_x |t_x| + b_y |t_y|) / 2

U = sum of (measured - b)^2 / (2 sigma^2), and of (measured - s)^2 / (2 sigma^2), sigma [m]: its gradient and
its Hessian by the unknowns are derived.

Decisions 0179.
"""

from math import pi

from minusgrad.plugin import Datum, Node, local_energy, ti

LEAST = 1e-6
"""Logarithm of the dose over the threshold below which a line has the width of this one."""


@ti.func
def waist_across(waists, normal):
    """Waist of an elliptical spot along a unit vector [m]."""
    a, b = waists[0] * normal[0], waists[1] * normal[1]
    return ti.sqrt(a * a + b * b)


@ti.func
def log_line_dose(waists, exponent, normal, power, speed, reference):
    """Logarithm of the dose in the middle of a line, in J/m^2."""
    area = waists[0] * waists[1]
    intensity = 2.0 * power / (pi * area * reference)
    line = reference * area / (waist_across(waists, normal) * speed)
    return exponent * ti.log(intensity) + ti.log(line) + 0.5 * ti.log(pi / (2.0 * exponent))


@local_energy(
    "line_width_misfit",
    over=1,
    waists=Node("m", shape=(2,)),
    threshold=Node("J m^-2"),
    exponent=Node(),
    edge=Node("m"),
    normal=Datum(shape=(2,)),
    power=Datum("W"),
    speed=Datum("m s^-1"),
    reference=Datum("W m^-2"),
    measured=Datum("m"),
    sigma=Datum("m"),
)
def line_width_misfit(waists, threshold, exponent, edge, normal, power, speed, reference, measured, sigma):
    """Squared distance of a line's width from the measured one, in units of its error."""
    w, n = waists[0], exponent[0]
    over = log_line_dose(w, n, normal, power, speed, reference) - ti.log(threshold[0])
    width = 2.0 * waist_across(w, normal) * ti.sqrt(ti.max(over, LEAST) / (2.0 * n)) + edge[0]
    away = (measured - width) / sigma
    return 0.5 * away * away


@local_energy(
    "line_shift_misfit",
    over=1,
    latency=Node("s"),
    play=Node("m", shape=(2,)),
    direction=Datum(shape=(2,)),
    speed=Datum("m s^-1"),
    measured=Datum("m"),
    sigma=Datum("m"),
)
def line_shift_misfit(latency, play, direction, speed, measured, sigma):
    """Squared distance of half the shift between both directions from the measured one."""
    along = play[0][0] * ti.abs(direction[0]) + play[0][1] * ti.abs(direction[1])
    away = (measured - (latency[0] * speed - 0.5 * along)) / sigma
    return 0.5 * away * away
