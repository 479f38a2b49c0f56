"""Surroundings: what energies, holds and a box say of themselves is saved, read and drawn."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from matplotlib.quiver import Quiver

from minusgrad.assembly.building.surroundings import surroundings as facts_of
from minusgrad.energies.fields import Fields, Hold
from minusgrad.energies.term import Term
from minusgrad.energies.term_spec import TermSpec
from minusgrad.errors import EnergyError
from minusgrad.files import h5md
from minusgrad.plot import meshes
from minusgrad.plot.surroundings import support_artists
from minusgrad.plot.surroundings.saved import Load, RecordedBox, Support, Surroundings, surroundings
from minusgrad.plot.surroundings.scenery import DrawnSurroundings
from minusgrad.plugin import Node, Parameter, Sphere, local_energy
from minusgrad.scene.shapes import Acceleration, Cuboid, Force, Plane, Pressure, shape, table
from minusgrad.scene.units import UnitSystem
from tests.support.recorded_runs import T, recorded_run

STILL = np.tile([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], (len(T), 1, 1))


def _ball(looks, radius=0.5):
    """A term of a stranger's energy over four nodes."""

    @local_energy("ball", over="nodes", looks=looks, x=Node("m", ("d",)), radius=Parameter("m"))
    def ball(x, radius):
        return x[0].norm() - radius

    return ball, radius


def _term(looks, radius=0.5) -> Term:
    energy, given = _ball(looks, radius)
    return Term.of(TermSpec(energy, parameters={"radius": given}), Fields({"x": STILL[0]}, {"x": "m"}))


def test_a_strangers_energy_says_what_it_looks_like() -> None:
    term = _term(lambda radius, d: [Sphere([0.0] * d, radius)])
    found = facts_of([term], [], UnitSystem.si())
    assert found["shapes"] == [{"term": "ball", "kind": "sphere", "centre": [0.0, 0.0], "radius": 0.5}]
    assert found["loads"] == found["supports"] == []


def test_looks_that_fail_name_their_energy() -> None:
    with pytest.raises(EnergyError, match="ball: looks fails: ZeroDivisionError"):
        facts_of([_term(lambda radius: [Sphere(0.0, 1 / 0)])], [], UnitSystem.si())
    with pytest.raises(EnergyError, match="ball: looks: gives a str, not one of plane, sphere"):
        facts_of([_term(lambda radius: ["a ball"])], [], UnitSystem.si())
    with pytest.raises(EnergyError, match="energy 'ball': looks takes parameters and d"):
        _ball(lambda stiffness: [])


@pytest.mark.parametrize(("end", "hatched"), [(-1.0, True), (1.0, False)])
def test_a_wall_never_hides_a_body(end: float, hatched: bool) -> None:
    """Of a bar in space the far wall is hatched, the near one a rim; both are behind the bar."""
    corners = np.array([[0.0, y, z] for y in (-0.2, 0.2) for z in (-0.2, 0.2)])
    bar = np.concatenate([corners + np.array([x, 0.0, 0.0]) for x in np.linspace(-1.0, 1.0, 5)])
    held = Support("wall", np.flatnonzero(bar[:, 0] == end), (0, 1, 2), False)
    axes = Figure().subplots()
    axes.set(xlim=(-2, 2), ylim=(-2, 2))
    turned = np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0], [0.8, -0.6, 0.0]])  # the eye is on the side of +x
    support_artists.draw_supports(axes, [held], bar, turned)
    (wall,) = axes.patches
    assert (wall.get_hatch() is not None) == hatched
    assert wall.get_zorder() < 1.0
    assert (wall.get_facecolor()[3] > 0.0) == hatched
    seen = wall.get_path().vertices
    assert np.ptp(seen[:, 1]) == pytest.approx(0.4 * 1.3), "along the edges of the bar, somewhat larger"


