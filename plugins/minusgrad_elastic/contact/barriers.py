"""Barriers between surfaces: energies of close pairs that grow without bound as their distance goes to zero.

    U(x) = sum over points and triangles b(s)  +  sum over two edges m b(s)     in the plane: points and edges
    b(s) = -k D^3 (s / D^2 - 1)^2 ln(s / D^2)    for 0 < s < D^2,   b = 0 beyond
    m    = w (2 - w),   w = min(1, sin^2 / M)    sin of the angle between two edges, M = 10^-3

x (n, d) [m]; s [m^2] the squared distance of two features; D [m] the distance at which the barrier begins, k
[Pa] its stiffness. With the closest points of the two features known to be inside of them, s is

    two points                    r . r                              r from one to the other
    a point and an edge           |r - (r . q / q . q) q|^2           r from an end of the edge q
    a point and a triangle        (r . n)^2 / n . n, n = p x q       r from a corner, p and q two edges
    two edges                     the same, with p and q the two edges, r between their first ends

b and its first two derivatives are continuous in s. s has a continuous gradient but where edges become
parallel: there it jumps from one end of an edge to another, and m is zero. m is a function of the present
angle and knows no lengths at rest, so that derivatives by shapes are those by positions. (Li et al. 2020,
Incremental potential contact, ACM Trans. Graph. 39, 49: b is theirs over D^4; their m has lengths at rest.)

Decisions 0085.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Linear, Node, Parameter, Table, local_energy, ti

PARALLEL = 1e-3
"""M: sin^2 of the angle between two edges below which they count as nearly parallel."""

STIFFNESS = Parameter(
    "Pa", bounds=(0.0, inf), open=True, reason="a barrier resists", about="Stiffness of the barrier."
)


def barrier_roles(*forms: str) -> dict[str, Any]:
    """The roles of a barrier that is a function of some differences of positions, by name."""
    roles: dict[str, Any] = {"symmetries": ("translation", "rotation"), "x": Node("m", ("d",))}
    for form in forms:
        roles[form] = Linear("x", f"to_{form}")
        roles[f"to_{form}"] = Datum("1", ("k",), about="Weights of the nodes in a difference of positions.")
    return roles | {"distance": Table("m"), "stiffness": STIFFNESS}


@ti.func
def barrier(s, distance, stiffness):
    """b of a squared distance."""
    part = ti.min(s / (distance * distance), 1.0)
    gap = part - 1.0
    return -stiffness * distance * distance * distance * gap * gap * ti.log(part)


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


@local_energy("point_point_barrier", over=2, **barrier_roles("r"))
def point_point_barrier(r, distance, stiffness):
    """Keeps two points apart."""
    return barrier(r.dot(r), distance[0], stiffness)


@local_energy("point_edge_barrier", over=3, **barrier_roles("r", "q"))
def point_edge_barrier(r, q, distance, stiffness):
    """Keeps a point and an edge apart."""
    return barrier(to_line(r, q), distance[0], stiffness)


@local_energy("point_triangle_barrier", over=4, **barrier_roles("r", "p", "q"))
def point_triangle_barrier(r, p, q, distance, stiffness):
    """Keeps a point and a triangle apart."""
    return barrier(to_plane(r, p, q), distance[0], stiffness)


@local_energy("edge_edge_barrier", over=4, **barrier_roles("r", "p", "q"))
def edge_edge_barrier(r, p, q, distance, stiffness):
    """Keeps two edges apart that are not nearly parallel."""
    return barrier(to_plane(r, p, q), distance[0], stiffness)


@local_energy("parallel_edges_barrier", over=4, **barrier_roles("r", "p", "q"))
def parallel_edges_barrier(r, p, q, distance, stiffness):
    """Keeps two nearly parallel edges apart."""
    return mollifier(p, q) * barrier(to_plane(r, p, q), distance[0], stiffness)


@local_energy("parallel_end_barrier", over=4, **barrier_roles("r", "p", "q"))
def parallel_end_barrier(r, p, q, distance, stiffness):
    """Keeps an end of an edge p and a nearly parallel edge q apart."""
    return mollifier(p, q) * barrier(to_line(r, q), distance[0], stiffness)


@local_energy("parallel_ends_barrier", over=4, **barrier_roles("r", "p", "q"))
def parallel_ends_barrier(r, p, q, distance, stiffness):
    """Keeps ends of two nearly parallel edges p and q apart."""
    return mollifier(p, q) * barrier(r.dot(r), distance[0], stiffness)
