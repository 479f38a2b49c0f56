"""Rotations between material frames as quaternions of any length, for energies of rods.

    p = h* (a* b) h*                     the rotation from frame a to frame b beyond its rest h h
    phi n = 2 atan(|g|) g / |g|,  g = Im p / Re p = tan(phi/2) n

a, b (4,) [1] are quaternions (w, x, y, z), * is the conjugate, phi n (3,) [rad] the vector of the rotation
along the axes of the frames. g is the same for p and any multiple of it, -p included, so that no quaternion
must have unit length; it is infinite at half a turn alone. atan(s) / s is a series in s^2 near zero.

A rest by an angle r about n is given by its half, h = (1, tan(r/4) n), of which each frame gets one: so both
see the same strain, and the order of the difference is two where both curvature and rest are there.

Decisions 0188.
"""

from minusgrad.plugin import ti

NEAR = 0.01
"""Below this s^2 the series is used: its first term that is left out is 5e-20."""
TERMS = 9


@ti.func
def quaternion_product(a, b):
    """a b, quaternions (w, x, y, z)."""
    return ti.Vector(
        [
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ]
    )


@ti.func
def conjugate_quaternion(a):
    """a*, the inverse rotation."""
    return ti.Vector([a[0], -a[1], -a[2], -a[3]])


@ti.func
def atan_ratio(square):
    """atan(s) / s of s^2, with all derivatives at 0."""
    near = square < NEAR
    series = 0.0
    for k in ti.static(range(TERMS)):
        series = 1.0 / (2.0 * (TERMS - 1 - k) + 1.0) - square * series
    s = ti.sqrt(ti.select(near, NEAR, square))
    return ti.select(near, series, ti.atan2(s, 1.0) / s)


@ti.func
def turn_between(a, b):
    """phi n of the rotation from frame a to frame b, for angles below half a turn."""
    p = quaternion_product(conjugate_quaternion(a), b)
    g = ti.Vector([p[1], p[2], p[3]]) / p[0]
    return 2.0 * atan_ratio(g.dot(g)) * g


@ti.func
def material_axes(q):
    """The unit vectors d1, d2, d3 of a frame."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    size = q.norm_sqr()
    d1 = ti.Vector([w * w + x * x - y * y - z * z, 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)]) / size
    d2 = ti.Vector([2.0 * (x * y - w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z + w * x)]) / size
    d3 = ti.Vector([2.0 * (x * z + w * y), 2.0 * (y * z - w * x), w * w - x * x - y * y + z * z]) / size
    return d1, d2, d3
