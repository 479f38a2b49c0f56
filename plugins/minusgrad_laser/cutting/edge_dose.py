"""Dose at points of outlines, and the energies of a cut: where its edge is, and that it cuts through.

    D_p = 1 / H  sum over moves i  q_i  integral along move i of k(p - s) ds     closed form of `dose.spots`
    e_p = w_p^2 / (4 h_p) ln D_p                                                 the edge lies so far beyond p

    edge_displacement    U = weight sum_p share_p (sqrt(1 + (e_p / s)^2) - 1)
    part_left            U = weight sum_p share_p relu(e_p / s)^2                 at points within the part
    cut_through          U = weight sum_p share_p relu(ln(least / D_p))^2         at points of the path
    path_shift           U = weight sum over moves of |change of the move|^2 / length
    path_bend            U = weight sum over points of |change of direction|^2 / length
    density_change       U = weight sum over moves of share (change of q / q of a line)^2

H [J/m^2] is the fluence that cuts the material, so that the edge is the line D = 1; q_i [J/m] is the energy
that the laser leaves on a length of move i. Across a straight line, the dose is a Gaussian of the waist w_p,
and falls through one at half the kerf h_p: the logarithm of a Gaussian is a parabola, so that e_p is how far
the edge is out of place to first order, and has a slope where the dose is far too small. Beyond s it counts
as |e|, so that a corner that cannot be reached does not outweigh the edges beside it. The tuples of the map
are (point, start of a move, its end).

Decisions 0181.
"""

from math import inf, pi, sqrt

from minusgrad.plugin import Datum, Node, Parameter, erf, local_energy, local_map, ti

from ..dose.spots import SHORT, length

DARK = 1e-30
"""The least dose whose logarithm is taken."""


@local_map(
    "edge_dose",
    gives="edge_dose",
    over=3,
    x=Node("m"),
    y=Node("m"),
    density=Node("J m^-1", bounds=(0.0, inf), reason="a laser takes no energy back"),
    waist=Parameter(
        "m",
        bounds=(0.0, inf),
        open=True,
        reason="a spot has a size",
        about="Radius of the spot along x at 1/e^2 of its peak.",
    ),
    aspect=Parameter(
        default=1.0,
        bounds=(0.0, inf),
        open=True,
        reason="a spot has a size",
        about="Radius along y over that along x.",
    ),
    fluence=Parameter(
        "J m^-2",
        default=1.0,
        bounds=(0.0, inf),
        open=True,
        reason="it divides the fluence",
        about="Fluence that cuts the material.",
    ),
)
def edge_dose(x, y, density, waist, aspect, fluence):
    """Dose at a point, of a move."""
    dx, dy = x[2] - x[1], (y[2] - y[1]) / aspect
    px, py = x[0] - x[1], (y[0] - y[1]) / aspect
    square = dx * dx + dy * dy
    q = ti.select(square > 0.0, ti.sqrt(square), 0.0)
    safe = ti.select(square > 0.0, q, 1.0)
    tx, ty = dx / safe, dy / safe
    s, d = px * tx + py * ty, px * ty - py * tx
    ends = erf(sqrt(2.0) * (q - s) / waist) + erf(sqrt(2.0) * s / waist)
    line = ti.exp(-2.0 * d * d / (waist * waist)) * ends / (safe * waist * sqrt(2.0 * pi))
    mx, my = px - 0.5 * dx, py - 0.5 * dy
    point = 2.0 / (pi * waist * waist) * ti.exp(-2.0 * (mx * mx + my * my) / (waist * waist))
    way = length([x[1], x[2]], [y[1], y[2]])
    return density[2] * ti.select(q < SHORT * waist, point, line) * way / (aspect * fluence)


WEIGHT = Parameter(
    "J", default=1.0, bounds=(0.0, inf), about="Weight of the mean, which makes an energy of it."
)
SOFT = Parameter(
    "m",
    default=1e-5,
    bounds=(0.0, inf),
    open=True,
    reason="it divides displacements",
    about="Displacement from which on it counts once, not squared.",
)


@local_energy(
    "edge_displacement",
    over="nodes",
    edge_dose=Node(),
    edge_share=Node(),
    lever=Node("m"),
    soft=SOFT,
    weight=WEIGHT,
)
def edge_displacement(edge_dose, edge_share, lever, soft, weight):
    """Displacement of the line of threshold dose from points of outlines, over `soft`."""
    away = lever[0] * ti.log(ti.max(edge_dose[0], DARK)) / soft
    return weight * edge_share[0] * (ti.sqrt(1.0 + away * away) - 1.0)


@local_energy(
    "part_left",
    over="nodes",
    edge_dose=Node(),
    part_share=Node(),
    lever=Node("m"),
    soft=SOFT,
    weight=WEIGHT,
)
def part_left(edge_dose, part_share, lever, soft, weight):
    """Square of what is cut of a part, over the square of `soft`."""
    burnt = ti.max(lever[0] * ti.log(ti.max(edge_dose[0], DARK)) / soft, 0.0)
    return weight * part_share[0] * burnt * burnt


@local_energy(
    "cut_through",
    over="nodes",
    edge_dose=Node(),
    path_share=Node(),
    least=Parameter(
        default=1.2, bounds=(0.0, inf), open=True, about="Dose on the path, over that which cuts."
    ),
    weight=Parameter(
        "J", default=1.0, bounds=(0.0, inf), about="Weight of the mean square of what is missing."
    ),
)
def cut_through(edge_dose, path_share, least, weight):
    """Logarithm of the dose that is missing on the path."""
    missing = ti.max(ti.log(least / ti.max(edge_dose[0], DARK)), 0.0)
    return weight * path_share[0] * missing * missing


@local_energy(
    "density_change",
    over="nodes",
    density=Node("J m^-1"),
    first_density=Node("J m^-1"),
    path_share=Node(),
    line=Parameter("J m^-1", bounds=(0.0, inf), open=True, about="Energy on a length of a line."),
    weight=WEIGHT,
)
def density_change(density, first_density, path_share, line, weight):
    """Square of the change of an energy on a length, over that of a line."""
    change = (density[0] - first_density[0]) / line
    return weight * path_share[0] * change * change


@local_energy(
    "path_shift",
    over=2,
    x=Node("m"),
    y=Node("m"),
    shape=Datum("m", (2,), about="The move before the search."),
    span=Datum("m", about="Its length, or more of one that is very short."),
    weight=Parameter(
        "J m^-1",
        default=1.0,
        bounds=(0.0, inf),
        about="Weight of the square of a change over the length of a move.",
    ),
)
def path_shift(x, y, shape, span, weight):
    """Change of a move of the path, so that its points stay in order."""
    ex, ey = x[1] - x[0] - shape[0], y[1] - y[0] - shape[1]
    return weight * (ex * ex + ey * ey) / span


@local_energy(
    "path_bend",
    over=3,
    x=Node("m"),
    y=Node("m"),
    spans=Datum(
        "m", (2,), about="Lengths of the two moves before the search, or more of ones that are very short."
    ),
    weight=Parameter(
        "J m", default=1.0, bounds=(0.0, inf), about="Weight of the integral of the curvature squared."
    ),
)
def path_bend(x, y, spans, weight):
    """Bend at the middle of three points, of moves whose lengths are taken as they were."""
    turn_x = (x[2] - x[1]) / spans[1] - (x[1] - x[0]) / spans[0]
    turn_y = (y[2] - y[1]) / spans[1] - (y[1] - y[0]) / spans[0]
    return weight * (turn_x * turn_x + turn_y * turn_y) * 2.0 / (spans[0] + spans[1])