def test_a_hold_is_a_support_with_its_axes() -> None:
    held = Hold("pin", "x", np.arange(2000), axes=(1,), displacement=(0.1,))
    (found,) = facts_of([], [held], UnitSystem.si())["supports"]
    assert (found["name"], found["axes"], found["moves"]) == ("pin", [1], True)
    assert found["nodes"][0] == 0
    assert found["nodes"][-1] == 1999
    assert len(found["nodes"]) == 400


@pytest.mark.unit
def test_a_run_folder_gives_its_surroundings_back(tmp_path: Path) -> None:
    saved = {
        "shapes": [{"term": "floor", **table(Plane([0.0, 0.0], [0.0, 1.0]))}],
        "loads": [{"term": "pull", "unit": "N", "elements": [[1, 2]], **table(Force([2.0, 0.0]))}],
        "supports": [{"name": "wall", "field": "x", "nodes": [0, 3], "axes": None, "moves": False}],
    }
    run = recorded_run(tmp_path / "run", {"position": STILL}, meta={"surroundings": saved})
    found = surroundings(run)
    ((term, plane),) = found.planes
    assert term == "floor"
    assert np.array_equal(plane.normal, [0.0, 1.0])
    (load,), (support,) = found.loads, found.supports
    assert np.array_equal(load.elements, [[1, 2]])
    assert load.unit == "N"
    assert support.axes == (0, 1)
    assert np.array_equal(support.nodes, [0, 3])
    assert found
    assert found.box is None


@pytest.mark.unit
def test_the_box_of_each_step(tmp_path: Path) -> None:
    edges = np.eye(2) * (1.0 + T)[:, None, None]
    run = recorded_run(tmp_path / "run", {"position": STILL, "box/edges": edges})
    assert surroundings(run).box is None  # it is recorded, but repeats along no axis
    assert h5md.EDGES == "particles/all/box/edges"


@pytest.mark.unit
def test_shapes_are_data() -> None:
    plane = shape(table(Plane([0, 1], [0, -2])))
    assert isinstance(plane, Plane)
    assert plane.point.tolist() == [0.0, 1.0]
    with pytest.raises(EnergyError, match="radius of a sphere must be finite"):
        table(Sphere([0.0, 0.0], np.inf))


# Drawn --------------------------------------------------------------------------------------------------

SQUARE = STILL[0]
RIM = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])


def _axes(around: Surroundings, x=SQUARE, view=None, low=(-1.0, -1.0), high=(2.0, 2.0)):
    axes = Figure().subplots()
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    DrawnSurroundings(around, np.eye(x.shape[1]) if view is None else view).draw(axes, x, 0)
    return axes


@pytest.mark.unit
def test_a_picture_of_a_run_has_its_ball_and_floor(tmp_path: Path) -> None:
    shapes = [
        {"term": "floor", **table(Plane([0.0, -0.4], [0.0, 3.0]))},
        {"term": "ball", **table(Sphere([0.5, 0.0], 0.3))},
    ]
    meta = {"surroundings": {"shapes": shapes, "loads": [], "supports": []}}
    run = recorded_run(tmp_path / "run", {"position": STILL}, meta=meta, lists={"rim": RIM})
    figure = Figure()
    meshes.draw(figure, run, {"rim": RIM}, {})
    (axes,) = figure.axes
    (disc,) = (one for one in axes.patches if isinstance(one, Circle))
    assert (*disc.center, disc.radius) == (0.5, 0.0, 0.3)
    assert axes.get_ylim()[0] < -0.4, "the floor is seen"
    (ground,) = (one for one in axes.patches if isinstance(one, Polygon))
    assert ground.get_xy()[:, 1].max() == pytest.approx(-0.4)


