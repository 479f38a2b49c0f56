"""Distances of features of two surfaces, by the class of their closest points.

x (n, d) [m]. With the closest points of the two features known to be inside of them, the squared distance s
[m^2] is

    two points                    r . r                              r from one to the other
    a point and an edge           |r - (r . q / q . q) q|^2           r from an end of the edge q
    a point and a triangle        (r . n)^2 / n . n, n = p x q       r from a corner, p and q two edges
    two edges                     the same, with p and q the two edges, r between their first ends

and the mollifier of two edges

    m = w (2 - w),   w = min(1, sin^2 / M)    sin of the angle between two edges, M = 10^-3

s has a continuous gradient but where edges become parallel: there it jumps from one end of an edge to
another, and m is zero. m is a function of the present angle and knows no lengths at rest, so that derivatives
by shapes are those by positions. (Li et al. 2020, Incremental potential contact, ACM Trans. Graph. 39, 49:
their m has lengths at rest.)

Decisions 0085.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from minusgrad.plugin import ti

PARALLEL = 1e-3
"""M: sin^2 of the angle between two edges below which they count as nearly parallel."""

POINTS, EDGE, TRIANGLE = "points", "edge", "triangle"
EDGES, LEVEL, END, ENDS = "edges", "level", "end", "ends"
"""Kinds of tuples: two points, a point and an edge, a point and a triangle, two edges; of nearly parallel
edges two edges, an end and an edge, two ends."""


@ti.func
def to_line(r, q):
    """Squared distance of r to the line along q through the origin."""
    gap = r - (r.dot(q) / q.dot(q)) * q
    return gap.dot(gap)


@ti.func
def to_plane(r, p, q):
    """Squared distance of r to the plane along p and q through the origin."""
    n = p.cross(q)
    height = r.dot(n)
    return height * height / n.dot(n)


@ti.func
def mollifier(p, q):
    """m of two edges."""
    along = p.dot(q)
    w = ti.min((1.0 - along * along / (p.dot(p) * q.dot(q))) / PARALLEL, 1.0)
    return w * (2.0 - w)


HELPERS: Mapping[str, Any] = {"to_line": to_line, "to_plane": to_plane, "mollifier": mollifier}
"""What the texts of classes call."""


class ContactClass(NamedTuple):
    """A class of closest points: its kind of tuples and their length, and in words.

    differences: of positions, by name, with the weights of the nodes. square: s, a text of them. spanned: the
    edges along which the closest points lie. factor: m and a star, or nothing.
    """

    kind: str
    arity: int
    about: str
    differences: Mapping[str, tuple[float, ...]]
    square: str
    spanned: tuple[str, ...] = ()
    factor: str = ""


_POINTS = {"r": (1.0, -1.0)}
_EDGE = {"r": (1.0, -1.0, 0.0), "q": (0.0, -1.0, 1.0)}
_TRIANGLE = {"r": (1.0, -1.0, 0.0, 0.0), "p": (0.0, -1.0, 1.0, 0.0), "q": (0.0, -1.0, 0.0, 1.0)}
_EDGES = {"r": (1.0, 0.0, -1.0, 0.0), "p": (-1.0, 1.0, 0.0, 0.0), "q": (0.0, 0.0, -1.0, 1.0)}
_M = "mollifier(p, q) * "
CLASSES = {
    one.kind: one
    for one in (
        ContactClass(TRIANGLE, 4, "Of a point and a triangle.", _TRIANGLE, "to_plane(r, p, q)", ("p", "q")),
        ContactClass(
            EDGES, 4, "Of two edges that are not nearly parallel.", _EDGES, "to_plane(r, p, q)", ("p", "q")
        ),
        ContactClass(EDGE, 3, "Of a point and an edge.", _EDGE, "to_line(r, q)", ("q",)),
        ContactClass(POINTS, 2, "Of two points.", _POINTS, "r.dot(r)"),
        ContactClass(LEVEL, 4, "Of two nearly parallel edges.", _EDGES, "to_plane(r, p, q)", ("p", "q"), _M),
        ContactClass(
            END, 4, "Of an end of an edge and a nearly parallel edge.", _EDGES, "to_line(r, q)", ("q",), _M
        ),
        ContactClass(ENDS, 4, "Of ends of two nearly parallel edges.", _EDGES, "r.dot(r)", (), _M),
    )
}
"""By kind of tuples."""
ARITY = {kind: one.arity for kind, one in CLASSES.items()}
IN_PLANE = EDGE, POINTS
IN_SPACE = tuple(CLASSES)
