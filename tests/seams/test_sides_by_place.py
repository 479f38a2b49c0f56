"""Sides are found where they lie: in every kind of cell and state, with areas on paper, or are refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from minusgrad.assembly.building.sides.found_side import Side
from minusgrad.assembly.building.sides.named_sides import with_named_sides
from minusgrad.assembly.contexts import StateContext
from minusgrad.assembly.registry import Registry
from minusgrad.energies.fields import State
from minusgrad.errors import UserError
from minusgrad.scene.state_tables.sides_table import SideTable
from minusgrad.scene.units import UnitSystem
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.solids import solid
from tests.support.cell_meshes import VTK_CELLS, mesh_of, mixed_plane

SI = UnitSystem.si()
BOX = {"kind": "box", "size": ["20 mm", "10 mm", "10 mm"], "cells": [4, 2, 2], "density": 1.0}
PLATE = {"kind": "rectangle", "size": [2.0, 1.0], "cells": [4, 2], "density": 1.0}


def found(mesh: Mesh, units: UnitSystem = SI, thickness: float = 1.0, **sides: dict) -> dict[str, Side]:
    """The sides of the state of a mesh."""
    tables = {name: SideTable.model_validate_json(json.dumps(one)) for name, one in sides.items()}
    return {side.name: side for side in with_named_sides(solid(mesh, 1.0, thickness), tables, units)[1]}


def made(state: dict, units: UnitSystem = SI, **sides: dict) -> tuple[State, dict[str, Side]]:
    """A state of a kind, as a scene makes it, and its sides."""
    kind, table = state["kind"], {k: v for k, v in state.items() if k != "kind"}
    entry = Registry.load().entry("state", kind)
    assert entry is not None
    text = json.dumps(table | {"sides": sides})
    model = entry.model.model_validate_json(text, context={"units": units})
    context = StateContext(units, 0, Path(), sides=model.sides)  # type: ignore[attr-defined]
    state_made = context.with_sides(model.make(context))  # type: ignore[attr-defined]
    return state_made, {side.name: side for side in context.found_sides}


# Areas on paper ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "k"), VTK_CELLS)
def test_a_face_of_every_kind_of_cell(d: int, k: int) -> None:
    """Of a unit square or cube: area 1 by place and by direction, 2 d of all, and every node on the face."""
    mesh = mesh_of(d, k)
    up = [0.0] * (d - 1) + [1.0]
    sides = found(
        mesh,
        place={"yz"[d - 2]: 1.0},
        direction={"normal": up},
        within={"within": {"box": [up, [1.0] * d]}},
        rest={"minus": ["place"]},
        nodes={"yz"[d - 2]: 1.0, "of": "nodes"},
    )
    there = np.flatnonzero(np.abs(mesh.points[:, -1] - 1.0) < 1e-9)
    for name in ("place", "direction", "within"):
        assert sides[name].area == pytest.approx(1.0, rel=1e-12)
        np.testing.assert_array_equal(sides[name].nodes, there)
        np.testing.assert_array_equal(sides[name].facets, sides["place"].facets)
    assert sides["rest"].area == pytest.approx(2 * d - 1.0, rel=1e-12)
    np.testing.assert_array_equal(sides["nodes"].nodes, there)
    assert sides["nodes"].facets is None


@pytest.mark.parametrize(("d", "k"), VTK_CELLS)
def test_sharp_edges_of_every_kind_of_cell(d: int, k: int) -> None:
    """The corners of a square, the edges of a cube, with the nodes in their middles; not what is flat."""
    mesh = mesh_of(d, k)
    sides = found(mesh, sharp={"edge": {"angle": "30 deg"}})
    x = mesh.points
    ends = (np.isclose(x, 0.0) | np.isclose(x, 1.0)).sum(axis=1)
    np.testing.assert_array_equal(sides["sharp"].nodes, np.flatnonzero(ends >= 2))


def test_cells_of_two_kinds() -> None:
    """The bottom of quadrilaterals beside triangles, thickness 0.5: length 1, area 0.5."""
    sides = found(mixed_plane(), thickness=0.5, low={"y": 0.0}, west={"normal": [-1.0, 0.0]})
    assert sides["low"].area == pytest.approx(0.5)
    assert sides["low"].line(SI) == "side low: 4 facets, 0.5 m^2, 5 nodes"
    assert sides["west"].line(SI) == "side west: 2 facets, 0.5 m^2, 3 nodes"


def ring(order: int) -> Mesh:
    """A ring between radii 1 and 2 in 24 x 2 quadrilaterals, with middles on the circles for order 2."""
    many = 24 * order
    rings = 2 * order + 1
    angle = 2.0 * np.pi * np.arange(many) / many
    radius = np.linspace(1.0, 2.0, rings)
    points = (radius[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)).reshape(-1, 2)

    def node(r: int, a: int) -> int:
        return r * many + a % many

    corners = [(0, 0), (order, 0), (order, order), (0, order)]
    more = [(1, 0), (2, 1), (1, 2), (0, 1)] if order == 2 else []
    cells = [
        [node(r + dr, a + da) for dr, da in corners + more]
        for r in range(0, rings - 1, order)
        for a in range(0, many, order)
    ]
    used = np.unique(cells)
    return Mesh(points[used], np.searchsorted(used, cells).astype(np.int32))


@pytest.mark.parametrize("order", [1, 2])
def test_a_hole(order: int) -> None:
    """Both circles of a ring: polygons of 24 sides, or parabolas, as long as a circle to 1e-5."""
    mesh = ring(order)
    sides = found(
        mesh,
        hole={"near": [0.0, 0.0], "radius": 1.0},
        rim={"near": [0.0, 0.0], "radius": 2.0, "normal": [1.0, 0.0], "angle": "50 deg"},
        both={"within": {"sphere": {"centre": [0.0, 0.0], "radius": 1.2}}},
        east={"near": [2.0, 0.0]},
    )
    length = 48.0 * np.sin(np.pi / 24) if order == 1 else 2.0 * np.pi
    assert sides["hole"].area == pytest.approx(length, rel=1e-12 if order == 1 else 1e-5)
    assert len(sides["hole"].nodes) == 24 * order
    np.testing.assert_array_equal(sides["both"].facets, sides["hole"].facets)
    middles = np.radians(7.5 + 15.0 * np.arange(24))
    assert sides["rim"].facets is not None
    assert len(sides["rim"].facets) == (np.cos(middles) > np.cos(np.radians(50.0))).sum()
    np.testing.assert_allclose(mesh.points[sides["east"].nodes], [[2.0, 0.0]], atol=1e-12)


def test_cylinders_and_spheres_in_space() -> None:
    """Of a cube in 4 x 4 x 4 hexahedra: the nodes at a distance from an axis or a point, counted by hand."""
    state = {"kind": "box", "size": [4.0] * 3, "cells": [4] * 3, "cell": "hexahedra", "density": 1.0}
    _, sides = made(
        state,
        tube={"near": [2.0, 2.0, 0.0], "axis": [0.0, 0.0, 3.0], "radius": 1.0, "of": "nodes"},
        axis={"near": [2.0, 2.0, 1.0], "axis": [0.0, 0.0, 1.0]},
        ball={"near": [2.0, 2.0, 2.0], "radius": 2.0, "of": "nodes"},
        rod={
            "within": {
                "cylinder": {"centre": [2.0, 2.0, 1.0], "axis": [0.0, 0.0, 1.0], "radius": 1.0, "length": 2.0}
            },
            "of": "nodes",
        },
        spot={
            "within": {"cylinder": {"centre": [2.0, 2.0, 4.0], "axis": [0, 0, 1], "radius": 1.5}},
            "z": 4.0,
        },
        line={"x": 0.0, "y": 4.0},
        corner={"x": 0.0, "y": 4.0, "z": 0.0},
    )
    counts = {name: len(side.nodes) for name, side in sides.items()}
    assert counts == {"tube": 20, "axis": 5, "ball": 6, "rod": 15, "spot": 9, "line": 5, "corner": 1}
    assert sides["spot"].area == pytest.approx(4.0)
    assert {name for name, side in sides.items() if side.facets is None} == counts.keys() - {"spot"}


# Rules together ----------------------------------------------------------------------------------------


def test_unions_intersections_and_what_is_left() -> None:
    """Of a box with sides of its own: facets where all are of facets, else nodes; edges by two sides."""
    state, sides = made(
        BOX,
        ends={"union": ["left", "right"]},
        mantle={"minus": ["ends"]},
        edge={"edge": {"between": ["left", "top"]}},
        common={"intersection": ["left", "top"]},
        low={"union": ["bottom"], "minus": ["left"], "of": "nodes"},
        tips={"union": ["left", "edge"]},
        top_end={"union": ["top"], "within": {"box": [["10 mm", 0.0, 0.0], ["20 mm", "10 mm", "10 mm"]]}},
        listed={"nodes": [3, [5, 7]]},
        facing={"normal": [1.0, 0.0, 0.0], "of": "nodes"},
    )
    areas = {name: side.area for name, side in sides.items() if side.area is not None}
    assert areas == pytest.approx({"ends": 2e-4, "mantle": 8e-4, "top_end": 1e-4}, rel=1e-12)
    nodes = {body.name: set(body.nodes.tolist()) for body in state.bodies}
    assert nodes["edge"] == nodes["common"] == nodes["left"] & nodes["top"]
    assert nodes["low"] == nodes["bottom"] - nodes["left"]
    assert nodes["tips"] == nodes["left"]
    assert nodes["listed"] == {3, 5, 6, 7}
    assert nodes["facing"] == nodes["right"]


def test_the_order_of_tables_does_not_matter() -> None:
    _, sides = made(PLATE, a={"union": ["b"]}, b={"union": ["c", "right"]}, c={"x": 0.0})
    assert list(sides) == ["a", "b", "c"]
    assert [side.sizes(SI) for side in sides.values()] == [
        "4 facets, 2 m^2, 6 nodes", "4 facets, 2 m^2, 6 nodes", "2 facets, 1 m^2, 3 nodes",
    ]  # fmt: skip


def test_places_are_those_after_the_origin_in_the_units_of_the_run() -> None:
    """In mm a bare number is one; `origin` moves the body, and areas are in mm^2."""
    mm = UnitSystem.of(length="mm")
    _, sides = made(BOX | {"origin": ["5 mm", 0.0, 0.0]}, mm, near={"x": 5.0}, far={"x": "2.5 cm"})
    assert sides["near"].line(mm) == sides["far"].line(mm).replace("far", "near")
    assert sides["near"].line(mm) == "side near: 8 facets, 100 mm^2, 9 nodes"


def test_a_tolerance_takes_more_or_nothing() -> None:
    _, sides = made(PLATE, thin={"y": 0.0}, wide={"y": 0.3, "tolerance": 0.2, "of": "nodes"})
    assert [len(sides[name].nodes) for name in ("thin", "wide")] == [5, 5]
    with pytest.raises(UserError, match=r"no node is at y = 0\.1, to 0 m|no node is at y = 0\.1 m, to 0 m"):
        made(PLATE, exact={"y": 0.1, "tolerance": 0.0})


def test_bodies_that_repeat() -> None:
    """Along x: bottom and top are sides, with facets across the edge of the box; along both axes: nodes."""
    strip = PLATE | {"periodic": "x"}
    _, sides = made(strip, low={"y": 0.0}, down={"normal": [0.0, -1.0]}, up={"minus": ["low"]})
    assert [side.sizes(SI) for side in sides.values()] == ["4 facets, 2 m^2, 4 nodes"] * 3
    np.testing.assert_array_equal(sides["low"].facets, sides["down"].facets)
    _, sides = made(PLATE | {"periodic": "xy"}, low={"y": 0.0}, rest={"minus": ["low"]})
    assert [side.sizes(SI) for side in sides.values()] == ["4 nodes", "4 nodes"]


STATES = {
    "network": {"kind": "network", "nodes": [[0.0, 0.0], [1.0, 0.0]], "springs": [[0, 1]], "mass": 1.0},
    "balls": {"kind": "balls", "places": [[0.0, 0.0], [1.0, 0.0]]},
}


@pytest.mark.parametrize("kind", STATES)
def test_states_without_facets_have_sides_of_nodes(kind: str) -> None:
    state, sides = made(STATES[kind], end={"x": 1.0}, other={"minus": ["end"]})
    assert [side.line(SI) for side in sides.values()] == ["side end: 1 node", "side other: 1 node"]
    assert {body.name: body.nodes.tolist() for body in state.bodies} == {"end": [1], "other": [0]}


def test_heat_begins_with_temperatures_of_sides() -> None:
    """A model with values by body knows the sides of its mesh; nodes of two temperatures are refused."""
    heat = {"kind": "heat", "mesh": PLATE, "temperature": 300.0, "specific_heat": 1.0}
    state, sides = made(heat | {"bodies": {"hot": 400.0}}, hot={"x": 0.0}, cold={"y": 0.0})
    assert sides["hot"].line(SI) == "side hot: 2 facets, 1 m^2, 3 nodes"
    np.testing.assert_array_equal(state.fields["T"], np.where(state.fields["x"][:, 0] == 0.0, 400.0, 300.0))
    with pytest.raises(
        UserError, match=r"node 0 is in 'hot' and 'cold', which have other temperatures; name a"
    ):
        made(heat | {"bodies": {"hot": 400.0, "cold": 200.0}}, hot={"x": 0.0}, cold={"y": 0.0})
    made(heat | {"bodies": {"hot": 400.0, "cold": 400.0}}, hot={"x": 0.0}, cold={"y": 0.0})


# Refusals ----------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict, str]] = {
    "no such place": (
        {"x": "0.1 mm"},
        "no node is at x = 0.1 mm, to 2.45e-05 mm; the nearest is 0 mm, of 0 mm to 20 mm; correct the place",
    ),
    "inside": (
        {"x": "5 mm"},
        "no facet of the boundary has all of its nodes at x = 5 mm, where 9 nodes are;"
        ' of = "nodes" gives these',
    ),
    "no such radius": (
        {"near": [0.0, 0.0, 0.0], "radius": "3 mm"},
        "no node is at 3 mm from (0 mm, 0 mm, 0 mm), to 2.45e-05 mm; the nearest is 5 mm away; correct"
        " the place",
    ),
    "outside": (
        {"within": {"sphere": {"centre": ["10 mm", "5 mm", "30 mm"], "radius": "1 mm"}}},
        "no node is within the sphere, to 2.45e-08 m; the nearest is 19 mm outside; correct the place",
    ),
    "no such direction": (
        {"normal": [1, 1, 1]},
        "no facet has this normal, the nearest is 54.7 deg off; give another angle",
    ),
    "nothing in common": (
        {"x": 0.0, "nodes": [44]},
        "no node meets all of its rules, got by rule at x = 0 m: 9, nodes: 1; leave one out",
    ),
    "no such node": (
        {"nodes": [3, 45]},
        "nodes: needs numbers from 0 to 44, and ranges [first, last], got 45; correct it",
    ),
    "backwards": (
        {"nodes": [[7, 3]]},
        "nodes: needs numbers from 0 to 44, and ranges [first, last], got [7, 3]; correct it",
    ),
    "no such side": (
        {"union": ["lefty"]},
        "no side or body named 'lefty'; did you mean 'left'? (there are: left, right, front, back, bottom,"
        " top, s)",
    ),
    "itself": ({"union": ["s"]}, "a side cannot need itself, got 's' needs 's'; leave one of them out"),
    "edges have no facets": (
        {"of": "facets", "edge": {"angle": 1.0}},
        'edges have nodes alone, got of = "facets"; leave it out',
    ),
    "short": ({"near": [0.0, 0.0]}, "near: needs 3 numbers, one for each axis, got 2; correct it"),
    "flat normal": ({"normal": [1.0, 0.0]}, "normal: needs 3 numbers, one for each axis, got 2; correct it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_empty_or_impossible_side(name: str) -> None:
    table, message = REFUSED[name]
    with pytest.raises(UserError) as refused:
        made(BOX, s=table)
    assert str(refused.value) == message
    assert refused.value.key[:2] == ("sides", "s")


IN_THE_PLANE: dict[str, tuple[dict[str, dict], str]] = {
    "taken": ({"left": {"x": 0.0}}, "'left' is a body of the state already; give the side another name"),
    "axis": ({"s": {"z": 0.0}}, "z: nodes have 2 axes, got z; leave it out"),
    "cylinder": (
        {"s": {"near": [0.0, 0.0], "axis": [0, 0, 1], "radius": 1.0}},
        "axis: is for bodies in space, got 2 axes; give `near` and a radius, or a sphere",
    ),
    "circle": (
        {"a": {"union": ["b"]}, "b": {"minus": ["c"]}, "c": {"edge": {"between": ["a", "left"]}}},
        "a side cannot need itself, got 'a' needs 'b' needs 'c' needs 'a'; leave one of them out",
    ),
}


@pytest.mark.parametrize("name", IN_THE_PLANE)
def test_refused_in_the_plane(name: str) -> None:
    sides, message = IN_THE_PLANE[name]
    with pytest.raises(UserError) as refused:
        made(PLATE, **sides)
    assert str(refused.value) == message


def test_states_without_places_or_facets() -> None:
    with pytest.raises(UserError, match="normal: is of facets, got a state without; choose nodes by place"):
        made(STATES["balls"], s={"normal": [1.0, 0.0], "of": "nodes"})
    with pytest.raises(UserError, match='the state has no facets, got of = "facets"; leave it out'):
        made(STATES["balls"], s={"x": 0.0, "of": "facets"})
    nowhere = State(fields={"q": np.zeros((3, 1))}, units={"q": "rad"})
    with pytest.raises(UserError, match="are places of nodes, which need a field 'x' of shape"):
        with_named_sides(nowhere, {"s": SideTable(x=0.0)}, SI)


def test_a_long_chain_of_sides() -> None:
    """Each needs the one before: no depth of recursion ends it."""
    chain = {f"s{k}": {"union": [f"s{k - 1}"]} for k in range(1, 1500)}
    _, sides = made(PLATE, s0={"x": 0.0}, **chain)
    assert sides["s1499"].sizes(SI) == "2 facets, 1 m^2, 3 nodes"
