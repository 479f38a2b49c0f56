"""How the files beside this one were made, with Gmsh 4.15.2: `pip install gmsh && python generate.py`.

Plain geometry with known areas, volumes and sides, so that the tests need no second reader to compare with.
"""

from collections.abc import Callable
from contextlib import contextmanager
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


FAMILIES: tuple[Callable[[], None], ...] = (plate, block, washer, squares, two_squares)

if __name__ == "__main__":
    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    for family in FAMILIES:
        with model(family.__name__):
            family()
    gmsh.finalize()
