"""States of rods: geometry, frames, sections, files, members; what is refused, with its place and cure."""

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.errors import MinusgradError
from minusgrad_rods import frames
from minusgrad_rods.sections import rectangle_torsion
from tests.support.command import minusgrad
from tests.support.rods import MOMENT, RADIUS, places, rod_scene
from tests.support.toml_scenes import toml_text

ROTATIONS = np.random.default_rng(3)


def lengths_of(x: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.diff(x, axis=0), axis=1)


def test_frames_follow_the_line():
    """d3 along each edge of a helix, d1 of the first edge as near to `normal` as it can be."""
    state = {"kind": "rod_helix", "elements": 60, "radius": 0.3, "pitch": -0.2, "turns": 3.0}
    made = mg.load(rod_scene(state | {"normal": [0, 0, 1]}))
    x, q = places(made), made.fields["q"].values
    axes = frames.axes_of(q)
    edges = np.diff(x, axis=0)
    assert np.abs(axes[:, :, 2] - edges / lengths_of(x)[:, None]).max() < 1e-12
    assert axes[0, 2, 0] > 0.99
    assert abs(x[-1, 2] + 0.6) < 1e-12
    assert np.abs(np.hypot(x[:, 0], x[:, 1]) - 0.3).max() < 1e-12


def test_quaternions_of_all_frames():
    """Axes to a quaternion and back, for rotations by all angles."""
    for vector in ROTATIONS.normal(size=(200, 3)) * 3.0:
        q = frames.rotation_of(vector)
        R = frames.axes_of(q)
        again = frames.of_axes(*R.T)
        assert min(np.abs(again - q).max(), np.abs(again + q).max()) < 1e-12
        half = frames.half_rotations(q)
        whole = frames.multiply(half, half)
        assert min(np.abs(whole - q).max(), np.abs(whole + q).max()) < 1e-12


def test_torsion_of_rectangles():
    """0.1406 a^4 of a square, a b^3 / 3 of a strip, 0.229 a b^3 at 2 to 1 (Timoshenko & Goodier, table 9)."""
    a = np.array([1.0, 100.0, 2.0, 0.5])
    b = np.array([1.0, 1.0, 1.0, 1.0])
    square, strip, two, turned = rectangle_torsion(a, b)
    assert abs(square - 0.140577) < 1e-5
    assert abs(strip / (100.0 / 3.0) - 1.0) < 0.0064
    assert abs(two / 2.0 - 0.2287) < 1e-4
    assert abs(turned * 16.0 - two) < 1e-12


def test_tube_and_circle_and_given():
    """A tube without a hole is a circle; its given numbers are those of a circle."""
    tips = []
    circle = {"kind": "circle", "radius": RADIUS}
    given = {"kind": "given", "area": np.pi * RADIUS**2, "second_moments": [MOMENT, MOMENT]}
    given |= {"torsion": 2.0 * MOMENT, "shear_areas": [np.pi * RADIUS**2 * 6.0 / 7.0] * 2}
    for section in (circle, {"kind": "tube", "radius": RADIUS, "wall": RADIUS}, given):
        made = mg.load(rod_scene({"section": section}, {"shear": True}, tip=[0.0, 1e-3, 2e-3]))
        made.step(20)
        tips.append(places(made)[-1])
    np.testing.assert_allclose(tips[1:], [tips[0]] * 2, rtol=1e-10)


def test_points_of_a_file(tmp_path):
    """A line of three columns in millimetres, closed to a triangle."""
    (tmp_path / "line.csv").write_text("x,y,z\n0,0,0\n400,0,0\n0,300,0\n")
    path = tmp_path / "scene.toml"
    for closed, expected in ((False, [0.4, 0.5]), (True, [0.4, 0.5, 0.3])):
        state = {"kind": "rod_points", "file": "line.csv", "length": "mm", "closed": closed}
        path.write_text(toml_text(rod_scene(state, {"clamps": []}, hold=[])))
        made = mg.load(path)
        x, edges = places(made), len(expected)
        ends = np.roll(x, -1, axis=0)[:edges]
        np.testing.assert_allclose(np.linalg.norm(ends - x[:edges], axis=1), expected)
        assert abs(made.potential.value()) < 1e-20


