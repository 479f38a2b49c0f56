"""Distances, angles and dihedral angles of points, of nearest images in a box; their calls.

    distance(p1, p2), angle(p1, p2, p3), dihedral(p1, p2, p3, p4)    of particles, or of groups g1, g2, ...
    pointdistance, pointangle, pointdihedral                         the same of 2, 3, 4 times x, y, z
    periodicdistance(x, y, z, x0, y0, z0)                            in the box, always

In a box each difference d of two points is that of their nearest images, as OpenMM reduces it:

    d <- d - c_k floor(d_k / c_kk + 1/2) for k = 3, 2, 1, c_k the edge vectors

which has a kink at half the box, and in a skewed box a jump. Angles are in [0, pi], with the derivative 0
where they are flat; dihedral angles in (-pi, pi], 0 for cis, of the sign of OpenMM's torsions.
OpenMM User Guide 8, chapter 20.
"""

import re
from collections.abc import Callable, Mapping

from minusgrad.plugin import ti

from .emission import Writer
from .trees import Call

OF_POINTS = {"distance": 2, "angle": 3, "dihedral": 4}
"""Functions of points, and of how many."""
OF_NUMBERS = {"pointdistance": 2, "pointangle": 3, "pointdihedral": 4}
"""The same of their coordinates."""
Difference = Callable[[str, str], str]


@ti.func
def angle_between(a, b):
    """The angle of two vectors."""
    area = a.cross(b).norm_sqr()
    open_ = area > 0.0
    return ti.atan2(ti.select(open_, ti.sqrt(ti.select(open_, area, 1.0)), 0.0), a.dot(b))


@ti.func
def dihedral_of(p, q, r):
    """The angle by which r is turned around q against p, vectors of a chain."""
    far = q.cross(r)
    return ti.atan2(q.norm() * p.dot(far), p.cross(q).dot(far))


@ti.func
def nearest(d, cell):
    """The difference of the nearest images, in a box whose edge vectors are the rows of `cell`."""
    third = d - ti.floor(d[2] / cell[2, 2] + 0.5) * ti.Vector([cell[2, 0], cell[2, 1], cell[2, 2]])
    second = third - ti.floor(third[1] / cell[1, 1] + 0.5) * ti.Vector([cell[1, 0], cell[1, 1], cell[1, 2]])
    return second - ti.floor(second[0] / cell[0, 0] + 0.5) * ti.Vector([cell[0, 0], cell[0, 1], cell[0, 2]])


PLACES = re.compile(r"\b([xyz]\d+|point\w+)\b")
"""What reads places themselves in the expression of several particles."""
SCOPE = {one.__name__: one for one in (angle_between, dihedral_of, nearest)}
"""What the source of an energy may call."""


def calls_of(points: Mapping[str, str], periodic: bool) -> tuple[dict[str, Callable], dict[str, Callable]]:
    """The texts of the calls by function, and of squares of distances.

    points: the text of each point by its name. periodic: differences are those of nearest images in `cell_`.
    """

    def difference(a: str, b: str) -> str:
        return f"nearest({a} - {b}, cell_)" if periodic else f"({a} - {b})"

    def in_box(a: str, b: str) -> str:
        return f"nearest({a} - {b}, cell_)"

    def named(writer: Writer, call: Call) -> list[str]:
        return [points[name] for name in call.points]

    def of_numbers(writer: Writer, call: Call) -> list[str]:
        numbers = [writer.text_of(one) for one in call.arguments]
        triples = [numbers[k : k + 3] for k in range(0, len(numbers), 3)]
        return [writer.hold(f"ti.Vector([{', '.join(triple)}])") for triple in triples]

    calls = _calls(("distance", "angle", "dihedral"), named, difference)
    calls |= _calls(tuple(OF_NUMBERS), of_numbers, difference)
    calls |= {"periodicdistance": _distance(of_numbers, in_box)}
    squares = {
        "distance": _square(named, difference),
        "pointdistance": _square(of_numbers, difference),
        "periodicdistance": _square(of_numbers, in_box),
    }
    return calls, squares


def _calls(names: tuple[str, ...], points: Callable, difference: Difference) -> dict[str, Callable]:
    """A distance, an angle and a dihedral angle under these names."""

    def angle(writer: Writer, call: Call) -> str:
        a, b, c = points(writer, call)
        return writer.hold(f"angle_between({difference(a, b)}, {difference(c, b)})")

    def dihedral(writer: Writer, call: Call) -> str:
        a, b, c, d = points(writer, call)
        return writer.hold(f"dihedral_of({difference(b, a)}, {difference(c, b)}, {difference(d, c)})")

    return dict(zip(names, (_distance(points, difference), angle, dihedral), strict=True))


def _distance(points: Callable, difference: Difference) -> Callable:
    def distance(writer: Writer, call: Call) -> str:
        return writer.hold(f"{difference(*points(writer, call))}.norm()")

    return distance


def _square(points: Callable, difference: Difference) -> Callable:
    def square(writer: Writer, call: Call) -> str:
        return f"{difference(*points(writer, call))}.norm_sqr()"

    return square
