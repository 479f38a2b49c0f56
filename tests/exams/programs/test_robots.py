"""Robots of DiffTaichi as data, robots from a user's lists: counts, shapes, sizes that follow, messages."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.errors import SceneError
from tests.support.command import SCENES

SPRINGS, BOXES = SCENES / "mass_spring.toml", SCENES / "rigid_body.toml"


def built(scene: Path, robot: str, **changes: object) -> BuiltScene:
    return minusgrad.build(scene, {"state.file": f"data/{robot}.toml", "runtime.precision": "f64"} | changes)


def of_text(scene: Path, folder: Path, robot: str, **files: str) -> BuiltScene:
    """The scene with a robot of this text, beside these CSV files."""
    (folder / "scene.toml").write_text(scene.read_text())
    (folder / "robot.toml").write_text(robot)
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return minusgrad.build(folder / "scene.toml", {"state.file": "robot.toml"})


@pytest.mark.parametrize(
    ("robot", "masses", "springs", "muscles", "swing", "stiffness"),
    [
        ("strider", 14, 31, 10, 0.15, 3e4),
        ("robot_a", 6, 11, 11, 0.1, 14000.0),
        ("robot_b", 14, 30, 4, 0.15, 3e4),
        ("robot_c", 20, 46, 8, 0.15, 3e4),
        ("robot_d", 26, 61, 11, 0.15, 3e4),
    ],
)
def test_robots_of_springs(
    robot: str, masses: int, springs: int, muscles: int, swing: float, stiffness: float
) -> None:
    """Counts, springs at rest, layers that are as wide as the robot asks; it moves."""
    simulation = built(SPRINGS, robot)
    state, potential = simulation.state, simulation.potential
    x, edges, data = state.fields["x"], state.tuples["edges"], state.data["springs"]
    assert (x.shape, edges.shape) == ((masses, 2), (springs, 2))
    assert len({frozenset(pair) for pair in edges.tolist()}) == springs
    np.testing.assert_allclose(
        np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1), data["rest"], rtol=1e-14
    )
    assert sorted({*data["swing"].tolist()} - {0.0}) == [swing]
    assert (data["swing"] > 0.0).sum() == muscles
    np.testing.assert_array_equal(
        potential.parameter("actuated_spring.stiffness"), np.full(springs, stiffness)
    )
    assert potential.parameter("of_hidden.w").shape == (springs, 32)
    assert potential.parameter("of_offsets.w").shape == (32, masses, 2)
    simulation.step(200)
    moved = simulation.fields["x"].values
    assert np.isfinite(moved).all()
    assert 1e-3 < np.abs(moved - x).max() < 0.2


@pytest.mark.parametrize(("robot", "upright"), [("robot_b", 4), ("robot_c", 8), ("robot_d", 11)])
def test_muscles_of_boxes_are_their_sides(robot: str, upright: int) -> None:
    state = built(SPRINGS, robot).state
    ends = state.fields["x"][state.tuples["edges"]][state.data["springs"]["swing"] > 0.0]
    along = np.abs(ends[:, 0] - ends[:, 1])
    np.testing.assert_allclose(along, np.tile([0.0, 0.05], (upright, 1)), atol=1e-15)


def test_triangles_stand_on_their_tips() -> None:
    """Robot B: the two lowest masses are tips half a box below the sides of their triangles."""
    x = built(SPRINGS, "robot_b").state.fields["x"]
    tips = x[x[:, 1] < 0.14]
    np.testing.assert_allclose(tips, [[0.125, 0.125], [0.225, 0.125]], atol=1e-15)


@pytest.mark.parametrize(
    ("robot", "boxes", "struts", "joints", "head"),
    [
        ("rigid_a", 5, 6, 1, 0),
        ("rigid_b", 3, 2, 2, 0),
        ("rigid_c", 4, 6, 0, 3),
        ("rigid_leg", 7, 6, 6, 3),
    ],
)
def test_robots_of_boxes(robot: str, boxes: int, struts: int, joints: int, head: int) -> None:
    """Counts; the controller follows; a robot that falls for 0.4 s stays in one piece above the ground."""
    simulation = built(BOXES, robot)
    state, potential = simulation.state, simulation.potential
    assert len(state.fields["x"]) == boxes
    assert len(state.tuples["struts"]) == struts
    assert len(state.tuples["joints"]) == joints
    assert state.bodies[0].nodes.tolist() == [head]
    assert potential.parameter("to_struts.w").shape == (struts, 32)
    assert potential.parameter("from_angles.w").shape == (32, boxes, 2)
    simulation.step(400)
    assert np.abs(simulation.fields["v"].values).max() < 0.5
    assert simulation.fields["x"].values[:, 1].min() > 0.1
    assert gaps(simulation).max(initial=0.0) < (0.04 if joints else 1e-9)


def gaps(simulation: BuiltScene) -> np.ndarray:
    """The distances of the two points of each joint."""
    x, angle = (simulation.fields[name].values for name in ("x", "angle"))
    data = simulation.state.data["joints"]

    def places(slot: int, points: np.ndarray) -> np.ndarray:
        box = simulation.state.tuples["joints"][:, slot]
        c, s = np.cos(angle[box]), np.sin(angle[box])
        turned = np.stack([c * points[:, 0] - s * points[:, 1], s * points[:, 0] + c * points[:, 1]], axis=1)
        return x[box] + turned

    return np.linalg.norm(places(0, data["first"]) - places(1, data["second"]), axis=1)


def test_the_leg_hangs_together_at_the_start() -> None:
    """Joints are closed, and the stiffnesses and gains of struts are those of their places."""
    simulation = built(BOXES, "rigid_leg")
    assert gaps(simulation).max() < 1e-15
    potential = simulation.potential
    np.testing.assert_array_equal(potential.parameter("actuated_strut.k"), [5.0, 20.0, 40.0] * 2)
    np.testing.assert_array_equal(potential.parameter("actuated_strut.gain"), [0.05, 0.08, 0.05] * 2)
    np.testing.assert_array_equal(potential.parameter("joint.k"), np.full(6, 200.0))


def test_the_file_of_the_leg_is_that_of_its_program() -> None:
    made = runpy.run_path(str(SCENES / "data/rigid_leg.py"))
    assert made["robot_text"]() == (SCENES / "data/rigid_leg.toml").read_text()


TRIANGLE = """kind = "spring_robot"
nodes = [[0.1, 0.1], [0.2, 0.1], [0.15, 0.2]]
springs = [
    [0, 1],
    { nodes = [1, 2], swing = 0.0 },
    { nodes = [0, 2], length = 0.12, stiffness = 900.0 },
]
stiffness = 1000.0
swing = 0.1
bodies = { head = [0] }
"""
IN_FILES = """kind = "spring_robot"
nodes = "nodes.csv"
springs = "springs.csv"
bodies = { head = [0] }
"""
NODES = "x, y\n0.1, 0.1\n0.2, 0.1\n0.15, 0.2\n"
COLUMNS = "a, b, length, stiffness, swing\n"
LISTED = (
    f"{COLUMNS}0, 1, 0.1, 1000, 0.1\n1, 2, {float(np.hypot(0.05, 0.1))!r}, 1000, 0\n0, 2, 0.12, 900, 0.1\n"
)


def test_springs_have_values_of_their_own_or_those_of_the_robot(tmp_path: Path) -> None:
    simulation = of_text(SPRINGS, tmp_path, TRIANGLE)
    data = simulation.state.data["springs"]
    np.testing.assert_allclose(data["rest"], [0.1, np.hypot(0.05, 0.1), 0.12], rtol=1e-14)
    np.testing.assert_array_equal(data["swing"], [0.1, 0.0, 0.1])
    np.testing.assert_array_equal(
        simulation.potential.parameter("actuated_spring.stiffness"), [1000.0, 1000.0, 900.0]
    )


def test_a_robot_of_csv_files_is_that_of_its_lists(tmp_path: Path) -> None:
    listed = of_text(SPRINGS, tmp_path, TRIANGLE)
    read = of_text(SPRINGS, tmp_path, IN_FILES, nodes=NODES, springs=LISTED)
    for one in (listed, read):
        one.step(50)
    np.testing.assert_allclose(read.fields["x"].values, listed.fields["x"].values, rtol=1e-12)


PENDULUM = """kind = "boxes"
density = 1.0
centres = [[0.3, 0.4], [0.3, 0.25]]
half_sizes = [[0.1, 0.03], [0.02, 0.1]]
stiffness = 15.0
gain = 0.05
struts = [{ boxes = [0, 1], points = [[0.05, 0.0], [0.0, 0.0]], length = 0.16 }]
joints = [{ boxes = [0, 1], points = [[0.0, -0.03], [0.0, 0.12]] }]
bodies = { head = [1] }
"""
POINTS = "a, b, first_x, first_y, second_x, second_y"
BOX_FILES = {
    "boxes": "x, y, half_x, half_y\n0.3, 0.4, 0.1, 0.03\n0.3, 0.25, 0.02, 0.1\n",
    "struts": f"{POINTS}, length, stiffness, gain\n0, 1, 0.05, 0, 0, 0, 0.16, 15, 0.05\n",
    "joints": f"{POINTS}\n0, 1, 0, -0.03, 0, 0.12\n",
}
FROM_FILES = """kind = "boxes"
density = 1.0
boxes = "boxes.csv"
struts = "struts.csv"
joints = "joints.csv"
stiffness = 15.0
bodies = { head = [1] }
"""


def test_boxes_of_csv_files_are_those_of_their_lists(tmp_path: Path) -> None:
    listed = of_text(BOXES, tmp_path, PENDULUM)
    read = of_text(BOXES, tmp_path, FROM_FILES, **BOX_FILES)
    for one in (listed, read):
        one.step(50)
    np.testing.assert_array_equal(read.fields["x"].values, listed.fields["x"].values)


def test_the_head_is_where_sensors_look_from(tmp_path: Path) -> None:
    """The list of a body has the fractions of its boxes in its mass."""
    simulation = of_text(BOXES, tmp_path, PENDULUM.replace("head = [1]", "head = [0, 1]"))
    m = np.array([0.012, 0.008])
    np.testing.assert_allclose(simulation.state.data["head"]["fraction"], m / m.sum(), rtol=1e-14)
    simulation.step(1)
    at = np.array([[0.3, 0.4], [0.3, 0.25]])
    np.testing.assert_allclose(simulation.fields["centre"].values, [m @ at / m.sum()], rtol=1e-12)


def refused(scene: Path, folder: Path, robot: str, **files: str) -> str:
    with pytest.raises(SceneError) as error:
        of_text(scene, folder, robot, **files)
    assert len(error.value.problems) == 1
    return str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0, 1],", "[0, 3],", "robot.toml:4:5: springs.0: no node 3; there are 3, counted from 0"),
        ("[0, 1],", "[1, 1],", "robot.toml:4:5: springs.0: joins node 1 with itself; name another one"),
        (
            "[0, 1],",
            "[2, 1],",
            "robot.toml:5:5: springs.1: joins nodes 1 and 2, as spring 0 does; leave one of them out",
        ),
        ("[0.15, 0.2]", "[0.2, 0.1]", "robot.toml:2:34: nodes.2: is node 1 again, at [0.2, 0.1]; leave one"),
        ("[0.15, 0.2]", "[0.2]", "robot.toml:2:34: nodes.2: has 1 numbers; give 2 for each, or 3 for each"),
        ("[0.15, 0.2]", "[0.15, inf]", "robot.toml:2:41: nodes.2.1: needs a finite number, not inf"),
        ("swing = 0.1", "swing = 0.0", "a robot needs muscles, got none among its springs (3); give `swing`"),
        ("swing = 0.1", "swing = 1.5", "robot.toml:9:9: swing: "),
        ("stiffness = 1000.0\n", "", "springs.0: needs its own 'stiffness', as others have one; give it, or"),
        ("head = [0]", "head = [7]", "robot.toml:10:19: bodies.head: no mass 7; there are 3"),
        ("spring_robot", "sping_robot", "kind: no kind named 'sping_robot'; did you mean 'spring_robot'?"),
        ('kind = "spring_robot"\n', "", "robot.toml:1:1: kind: required, but missing"),
        ("bodies", "bodes", "robot.toml:10:1: bodes: "),
    ],
)
def test_mistakes_of_a_robot_of_springs(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TRIANGLE
    assert message in refused(SPRINGS, tmp_path, TRIANGLE.replace(old, new, 1))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"springs": LISTED.replace("0, 1,", "0, 5,")}, "springs.csv:2: no node 5; there are 3, counted"),
        ({"springs": LISTED.replace("0, 1,", "0.5, 1,")}, "springs.csv:2: no node 0.5; there are 3"),
        ({"springs": LISTED.replace("900", "nan")}, "springs.csv:4: column 'stiffness': needs a finite"),
        (
            {"springs": LISTED.replace("900", "-900")},
            "springs.csv:4: column 'stiffness': needs a number above",
        ),
        ({"springs": LISTED.replace("0.12", "0")}, "springs.csv:4: column 'length': needs a number above 0"),
        (
            {"springs": LISTED.replace("0.1\n", "1.1\n")},
            "springs.csv:2: column 'swing': needs a number from 0",
        ),
        ({"springs": LISTED.replace("swing", "sving")}, "no column named 'sving'; did you mean 'swing'?"),
        ({"nodes": NODES.replace("0.15, 0.2", "0.1, 0.1")}, "nodes.csv:4: is node 0 again, at [0.1, 0.1]"),
        ({"nodes": NODES.replace("x,", "z,")}, "no column named 'x'"),
        (
            {"springs": LISTED.replace("0.1\n", "0\n")},
            "a robot needs muscles, got none among its springs (3)",
        ),
    ],
)
def test_mistakes_of_files_stand_at_their_lines(tmp_path: Path, changed: dict, message: str) -> None:
    files = {"nodes": NODES, "springs": LISTED} | changed
    found = refused(SPRINGS, tmp_path, IN_FILES, **files)
    assert message in found
    assert found.startswith("robot.toml:")


ARCH = """kind = "box_robot"
body = [[0, 1], [1, 1]]
legs = [[0, 0]]
triangles = [{ box = [1, 0], side = "top" }]
muscles = [{ boxes = [[0, 0]], sides = ["left", "right"] }]
size = 0.05
origin = [0.1, 0.1]
swing = 0.15
stiffness = 3e4
bodies = { head = [0] }
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("legs = [[0, 0]]", "legs = [[1, 1]]", "box [1, 1] is named twice; name it once"),
        (
            "boxes = [[0, 0]]",
            "boxes = [[2, 0]]",
            "robot.toml:5:23: muscles.0.boxes.0: no box [2, 0]; name it",
        ),
        ('"left", "right"', '"west"', "robot.toml:5:41: muscles.0.sides.0: "),
        ("box = [1, 0]", "box = [1, 1]", "robot.toml:4:14: triangles.0: lies in box [1, 1]; leave one"),
        ("size = 0.05", "size = 0.0", "robot.toml:6:8: size: needs a quantity above 0, not 0.0"),
        ("swing = 0.15", "swing = 0.0", "a robot needs muscles, got none among its springs (18)"),
    ],
)
def test_mistakes_of_a_robot_of_shapes(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in ARCH
    assert message in refused(SPRINGS, tmp_path, ARCH.replace(old, new))


def test_muscles_are_chosen_springs_of_legs_or_all(tmp_path: Path) -> None:
    """Where none are chosen, all springs of legs that the body has not; a choice may have its own swing."""
    chosen = of_text(SPRINGS, tmp_path, ARCH).state.data["springs"]["swing"]
    every = of_text(SPRINGS, tmp_path, "\n".join(ARCH.splitlines()[:4] + ARCH.splitlines()[5:]))
    own = of_text(SPRINGS, tmp_path, ARCH.replace('"right"]', '"right"], swing = 0.05'))
    assert (chosen > 0.0).sum() == 2
    assert (every.state.data["springs"]["swing"] > 0.0).sum() == 5
    assert sorted({*own.state.data["springs"]["swing"].tolist()}) == [0.0, 0.05]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0.02, 0.1]]", "[0.02, 0.1], [1.0, 1.0]]", "half_sizes: got 3 for 2 boxes; give one for each"),
        ("head = [1]", "head = [2]", "bodies.head: no box 2; there are 2, counted from 0"),
        ("{ head", "{ struts", "bodies.struts: is the name of a list of the state; choose another one"),
        (
            "boxes = [0, 1], points = [[0.05",
            "boxes = [0, 9], points = [[0.05",
            "struts.0: no box 9; there are 2",
        ),
        (
            "boxes = [0, 1], points = [[0.0,",
            "boxes = [1, 1], points = [[0.0,",
            "joints.0: joins box 1 with itself",
        ),
        ("bodies", "angles = [0.0]\nbodies", "angles: got 1 for 2 boxes; give one for each"),
        ("gain = 0.05", "gain = 0.0", "a robot needs muscles, got no struts with a gain"),
        ("centres", "boxes = 'boxes.csv'\ncentres", "boxes: a file has the boxes, got `centres`, too"),
    ],
)
def test_mistakes_of_a_robot_of_boxes(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in PENDULUM
    assert message in refused(BOXES, tmp_path, PENDULUM.replace(old, new, 1), **BOX_FILES)


def test_mistakes_of_files_of_boxes_stand_at_their_lines(tmp_path: Path) -> None:
    files = BOX_FILES | {"boxes": BOX_FILES["boxes"].replace("0.02", "-0.02")}
    found = refused(BOXES, tmp_path, FROM_FILES, **files)
    assert "boxes.csv:3: column 'half_x': needs a number above 0, got -0.02; correct it" in found
    files = BOX_FILES | {"joints": BOX_FILES["joints"].replace("0, 1,", "0, 0,")}
    found = refused(BOXES, tmp_path, FROM_FILES, **files)
    assert "joints.csv:2: joins box 0 with itself; name another one" in found
