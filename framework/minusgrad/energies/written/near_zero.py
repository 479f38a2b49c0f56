"""Functions whose plain text loses digits near zero: lengths, ln(1 + x) and ln(1 + x) / x, in energies.

    length(r)       |r|, of vectors as short as 1e-170 (in f32 1e-36); its derivative at 0 is 0
    log1p(x)        ln(1 + x) for x >= 0
    log1p_ratio(x)  ln(1 + x) / x for x >= 0; 1 at 0

ln(1 + x) / x = 2 / (2 + x) (1 + z / 3 + z^2 / 5 + ...), z = (x / (2 + x))^2, whose terms are all positive, so
that values and slopes keep their digits. At 0 the length has a cusp: its slope there is zero, by symmetry.

Decisions 0061.
"""

from ...engine import runtime

ti = runtime.engine()

TINY = 1e-24
"""Squares below it may leave the range of f32: the vector is scaled by `LARGE` first."""
LARGE = 2.0**60
NEAR = 1.0
TERMS = 18
"""Of the series below `NEAR`; the first that is left out is 2e-19."""


@ti.func
def length(r):
    """The length |r| of a vector, with the derivative 0 at 0, in energies and maps.

    r: a vector, in any unit. Returns a number in that unit; vectors down to 1e-170 (in f32 1e-36) keep all
    digits, although their squares leave the range.
    """
    scale = ti.select(r.dot(r) < TINY, LARGE, 1.0)
    scaled = scale * r
    square = scaled.dot(scaled)
    away = square > 0.0
    return ti.select(away, ti.sqrt(ti.select(away, square, 1.0)) / scale, 0.0)


@ti.func
def log1p_ratio(x):
    """The ratio ln(1 + x) / x, 1 at x = 0, with its slopes to rounding, in energies and maps.

    x: a number >= 0 without unit. Returns a number.
    """
    near = x < NEAR
    far = ti.select(near, NEAR, x)
    part = x / (2.0 + x)
    z = part * part
    series = 1.0 / (2.0 * TERMS + 1.0)
    for n in ti.static(range(TERMS)):
        series = 1.0 / (2.0 * (TERMS - n) - 1.0) + z * series
    return ti.select(near, 2.0 / (2.0 + x) * series, ti.log(1.0 + far) / far)


@ti.func
def log1p(x):
    """The logarithm ln(1 + x), with all digits near 0, in energies and maps.

    x: a number >= 0 without unit. Returns a number.
    """
    return x * log1p_ratio(x)
