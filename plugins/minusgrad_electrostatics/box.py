"""Vectors of a periodic box, of which row a is the edge vector a."""

from minusgrad.plugin import ti


@ti.func
def edges(box):
    """The three edge vectors [m]."""
    a = ti.Vector([box[0, 0], box[0, 1], box[0, 2]])
    b = ti.Vector([box[1, 0], box[1, 1], box[1, 2]])
    c = ti.Vector([box[2, 0], box[2, 1], box[2, 2]])
    return a, b, c


@ti.func
def volume(box):
    """The volume a . (b x c) [m^3]."""
    a, b, c = edges(box)
    return a.dot(b.cross(c))


@ti.func
def fractions(x, box):
    """The numbers f with x = f_0 a + f_1 b + f_2 c."""
    a, b, c = edges(box)
    return ti.Vector([x.dot(b.cross(c)), x.dot(c.cross(a)), x.dot(a.cross(b))]) / a.dot(b.cross(c))


@ti.func
def wave_vector(mode, box):
    """m_0 a* + m_1 b* + m_2 c* [1/m] with the reciprocal vectors, a* = (b x c) / volume, of a mode m."""
    a, b, c = edges(box)
    h = mode[0] * b.cross(c) + mode[1] * c.cross(a) + mode[2] * a.cross(b)
    return h / a.dot(b.cross(c))
