"""Networks of rods: frames of beams and trusses against closed forms, rings, files, and what is refused."""

from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.errors import MinusgradError
from tests.support.command import minusgrad
from tests.support.laws import fitted_order
from tests.support.rods import EA, EI, GJ, RADIUS, network_scene, places, rod_scene, solved
from tests.support.toml_scenes import toml_text

THIN = {"kind": "circle", "radius": RADIUS / 5.0}
THIN_EI = EI / 5.0**4
CORNER = {"a": [0.0, 0.0, 0.0], "b": [0.6, 0.0, 0.0], "c": [0.6, 0.5, 0.0]}
TWO = [["a", "b"], ["b", "c"]]


def test_corner_out_of_its_plane():
    """Two cantilevers at a right angle: F (a^3 + b^3) / 3 EI + F a b^2 / GJ, of second order."""
    a, b, force = 0.6, 0.5, 1e-6
    exact = (a**3 + b**3) / (3.0 * EI) + a * b**2 / GJ
    errors = []
    for n in (4, 8, 16):
        scene = network_scene(CORNER, TWO, {"elements": n}, {"clamps": ["a"]}, {"c": [0, 0, -force]}, "a")
        errors.append(abs(-places(solved(scene))[2, 2] / force / exact - 1.0))
    assert errors[-1] < 7e-4
    assert abs(fitted_order(errors, (4, 8, 16)) - 2.0) < 0.1


def portal_sway(h: float, span: float) -> float:
    """Sway of a portal frame per force at its top and EI, by slope deflection (axially stiff)."""
    stiff = np.array([[24.0 / h**3, -12.0 / h**2], [-6.0 / h**2, 4.0 / h + 6.0 / span]])
    return float(np.linalg.solve(stiff, [1.0, 0.0])[0])


def test_portal_frame():
    """A frame with two clamped legs that is pushed at the top, of second order."""
    h, span = 0.5, 0.8
    nodes = {"a": [0, 0, 0], "b": [0, 0, h], "c": [span, 0, h], "d": [span, 0, 0]}
    rods = [["a", "b"], ["b", "c"], ["c", "d"]]
    force, exact, errors = 1e-4 * THIN_EI, portal_sway(h, span), []
    for n in (8, 16):
        scene = network_scene(
            nodes, rods, {"elements": n, "section": THIN}, {"clamps": ["a", "d"]}, {"b": [force, 0, 0]}, "ad"
        )
        errors.append(abs(places(solved(scene))[1, 0] / 1e-4 / exact - 1.0))
    assert errors[-1] < 8e-3
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.15


@pytest.mark.parametrize("rigid", [True, False])
def test_joints_of_a_corner(rigid):
    """A corner on two hinges opens by its bending; with a pinned corner it is no frame and does not bend."""
    nodes = {"a": [0, 0, 0], "b": [0.5, 0, 0.5], "c": [1.0, 0, 0]}
    scene = network_scene(nodes, TWO, {} if rigid else {"pinned": ["b"]}, {}, {}, "ac")
    made = mg.load(scene)
    assert ("rod_branches" in made.potential.terms) is rigid
    assert len(made.fields["q"].values) == 16 + rigid
    assert abs(made.potential.value()) < 1e-25
    for field in "xq":
        assert np.abs(made.potential.gradient(field)).max() < 1e-11


def test_pinned_tripod():
    """A truss of three bars under a force at the top: F l / (3 EA sin^2), to first order."""
    base = {
        name: [np.cos(t), np.sin(t), 0.0]
        for name, t in zip("abc", 2.0 * np.pi / 3.0 * np.arange(3), strict=True)
    }
    rods = [[name, "t"] for name in "abc"]
    force = 1e-7 * EA
    state = {"elements": 1, "pinned": "all"}
    scene = network_scene(base | {"t": [0.0, 0.0, 0.75]}, rods, state, {}, {"t": [0, 0, -force]}, "abc")
    made = mg.load(scene)
    made.step(30)
    length = 1.25
    exact = force * length / (3.0 * EA * 0.6**2)
    assert abs((0.75 - places(made)[3, 2]) / exact - 1.0) < 1e-5


