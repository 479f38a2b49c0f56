"""How the files beside this one were made, with Gmsh 4.15.2: `pip install gmsh && python generate.py`.

Plain geometry with known areas, volumes and sides, so that the tests need no second reader to compare with.
"""

import math
from collections.abc import Callable
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import gmsh

HERE = Path(__file__).parent


def save(name: str, **options: float) -> None:
    """One file; `binary=1` and the like are Gmsh's options Mesh.Binary and the like."""
    settings = {"Binary": 0, "SaveAll": 0, "SaveParametric": 0, "MshFileVersion": 4.1} | options
    for option, value in settings.items():
        gmsh.option.setNumber(f"Mesh.{option}", value)
    gmsh.write(str(HERE / name))


def both(name: str, **options: float) -> None:
    save(f"{name}.msh", **options)
    save(f"{name}_binary.msh", Binary=1, **options)


@contextmanager
def model(name: str):
    gmsh.model.add(name)
    yield gmsh.model
    gmsh.model.remove()


def loop(*corners: tuple[float, float], size: float) -> list[int]:
    """The lines of a closed polygon."""
    points = [gmsh.model.geo.addPoint(x, y, 0.25, size) for x, y in corners]
    pairs = zip(points, points[1:] + points[:1], strict=True)
    return [gmsh.model.geo.addLine(a, b) for a, b in pairs]


def square(size: float, *, clockwise: bool = False) -> int:
    corners = ((0, 0), (0, 1), (1, 1), (1, 0)) if clockwise else ((0, 0), (1, 0), (1, 1), (0, 1))
    return gmsh.model.geo.addPlaneSurface([gmsh.model.geo.addCurveLoop(loop(*corners, size=size))])


def plate() -> None:
    """3 x 1 in the plane z = 0.25: steel 2 x 1 with a hole 0.5 x 0.5, rubber 1 x 1; odd node tags."""
    geo = gmsh.model.geo
    outer = loop((0, 0), (2, 0), (2, 1), (0, 1), size=0.3)
    hole = loop((0.75, 0.25), (1.25, 0.25), (1.25, 0.75), (0.75, 0.75), size=0.2)
    steel = geo.addPlaneSurface([geo.addCurveLoop(outer), geo.addCurveLoop(hole)])
    low, high = geo.addPoint(3, 0, 0.25, 0.3), geo.addPoint(3, 1, 0.25, 0.3)
    right = geo.addLine(low, high)
    around = [geo.addLine(2, low), right, geo.addLine(high, 3), -outer[1]]
    rubber = geo.addPlaneSurface([geo.addCurveLoop(around)])
    geo.synchronize()
    for dimension, entities, name in [
        (0, [1], "pin"), (1, [outer[3]], "clamp"), (1, hole, "hole"), (1, [-right], "pull"),
        (2, [steel], "steel"), (2, [rubber], "rubber"), (2, [steel, rubber], "all of it"), (1, [right], ""),
    ]:  # fmt: skip
        tag = gmsh.model.addPhysicalGroup(dimension, entities)
        if name:
            gmsh.model.setPhysicalName(dimension, tag, name)
    gmsh.model.mesh.generate(2)
    tags = gmsh.model.mesh.getNodes()[0]
    gmsh.model.mesh.renumberNodes(tags, [1001 + 2 * (401 * int(tag) % 1009) for tag in tags])
    both("plate")


def block() -> None:
    """2 x 1 x 1 in two halves, with parametric nodes; two groups have the tag 7 and no name."""
    occ = gmsh.model.occ
    boxes = [(3, occ.addBox(x, 0, 0, 1, 1, 1)) for x in (0, 1)]
    occ.fragment(boxes[:1], boxes[1:])
    occ.synchronize()
    gmsh.model.mesh.setSize(gmsh.model.getEntities(0), 0.5)

    def at(dimension: int, *box: float) -> list[int]:
        return [tag for _, tag in gmsh.model.getEntitiesInBoundingBox(*box, dimension)]

    e = 1e-3
    left, right = at(3, -e, -e, -e, 1 + e, 1 + e, 1 + e), at(3, 1 - e, -e, -e, 2 + e, 1 + e, 1 + e)
    for dimension, entities, name, tag in [
        (3, left, "core", 1), (3, right, "shell", 2), (2, at(2, -e, -e, -e, e, 1 + e, 1 + e), "grip", 1),
        (2, at(2, -e, -e, 1 - e, 2 + e, 1 + e, 1 + e), "", 7),
        (1, at(1, 2 - e, -e, -e, 2 + e, e, 1 + e), "", 7),
    ]:  # fmt: skip
        gmsh.model.addPhysicalGroup(dimension, entities, tag, name)
    gmsh.model.mesh.generate(3)
    both("block", SaveParametric=1)


