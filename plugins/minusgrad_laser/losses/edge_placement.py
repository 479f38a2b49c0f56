"""Edge placement of a dose: the mean square distance of its contour from the target's, to first order.

    e_c = (D(p_c) - t) / sqrt((n_c . grad D(p_c))^2 + s^2)
    U   = weight sum_c piece_c e_c^2

p_c are points on the target's contour, n_c [1] the outward normals there, and piece_c the part of the contour
that each point stands for, which sum to one (`contours`). D between the centres of four cells is bilinear, t
the dose at which the material develops. Where D falls through t with a slope of n . grad D, its contour is
e = (D - t) / |n . grad D| farther out (Mack 2007, Fundamental Principles of Optical Lithography, ch. 8: the
image log-slope; as a loss of masks in Poonawala & Milanfar 2007, IEEE Trans. Image Process. 16, 774, with one
slope for all). s [1/m], `least_slope`, keeps e finite where there is no edge: a stroke that is missing counts
as (t / s)^2. weight [J/m^2] makes an energy of it.
"""

from math import inf

from minusgrad.plugin import Datum, Node, Parameter, local_energy


@local_energy(
    "edge_placement",
    over=4,
    dose=Node(),
    place=Datum(shape=(2,), about="Place of the point between the four cells, along rows and columns."),
    normal=Datum("m^-1", (2,), about="Outward normal, along rows and columns, over the side of a cell."),
    piece=Datum(about="Part of the contour that the point stands for."),
    threshold=Parameter(default=0.5, about="Dose at which the material develops."),
    least_slope=Parameter(
        "m^-1",
        bounds=(0.0, inf),
        open=True,
        reason="edges without a slope have no place",
        about="Slope of the dose below which an edge counts as one of this slope.",
    ),
    weight=Parameter(
        "J m^-2", default=1.0, bounds=(0.0, inf), about="Weight of the mean square displacement of edges."
    ),
)
def edge_placement(dose, place, normal, piece, threshold, least_slope, weight):
    """Mean square displacement of the dose's contour along the target's."""
    b, a = place[0], place[1]
    below = dose[0] + a * (dose[1] - dose[0])
    above = dose[2] + a * (dose[3] - dose[2])
    along_row = (1.0 - b) * (dose[1] - dose[0]) + b * (dose[3] - dose[2])
    slope = normal[0] * (above - below) + normal[1] * along_row
    excess = below + b * (above - below) - threshold
    return weight * piece * excess * excess / (slope * slope + least_slope * least_slope)