def test_ring_of_rods_is_a_circle():
    """Four rods through points of a polygon, rigidly joined, bear what the closed rod bears."""
    n, radius = 16, 0.3
    t = 2.0 * np.pi * np.arange(n) / n
    ring = radius * np.stack([np.cos(t), np.sin(t), 0.0 * t], axis=1)
    nodes = {"abcd"[k]: ring[4 * k].tolist() for k in range(4)}
    rods = [
        {"nodes": ["abcd"[k], "abcd"[(k + 1) % 4]], "through": ring[4 * k + 1 : 4 * k + 4].tolist()}
        for k in range(4)
    ]
    force = 0.05 * EI / radius**2
    scene = network_scene(nodes, rods, {"elements": 1}, {"clamps": []}, {"c": [force, 0, 0]}, "a")
    scene["hold"] += [{"body": "c", "field": "x", "axes": "yz"}]
    one = {"kind": "rod_circle", "elements": n, "radius": radius, "start": [1, 0, 0]}
    circle = rod_scene(one, {"clamps": []}, hold=[])
    found = solved(scene)
    made = mg.load(circle)
    whole = places(made).copy()
    first = {"abcd"[k]: 4 * k for k in range(4)}
    order = [*first.values(), *(k for k in range(n) if k % 4)]
    np.testing.assert_allclose(found.state.fields["x"], whole[order], atol=1e-12)
    moved = places(found)
    made.fields["x"].set(moved[np.argsort(order)])
    made.fields["q"].set(found.fields["q"].values[:n])
    pull = -made.potential.gradient("x")
    assert abs(pull[8, 0] + force) < 1e-9 * force
    inner = np.setdiff1d(np.arange(n), [0, 8])
    assert np.abs(pull[inner]).max() < 1e-8 * force
    assert (
        abs(
            made.potential.value()
            / (
                found.potential.by_term()["rod_edges"]
                + sum(found.potential.by_term()[name] for name in ("rod_bends", "rod_branches"))
            )
            - 1.0
        )
        < 1e-9
    )


def test_gridshell_is_symmetric():
    """A grid of 2 by 2 fields on hinges sags alike in both directions; its parts weigh what they weigh."""
    names = {f"n{i}{j}": [0.3 * i, 0.3 * j, 0.1 * (i % 2 + j % 2)] for i in range(3) for j in range(3)}
    rods = [[f"n{i}{j}", f"n{i + 1}{j}"] for i in range(2) for j in range(3)]
    rods += [[f"n{i}{j}", f"n{i}{j + 1}"] for i in range(3) for j in range(2)]
    corners = ["n00", "n02", "n20", "n22"]
    scene = network_scene(names, rods, {"elements": 2}, {}, {"n11": [0, 0, -1e-3]})
    scene["hold"] = [{"body": name, "field": "x"} for name in corners]
    x = places(solved(scene))[:9]
    sag = (x[:, 2] - np.array([place[2] for place in names.values()])).reshape(3, 3)
    np.testing.assert_allclose(sag, sag.T, atol=1e-10)
    np.testing.assert_allclose(sag, sag[::-1], atol=1e-10)
    assert sag[1, 1] < -5e-6


def test_files_and_parts(tmp_path):
    """Nodes and rods of two CSV files; parts that no rod joins are allowed, and named."""
    (tmp_path / "nodes.csv").write_text("name,x,y,z\na,0,0,0\nb,400,0,0\nc,0,300,0\nd,0,600,0\n")
    (tmp_path / "rods.csv").write_text("first,last\na,b\nc,d\n")
    scene = network_scene({}, [], {"nodes_file": "nodes.csv", "rods_file": "rods.csv", "length": "mm"})
    (tmp_path / "net.toml").write_text(toml_text(scene))
    made = mg.load(tmp_path / "net.toml")
    np.testing.assert_allclose(places(made)[:4, 0], [0.0, 0.4, 0.0, 0.0])
    assert any("2 parts that no rod joins: a, b; c, d" in text for text in made.remarks)