def washer() -> None:
    """A disc of arcs, everything saved: the node in its centre belongs to no triangle."""
    geo = gmsh.model.geo
    centre, *rim = [geo.addPoint(*p, 0, 0.6) for p in ((0, 0), (1, 0), (-1, 0))]
    inner = [geo.addPoint(x, 0, 0, 0.3) for x in (0.5, -0.5)]
    loops = [
        geo.addCurveLoop([geo.addCircleArc(a, centre, b), geo.addCircleArc(b, centre, a)])
        for a, b in (rim, inner)
    ]
    geo.addPlaneSurface(loops)
    geo.synchronize()
    gmsh.model.addPhysicalGroup(0, [centre], name="centre")
    gmsh.model.addPhysicalGroup(0, [rim[0], centre], name="ends")
    gmsh.model.mesh.generate(2)
    both("washer", SaveAll=1)


def squares() -> None:
    """What is turned over, and what is refused."""
    geo, mesh = gmsh.model.geo, gmsh.model.mesh
    square(0.5, clockwise=True)
    geo.synchronize()
    mesh.generate(2)
    save("clockwise.msh")
    save("version_2.2.msh", MshFileVersion=2.2)
    save("version_4.0.msh", MshFileVersion=4.0)
    mesh.setOrder(2)
    save("order_2.msh")
    mesh.setOrder(1)
    mesh.partition(2)
    save("partitioned.msh")
    mesh.unpartition()
    mesh.recombine()
    both("quadrangles")


def two_squares() -> None:
    """Side by side, one clockwise."""
    geo = gmsh.model.geo
    square(0.5)
    geo.translate([(2, square(0.5, clockwise=True))], 1.5, 0, 0)
    geo.synchronize()
    gmsh.model.mesh.generate(2)
    save("mixed.msh")


def quarter() -> None:
    """A quarter of a plate 2 x 2 with a hole of radius 0.5, in curved triangles of orders 2 and 3."""
    geo, mesh = gmsh.model.geo, gmsh.model.mesh
    points = [geo.addPoint(x, y, 0, 0.3) for x, y in ((0.5, 0), (2, 0), (2, 2), (0, 2), (0, 0.5))]
    centre = geo.addPoint(0, 0, 0)
    lines = [geo.addLine(a, b) for a, b in pairwise(points)]
    arc = geo.addCircleArc(points[4], centre, points[0])
    surface = geo.addPlaneSurface([geo.addCurveLoop([*lines, arc])])
    geo.synchronize()
    for name, curves in {"bottom": lines[:1], "right": lines[1:2], "left": lines[3:], "hole": [arc]}.items():
        gmsh.model.addPhysicalGroup(1, curves, name=name)
    gmsh.model.addPhysicalGroup(2, [surface], name="plate")
    mesh.generate(2)
    mesh.setOrder(2)
    both("quarter")
    mesh.setOrder(3)
    save("order_3.msh")


def kinds() -> None:
    """Quadrilaterals 1 x 1 in 3 x 3 on the left, triangles on the right, in two groups."""
    geo, mesh = gmsh.model.geo, gmsh.model.mesh
    surfaces = [square(0.5)]
    a, b = geo.addPoint(2, 0, 0.25, 0.5), geo.addPoint(2, 1, 0.25, 0.5)
    around = [geo.addLine(2, a), geo.addLine(a, b), geo.addLine(b, 3), -2]
    surfaces.append(geo.addPlaneSurface([geo.addCurveLoop(around)]))
    geo.synchronize()
    for line in (1, 2, 3, 4):
        mesh.setTransfiniteCurve(line, 4)
    mesh.setTransfiniteSurface(surfaces[0])
    mesh.setRecombine(2, surfaces[0])
    for surface, name in zip(surfaces, ("left", "right"), strict=True):
        gmsh.model.addPhysicalGroup(2, [surface], name=name)
    gmsh.model.addPhysicalGroup(1, [4], name="clamp")
    mesh.generate(2)
    save("kinds.msh")
    gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 1)
    mesh.setOrder(2)
    save("kinds_8.msh")
    gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 0)