def test_members_vary_a_load(tmp_path):
    """The tip of a member is that of its own load: twice as much, twice as far."""
    scene = rod_scene({"elements": 6}, tip=[0.0, 0.0, -1e-6], run={"steps": 20})
    scene |= {"observe": [{"kind": "frames", "every": 20}], "ensemble": {"members": 2}}
    varied = '"load.force" = { list = [[0.0, 0.0, -2e-6], [0.0, 0.0, -1e-6]] }'
    (tmp_path / "rods.toml").write_text(toml_text(scene) + f"\n[ensemble.vary]\n{varied}\n")
    done = minusgrad("run", "rods.toml", "--out", "both", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tips = [tip_of_member(tmp_path, k) for k in range(2)]
    assert abs(tips[0] / tips[1] - 2.0) < 1e-6


def tip_of_member(folder, k: int) -> float:
    done = minusgrad("run", "rods.toml", "--member", k, "--out", f"one{k}", cwd=folder)
    assert done.returncode == 0, done.stderr
    return float(mg.open(folder / f"one{k}")["position"][-1][-1, 2])


REFUSED = {
    "a length of zero": ({"length": 0.0}, {}, "length"),
    "no elements": ({"elements": 0}, {}, "elements"),
    "a direction of zeros": ({"direction": [0.0, 0.0, 0.0]}, {}, "direction: needs a length above zero"),
    "a normal along the rod": ({"normal": [2.0, 0.0, 0.0]}, {}, "normal: lies along the rod"),
    "a normal of two numbers": ({"normal": [0.0, 1.0]}, {}, "need 3 numbers"),
    "a negative radius": ({"section": {"kind": "circle", "radius": -1.0}}, {}, "radius"),
    "an unknown section": ({"section": {"kind": "hexagon"}}, {}, "circle"),
    "a wall beyond the radius": (
        {"section": {"kind": "tube", "radius": 0.01, "wall": 0.02}},
        {},
        "is thicker than the radius",
    ),
    "a negative modulus": ({}, {"youngs_modulus": -1.0}, "youngs_modulus"),
    "both moduli": ({}, {"poissons_ratio": 0.3}, "needs one of both"),
    "no second modulus": ({}, {"shear_modulus": None}, "needs one of both"),
    "an unknown end": ({}, {"clamps": ["lasst"]}, "did you mean 'last'"),
    "an end twice": ({}, {"clamps": ["last", "last"]}, "is clamped above"),
    "an axis of zeros": ({}, {"clamps": [{"end": "last", "axis": [0, 0, 0]}]}, "not all zero"),
    "more than a turn": (
        {"kind": "rod_circle", "radius": 1.0, "elements": 9, "angle": 7.0},
        {},
        "use rod_helix",
    ),
    "a helix that is a line back and forth": (
        {"kind": "rod_helix", "radius": 1.0, "elements": 4, "pitch": 0.0, "turns": 2.0},
        {},
        "turns back on itself",
    ),
    "a start along the axis": (
        {"kind": "rod_circle", "radius": 1.0, "elements": 9, "start": [0, 0, 2.0]},
        {},
        "lies along the axis",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    state, rod, words = REFUSED[case]
    scene = rod_scene(state, rod)
    block = scene["compound"][0]
    scene["compound"][0] = {key: value for key, value in block.items() if value is not None}
    with pytest.raises(MinusgradError) as told:
        mg.load(scene)
    assert words in str(told.value), str(told.value)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("0,0,0\n", "needs 2 points"),
        ("0,0,0\n1,0,0\n1,0,0\n2,0,0\n", "1 and 2 are at one place"),
        ("0,0,0\n1,0,0\n0.5,0,0\n", "turns back on itself at point 1"),
        ("0,0,0\nnan,0,0\n", "nan"),
    ],
)
def test_points_that_are_refused(tmp_path, rows, words):
    (tmp_path / "line.csv").write_text("x,y,z\n" + rows)
    state = {"kind": "rod_points", "file": "line.csv", "length": "m"}
    (tmp_path / "scene.toml").write_text(toml_text(rod_scene(state)))
    done = minusgrad("run", "scene.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr, done.stderr


def test_compound_without_a_rod():
    scene = rod_scene()
    scene["state"] = {"kind": "network", "nodes": [[0, 0, 0], [1, 0, 0]], "springs": [[0, 1]], "mass": 1.0}
    scene["hold"] = []
    with pytest.raises(MinusgradError, match="needs a state with rods"):
        mg.load(scene)