def test_nodes_that_are_clamped():
    """A pinned node is clamped rod by rod, and its wall turns them all; a rigid one is refused."""
    nodes = {"a": [0, 0, 0], "b": [0.5, 0, 0], "c": [-0.5, 0, 0]}
    rods = [["a", "b"], ["a", "c"]]
    turned = {"clamps": [{"end": "a", "angle": 0.3, "axis": [0, 1, 0]}]}
    x = places(solved(network_scene(nodes, rods, {"pinned": ["a"]}, turned, {}, "a")))
    np.testing.assert_allclose(x[1:3, 2], [-0.5 * np.sin(0.3), 0.5 * np.sin(0.3)], rtol=1e-9)
    for rod, words in (
        (turned, "'a' is a rigid node of several rods, got no end; name it in [state] `pinned`"),
        ({"clamps": ["z"]}, "no end named 'z'"),
        ({"couples": [{"end": "a", "moment": 1.0}]}, "rigid node"),
    ):
        with pytest.raises(MinusgradError) as told:
            mg.load(network_scene(nodes, rods, {}, rod))
        assert words in str(told.value), str(told.value)


STRAIGHT = {"a": [0, 0, 0], "b": [1.0, 0, 0], "c": [2.0, 0, 0]}
REFUSED: dict[str, tuple[dict[str, Any], Any, dict[str, Any], str]] = {
    "coinciding nodes": (STRAIGHT | {"d": [1.0, 0, 0]}, [["a", "b"]], {}, "'b' and 'd' are at one place"),
    "no such node": (STRAIGHT, [["a", "x"]], {}, "rods.0: no node named 'x'"),
    "one name": (STRAIGHT, [["a"]], {}, "joins two nodes, got 1"),
    "a rod to itself": (STRAIGHT, [["a", "a"], ["b", "c"]], {}, "joins 'a' with itself"),
    "twins": (STRAIGHT, [["a", "b"], ["b", "c"], ["b", "a"]], {}, "rods.2: joins 'b' and 'a' as rod 0"),
    "an idle node": (STRAIGHT, [["a", "b"]], {}, "'c' is of no rod"),
    "a pinned node that there is not": (STRAIGHT, TWO, {"pinned": ["q"]}, "pinned: no node named 'q'"),
    "a folded rod": (
        STRAIGHT,
        [{"nodes": ["a", "b"], "through": [[0.5, 0, 0], [0.2, 0, 0]]}, ["b", "c"]],
        {},
        "turns back on itself",
    ),
    "a piece without length": (
        STRAIGHT,
        [{"nodes": ["a", "b"], "through": [[0.0, 0, 0]]}, ["b", "c"]],
        {},
        "are at one place",
    ),
    "a normal along the rod": (
        STRAIGHT,
        [{"nodes": ["a", "b"], "normal": [1, 0, 0]}, ["b", "c"]],
        {},
        "normal: lies along the rod",
    ),
    "bodies of one name": (
        STRAIGHT,
        [{"nodes": ["a", "b"], "name": "c"}, ["b", "c"]],
        {},
        "two bodies are named 'c'",
    ),
    "a negative radius": (STRAIGHT, TWO, {"section": {"kind": "circle", "radius": -1.0}}, "radius"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    nodes, rods, state, words = REFUSED[case]
    with pytest.raises(MinusgradError) as told:
        mg.load(network_scene(nodes, rods, state))
    assert words in str(told.value), str(told.value)


def test_check_finds_nothing(tmp_path):
    """All derivatives of a frame with a moment on its end."""
    rod = {"clamps": ["a"], "couples": [{"end": "c", "moment": 1e-3, "axis": [0, 0, 1]}]}
    scene = network_scene(CORNER, TWO, {"elements": 2}, rod, {"c": [0, 0, -1e-3]}, "a", title="corner")
    (tmp_path / "net.toml").write_text(toml_text(scene | {"run": {"steps": 20}}))
    done = minusgrad("check", tmp_path / "net.toml")
    assert done.returncode == 0, done.stdout + done.stderr