def pipe() -> None:
    """A quarter of a pipe, radii 1 and 2, length 1: hexahedra, or prisms, or tetrahedra, all of order 2."""
    for name, recombine, order, incomplete in (
        ("pipe_20", True, 2, 1), ("pipe_27", True, 2, 0), ("pipe_8", True, 1, 0), ("pipe_6", False, 1, 0),
        ("pipe_10", None, 2, 0),
    ):  # fmt: skip
        with model(name):
            occ, mesh = gmsh.model.occ, gmsh.model.mesh
            inner = [occ.addPoint(*p, 0) for p in ((1, 0), (0, 1))]
            outer = [occ.addPoint(*p, 0) for p in ((2, 0), (0, 2))]
            centre = occ.addPoint(0, 0, 0)
            arcs = [occ.addCircleArc(ends[0], centre, ends[1]) for ends in (inner, outer)]
            sides = [occ.addLine(inner[k], outer[k]) for k in (0, 1)]
            face = occ.addPlaneSurface([occ.addCurveLoop([sides[0], arcs[1], -sides[1], -arcs[0]])])
            layers = [] if recombine is None else [2]
            made = occ.extrude([(2, face)], 0, 0, 1, numElements=layers, recombine=recombine is not None)
            occ.synchronize()
            if recombine is not None:
                for curve, count in zip((*arcs, *sides), (4, 4, 2, 2), strict=True):
                    mesh.setTransfiniteCurve(curve, count)
                mesh.setTransfiniteSurface(face)
                if recombine:
                    mesh.setRecombine(2, face)
            mesh.setSize(gmsh.model.getEntities(0), 1.0)
            gmsh.model.addPhysicalGroup(3, [made[1][1]], name="pipe")
            gmsh.model.addPhysicalGroup(2, [face], name="bottom")
            gmsh.option.setNumber("Mesh.SecondOrderIncomplete", incomplete)
            mesh.generate(3)
            mesh.setOrder(order)
            save(f"{name}.msh")
            gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 0)


def cooks_membrane() -> None:
    """Cook's membrane in 8 x 8 quadrilaterals of 8 nodes, for the scene of this name."""
    geo, mesh = gmsh.model.geo, gmsh.model.mesh
    points = [geo.addPoint(x, y, 0) for x, y in ((0, 0), (48, 44), (48, 52), (48, 60), (0, 44))]
    lines = [geo.addLine(a, b) for a, b in pairwise([*points, points[0]])]
    face = geo.addPlaneSurface([geo.addCurveLoop(lines)])
    geo.synchronize()
    for line, parts in zip(lines, (8, 4, 4, 8, 8), strict=True):
        mesh.setTransfiniteCurve(line, parts + 1)
    mesh.setTransfiniteSurface(face, cornerTags=[points[0], points[1], points[3], points[4]])
    mesh.setRecombine(2, face)
    groups = (
        (1, lines[4:], "clamp"),
        (1, lines[1:3], "loaded"),
        (0, points[2:3], "middle"),
        (2, [face], "panel"),
    )
    for dimension, entities, name in groups:
        gmsh.model.addPhysicalGroup(dimension, entities, name=name)
    gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 1)
    mesh.generate(2)
    mesh.setOrder(2)
    save("../../scenes/data/cooks_membrane.msh")
    gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 0)


def tube() -> None:
    """A quarter of a ring, radii 10 and 20 mm, in 4 x 8 quadrilaterals of 8 nodes, for inflated_tube."""
    geo, mesh = gmsh.model.geo, gmsh.model.mesh
    centre = geo.addPoint(0, 0, 0)
    points = [geo.addPoint(x, y, 0) for x, y in ((0.01, 0), (0.02, 0), (0, 0.02), (0, 0.01))]
    lines = [
        geo.addLine(points[0], points[1]),
        geo.addCircleArc(points[1], centre, points[2]),
        geo.addLine(points[2], points[3]),
        geo.addCircleArc(points[3], centre, points[0]),
    ]
    face = geo.addPlaneSurface([geo.addCurveLoop(lines)])
    geo.synchronize()
    for line, parts in zip(lines, (4, 8, 4, 8), strict=True):
        mesh.setTransfiniteCurve(line, parts + 1)
    mesh.setTransfiniteSurface(face)
    mesh.setRecombine(2, face)
    names = {"bottom": lines[0], "outer": lines[1], "side": lines[2], "inner": lines[3]}
    for name, line in names.items():
        gmsh.model.addPhysicalGroup(1, [line], name=name)
    gmsh.model.addPhysicalGroup(2, [face], name="tube")
    gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 1)
    mesh.generate(2)
    mesh.setOrder(2)
    save("../../scenes/data/inflated_tube.msh")
    gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 0)


