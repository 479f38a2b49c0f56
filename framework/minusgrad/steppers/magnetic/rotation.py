"""Rotation of a velocity about a magnetic field, and the helix, written in the language of energies.

    dv/dt = v x omega,  omega = q B / m,  w = omega h,  s = w.w

    v(h) = v - a w x v + b w x (w x v)              a = sin(r)/r,         r = |w|
    x(h) = x + h (v - b w x v + c w x (w x v))      b = (1 - cos r)/r^2,  c = (r - sin r)/r^3

(Rodrigues 1840). In the plane w is a number, w x v = w (-v_y, v_x) and w x (w x v) = -w^2 v. The coefficients
are entire functions of s: near zero a series in s, accurate to rounding for s < 1.

Decisions 0368.
"""

from ...engine.runtime import engine

ti = engine()


def sine(s):
    """a(s) = sin(r)/r, r = sqrt(s)."""
    r = ti.sqrt(ti.select(s < 1.0, 1.0, s))
    return ti.select(s < 1.0, series(s, 2.0), ti.sin(r) / r)


def versine(s):
    """b(s) = (1 - cos r)/r^2, as 2 sin(r/2)^2 / r^2, which keeps its digits where cos r is near 1."""
    r = ti.sqrt(ti.select(s < 1.0, 1.0, s))
    half = ti.sin(0.5 * r) / r
    return ti.select(s < 1.0, 0.5 * series(s, 3.0), 2.0 * half * half)


def excess(s):
    """c(s) = (r - sin r)/r^3."""
    r = ti.sqrt(ti.select(s < 1.0, 1.0, s))
    return ti.select(s < 1.0, series(s, 4.0) / 6.0, (1.0 - ti.sin(r) / r) / (r * r))


def series(s, n):
    """sum over k of (-s)^k (n-1)! / (2k+n-1)!, to 1e-17 at s = 1."""
    total = 1.0
    for k in ti.static(range(9, -1, -1)):
        total = 1.0 - s / ((n + 2.0 * k) * (n + 2.0 * k + 1.0)) * total
    return total


def turned(w, v):
    """v after the rotation, in space."""
    s, u = w.dot(w), w.cross(v)
    return v - sine(s) * u + versine(s) * w.cross(u)


def mean(w, v):
    """The mean velocity on the way, in space."""
    s, u = w.dot(w), w.cross(v)
    return v - versine(s) * u + excess(s) * w.cross(u)


def turned_in_plane(w, v):
    """v after the rotation, in the plane."""
    s, u = w * w, w * ti.Vector([-v[1], v[0]])
    return (1.0 - s * versine(s)) * v - sine(s) * u


def mean_in_plane(w, v):
    """The mean velocity on the way, in the plane."""
    s, u = w * w, w * ti.Vector([-v[1], v[0]])
    return sine(s) * v - versine(s) * u
