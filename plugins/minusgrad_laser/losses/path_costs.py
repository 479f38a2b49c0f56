"""Costs of a path: its time, its bends, and its travels with the laser off.

    job_time       U = weight sum_i duration_i                            weight [W], duration (n,) [s]
    curvature      U = weight sum_i lit_i lit_i+1 |t_i+1 - t_i|^2 / h_i   weight [J m]
    travel_length  U = weight sum_i (1 - lit_i) l_i                       weight [J/m]

l_i = |x_i - x_i-1| [m] is the length of the move to point i, t_i = (x_i - x_i-1) / l_i its direction, and
h_i = (l_i + l_i+1) / 2 the length that belongs to point i. `lit` is 1 where a move is drawn, 0 on travels.

The second difference of the points over their spacing is the curvature k: |t_i+1 - t_i| -> k h, so that the
bending energy tends to the integral of k^2 along the strokes, whatever the spacing: 2 pi / R for a circle
(Euler's elastica; discrete in Bergou et al. 2008, ACM Trans. Graph. 27, 63). A move of no length has no
direction, and its ends no bend.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_energy, ti

from ..dose.spots import length


@local_energy(
    "job_time",
    over="nodes",
    duration=Node("s"),
    weight=Parameter(
        "W", default=1.0, bounds=(0.0, inf), about="Weight of the time that the job takes, per second."
    ),
)
def job_time(duration, weight):
    """Time of all moves."""
    return weight * duration[0]


@local_energy(
    "curvature",
    over=3,
    x=Node("m"),
    y=Node("m"),
    lit=Node(bounds=(0.0, 1.0)),
    weight=Parameter("J m", default=1.0, bounds=(0.0, inf), about="Weight of the integral of k^2 ds."),
)
def curvature(x, y, lit, weight):
    """Bending energy at the middle of three points."""
    first = length([x[0], x[1]], [y[0], y[1]])
    second = length([x[1], x[2]], [y[1], y[2]])
    bends = (first > 0.0) & (second > 0.0)
    l1, l2 = ti.select(bends, first, 1.0), ti.select(bends, second, 1.0)
    turn_x = (x[2] - x[1]) / l2 - (x[1] - x[0]) / l1
    turn_y = (y[2] - y[1]) / l2 - (y[1] - y[0]) / l1
    bending = (turn_x * turn_x + turn_y * turn_y) * 2.0 / (l1 + l2)
    return weight * lit[1] * lit[2] * ti.select(bends, bending, 0.0)


@local_energy(
    "travel_length",
    over=2,
    x=Node("m"),
    y=Node("m"),
    lit=Node(bounds=(0.0, 1.0)),
    weight=Parameter("J m^-1", default=1.0, bounds=(0.0, inf), about="Weight of the length of travels."),
)
def travel_length(x, y, lit, weight):
    """Length of the moves with the laser off."""
    return weight * (1.0 - lit[1]) * length(x, y)