def roof() -> None:
    _roof(12.7, "shell_roof")


def thin_roof() -> None:
    _roof(6.35, "shell_roof_thin")


def _roof(thick: float, name: str) -> None:
    """A quarter of a cylindrical roof in 8 x 2 x 8 hexahedra of 20 nodes, for shell_roof; in mm.

    Radius 2540 of the middle surface, 0.1 rad and 254 long, the crown at the origin, y along the axis. The
    hinge is the line of the middle surface at the straight edge, centre the nodes below the load.
    """
    geo, mesh, radius, angle, long, parts = gmsh.model.geo, gmsh.model.mesh, 2540.0, 0.1, 254.0, 8
    axis, ends = geo.addPoint(0, 0, -radius), []
    for r in (radius - 0.5 * thick, radius, radius + 0.5 * thick):
        crown = geo.addPoint(0, 0, r - radius)
        edge = geo.addPoint(r * math.sin(angle), 0, r * math.cos(angle) - radius)
        ends.append((crown, edge, geo.addCircleArc(crown, axis, edge)))
    faces, centre = [], []
    for (low, low_edge, below), (high, high_edge, above) in pairwise(ends):
        sides = geo.addLine(low, high), geo.addLine(low_edge, high_edge)
        centre.append(sides[0])
        faces.append(geo.addPlaneSurface([geo.addCurveLoop([below, sides[1], -above, -sides[0]])]))
        for line, count in ((below, parts), (above, parts), (sides[0], 1), (sides[1], 1)):
            geo.mesh.setTransfiniteCurve(line, count + 1)
        geo.mesh.setTransfiniteSurface(faces[-1])
        geo.mesh.setRecombine(2, faces[-1])
    made = geo.extrude([(2, face) for face in faces], 0, long, 0, [parts], recombine=True)
    geo.synchronize()
    at_crown = [s for d, s in gmsh.model.getEntities(2) if d == 2 and _on_plane(d, s, 0)]
    hinge = [
        line
        for d, line in gmsh.model.getEntities(1)
        if max(abs(c - e) for c, e in zip(_middle(d, line), _hinge(radius, angle, long), strict=True)) < 1e-6
    ]
    groups = [
        *((1, centre, "centre"), (1, hinge, "hinge")),
        *((2, at_crown, "crown"), (2, faces, "middle")),
        (3, [v for d, v in made if d == 3], "roof"),
    ]
    for dimension, entities, group in groups:
        gmsh.model.addPhysicalGroup(dimension, entities, name=group)
    gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 1)
    mesh.generate(3)
    mesh.setOrder(2)
    save(f"../../scenes/data/{name}.msh")
    gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 0)


def _middle(dimension: int, entity: int) -> list[float]:
    """The middle of the box around an entity."""
    box = gmsh.model.getBoundingBox(dimension, entity)
    return [0.5 * (a + b) for a, b in zip(box[:3], box[3:], strict=True)]


def _hinge(radius: float, angle: float, long: float) -> tuple[float, float, float]:
    """The middle of the hinge of the roof."""
    return radius * math.sin(angle), 0.5 * long, radius * math.cos(angle) - radius


def _on_plane(dimension: int, entity: int, axis: int) -> bool:
    """True if an entity lies where a coordinate is zero."""
    box = gmsh.model.getBoundingBox(dimension, entity)
    return max(abs(box[axis]), abs(box[axis + 3])) < 1e-5


FAMILIES: tuple[Callable[[], None], ...] = (
    plate,
    block,
    washer,
    squares,
    two_squares,
    quarter,
    kinds,
    pipe,
    cooks_membrane,
    tube,
    roof,
    thin_roof,
)

if __name__ == "__main__":
    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    for family in FAMILIES:
        with model(family.__name__):
            family()
    gmsh.finalize()