@pytest.mark.unit
def test_forces_are_arrows_with_their_size_and_pressure_is_against_the_surface() -> None:
    pull = Load("pull", Force(np.array([4.0, 0.0])), "m kg s^-2", np.array([[1], [2]]))
    axes = _axes(Surroundings(loads=[pull]))
    (arrows,) = (one for one in axes.collections if isinstance(one, Quiver))
    assert (arrows.U > 0).all()
    assert not arrows.V.any()
    assert [text.get_text() for text in axes.texts] == ["4 N"]
    press = Load(
        "press", Pressure(np.float64(5.0)), "m^-1 kg s^-2", RIM
    )  # counter-clockwise: outside is right
    axes = _axes(Surroundings(loads=[press]))
    (arrows,) = (one for one in axes.collections if isinstance(one, Quiver))
    feet = np.stack([arrows.X + arrows.U, arrows.Y + arrows.V], axis=1)
    assert sorted(map(tuple, feet.round(9).tolist())) == [(0.0, 0.5), (0.5, 0.0), (0.5, 1.0), (1.0, 0.5)]
    assert [text.get_text() for text in axes.texts] == ["5 Pa"]


@pytest.mark.unit
def test_an_acceleration_stands_above_the_picture() -> None:
    weight = Load("weight", Acceleration(np.array([0.0, -9.81])), "m s^-2", np.empty((0, 1), int))
    axes = _axes(Surroundings(loads=[weight]))
    assert axes.get_title(loc="right") == "\u2193 9.81 m s\u207b\u00b2"


@pytest.mark.unit
def test_held_rows_are_walls_and_single_nodes_have_symbols() -> None:
    x = np.concatenate([SQUARE, [[0.0, 0.5]]])
    wall = Support("wall", np.array([0, 3, 4]), (0, 1), False)
    axes = _axes(Surroundings(supports=[wall]), x)
    (lines,) = axes.collections
    line, *ticks = lines.get_segments()
    np.testing.assert_allclose(line[:, 0], 0.0, atol=1e-12)
    assert len(ticks) > 5
    assert all(tick[1, 0] < 0.0 for tick in ticks), "hatched on the far side of the body"
    roller = Support("roller", np.array([0, 1]), (1,), False)
    (marks,) = _axes(Surroundings(supports=[roller]), x).lines
    assert (marks.get_marker(), len(marks.get_xdata())) == ("o", 2)


@pytest.mark.unit
def test_lines_through_the_faces_of_a_box_are_left_out_and_its_edges_are_drawn() -> None:
    box = RecordedBox(np.array([0, 10]), np.array([np.eye(2) * 4.0, np.eye(2) * 8.0]), (True, True))
    scenery = DrawnSurroundings(Surroundings(box=box), np.eye(2))
    x = np.array([[0.2, 1.0], [3.9, 1.0], [1.5, 1.0]])
    assert scenery.shortened(x, np.array([[0, 1], [0, 2]]), 5).tolist() == [False, True]
    assert scenery.shortened(x, np.array([[0, 1], [0, 2]]), 10).tolist() == [True, True]
    low, high = scenery.widened(np.array([0.2, 0.9]), np.array([3.9, 1.1]))
    assert (low.tolist(), high.tolist()) == ([0.0, 0.0], [8.0, 8.0])
    (edges,) = _axes(Surroundings(box=box)).collections
    assert len(edges.get_segments()) == 4


@pytest.mark.unit
def test_things_in_space_are_behind_or_before_the_bodies() -> None:
    x = np.random.default_rng(0).uniform(size=(8, 3))
    view = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # the eye on -y
    far, near = Sphere(np.array([0.0, 5.0, 0.0]), 1.0), Sphere(np.array([0.0, -5.0, 0.0]), 1.0)
    axes = _axes(Surroundings(spheres=[("far", far), ("near", near)]), x, view)
    orders = [one.get_zorder() for one in axes.patches if isinstance(one, Circle)]
    assert orders[0] < 1.0 < 4.0 < orders[1]
    boxes = _axes(Surroundings(cuboids=[("crate", Cuboid(np.zeros(3), np.ones(3)))]), x, view).collections
    assert len(boxes) == 3, "the three faces that the eye sees"
    floor = Plane(np.array([0.0, 0.0, -1.0]), np.array([0.0, 0.0, 1.0]))
    assert _axes(Surroundings(planes=[("floor", floor)]), x, view).collections
