"""Rigid sides: bending to a circle, torsion, force and moment balance, hinges, dynamics, refusals."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import UserError
from minusgrad.adjoint.equilibria.equilibrium import Equilibrium
from minusgrad.app.cli import main
from minusgrad.app.jobs.job_runs import resume
from minusgrad.scene import toml_text
from tests.support.command import files
from tests.support.short_scenes import cut

E = 1e9
OBSERVED = [{"kind": name, "every": 1} for name in ("reactions", "frames", "energies")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spread(points: np.ndarray) -> np.ndarray:
    """All distances between points (n, d)."""
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def moment_of(x: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """The sum of x cross f, a number in the plane."""
    if x.shape[1] == 2:
        return (x[:, 0] * forces[:, 1] - x[:, 1] * forces[:, 0]).sum()
    return np.cross(x, forces).sum(axis=0)


# In the plane ----------------------------------------------------------------------------------------------

LONG, HIGH = 1.0, 0.01
ROUND = 2.0 * np.pi * E * HIGH**3 / 12.0 / LONG
"""The moment that bends the strip to a circle: M L / (E I) = 2 pi."""


def strip(side: dict, steps: int = 8, **more: object) -> dict:
    return {
        "state": {
            "kind": "rectangle",
            "size": [LONG, HIGH],
            "cells": [40, 1],
            "cell": "quadrilaterals",
            "order": 2,
            "density": 1000.0,
        },
        "energy": [{"kind": "st_venant_kirchhoff", "youngs_modulus": E, "poissons_ratio": 0.0}],
        "hold": [{"body": "left"}],
        "compound": [{"kind": "rigid_side", "name": "tip", "body": "right", **side}],
        "stepper": {"kind": "newton", "load_steps": steps, "loads": ["tip_moment.moment", "tip_moment.turn"]},
        "run": {"steps": steps},
        "observe": OBSERVED,
        **more,
    }


def test_a_moment_bends_a_strip_to_a_circle() -> None:
    """Every part of the load turns the end by that part; the support bears the moment and no force."""
    run = mg.run(strip({"moment": ROUND, "turn": 2.0 * np.pi}), out="run")
    x, forces = np.asarray(run["position"]), np.asarray(run["reaction"])
    end = np.abs(x[0, :, 0] - LONG) < 1e-9
    for level in range(1, 9):
        turn = 2.0 * np.pi * level / 8
        radius = LONG / turn
        expected = [radius * np.sin(turn), radius * (1.0 - np.cos(turn)) + 0.5 * HIGH]
        assert x[level, end].mean(axis=0) == pytest.approx(expected, abs=4e-3)
        assert np.abs(spread(x[level, end]) - spread(x[0, end])).max() < 1e-13
        assert moment_of(x[level], forces[level]) == pytest.approx(-ROUND * level / 8, rel=1e-9)
        assert np.abs(forces[level].sum(axis=0)).max() < 1e-8 * ROUND / HIGH


def test_an_end_moment_of_half_a_turn_needs_no_turn() -> None:
    """Up to half a turn the angle needs no hint: at M L / (E I) = 0.9 pi."""
    run = mg.run(strip({"moment": 0.45 * ROUND}, 6, stepper=load_steps(6)), out="run")
    x = np.asarray(run["position"])
    end, turn = np.abs(x[0, :, 0] - LONG) < 1e-9, 0.9 * np.pi
    expected = np.array([np.sin(turn), 1.0 - np.cos(turn)]) * LONG / turn + [0.0, 0.5 * HIGH]
    assert x[-1, end].mean(axis=0) == pytest.approx(expected, abs=4e-3)


def load_steps(steps: int, *names: str) -> dict:
    return {"kind": "newton", "load_steps": steps, "loads": list(names) or ["tip_moment.moment"]}


def block(side: dict, **more: object) -> dict:
    """A block with a stamp on its right side."""
    return {
        "state": {"kind": "rectangle", "size": [2.0, 1.0], "cells": [4, 3], "density": 1000.0},
        "energy": [{"kind": "neo_hookean", "youngs_modulus": 1e6, "poissons_ratio": 0.3}],
        "hold": [{"body": "left"}],
        "compound": [{"kind": "rigid_side", "body": "right", "name": "stamp", **side}],
        "stepper": {"kind": "newton"},
        "run": {"steps": 40},
        "observe": OBSERVED,
        **more,
    }


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("rotates", [True, False])
def test_a_force_on_a_stamp_is_borne_by_the_support(rotates: bool, precision: str) -> None:
    """At its point, with the moment that this gives; a stamp that does not rotate keeps its directions."""
    force = np.array([2e4, -5e4])
    side = {"force": force.tolist(), "point": [2.0, 0.9], "rotates": rotates}
    run = mg.run(block(side, runtime={"precision": precision}), out="run")
    x, f = np.asarray(run["position"]).astype(float), np.asarray(run["reaction"])[-1].astype(float)
    stamp, rough = x[0, :, 0] > 2.0 - 1e-6, 1.0 if precision == "f64" else 1e5
    assert f.sum(axis=0) == pytest.approx(-force, rel=1e-8 * rough)
    assert np.abs(spread(x[-1, stamp]) - spread(x[0, stamp])).max() < 1e-13 * max(1.0, 1e3 * rough - 1e3)
    axis = x[-1, stamp] - x[-1, stamp][0]
    if rotates:
        low, high = x[-1, stamp][[0, -1]]
        place = low + 0.9 * (high - low)
        moment = place[0] * force[1] - place[1] * force[0]
        assert moment_of(x[-1], f) == pytest.approx(-moment, rel=1e-8 * rough)
        assert np.abs(axis[:, 0]).max() > 1e-3
    else:
        assert np.abs(axis[:, 0]).max() < 1e-13 * rough


def test_the_point_of_a_force_is_the_centre_of_the_side() -> None:
    first = mg.load(block({"force": [0.0, -5e4]}))
    second = mg.load(block({"force": [0.0, -5e4], "point": [2.0, 0.5]}))
    for one in (first, second):
        one.step(40)
    assert np.abs(first.fields["x"].values - second.fields["x"].values).max() < 1e-12


def test_a_hinge_lets_a_side_turn_about_its_point() -> None:
    """A strut between a wall and a hinge: the hinge's point stays, its multipliers are its force."""
    side = {"pinned": "xy", "moment": 1e4}
    observed = [*OBSERVED, {"kind": "constraints", "every": 1}]
    run = mg.run(block(side, observe=observed), out="run")
    x, f = np.asarray(run["position"]), np.asarray(run["reaction"])[-1]
    stamp = x[0, :, 0] > 2.0 - 1e-6
    assert x[-1, stamp][[0, -1]].mean(axis=0) == pytest.approx([2.0, 0.5], abs=1e-13)
    assert np.abs(x[-1, stamp, 0] - 2.0).max() > 1e-3
    hinge = -np.asarray(run["multiplier/stamp_pin"])[-1]
    assert hinge == pytest.approx(-f.sum(axis=0), rel=1e-8, abs=1e-6)
    moment = 2.0 * hinge[1] - 0.5 * hinge[0] + 1e4
    assert moment_of(x[-1], f) == pytest.approx(-moment, rel=1e-8)


def test_sensitivities_by_force_moment_and_modulus_are_exact() -> None:
    scene = block(
        {"force": [2e4, -5e4], "moment": 1e4}, stepper={"kind": "newton", "tolerance": {"force": 1e-12}}
    )
    one = mg.load(scene)
    equilibrium = Equilibrium(one.stepper, [], 60)
    assert equilibrium.find()
    slopes = np.random.default_rng(0).normal(size=one.fields["x"].shape)
    names = ["stamp_force.force", "stamp_moment.moment", "neo_hookean.youngs_modulus"]
    found = equilibrium.pulled_back({"x": slopes}, names)
    for name in names:
        owner = equilibrium.owner(name)
        here = owner.parameter(name).copy()
        flat = here.ravel()
        for k in range(flat.size):
            ends, h = [], 1e-4 * abs(flat[k])
            for sign in (1.0, -1.0):
                moved = flat.copy()
                moved[k] += sign * h
                owner.set_parameter(name, moved.reshape(here.shape))
                assert equilibrium.find()
                ends.append(float((slopes * one.fields["x"].values).sum()))
            owner.set_parameter(name, here)
            slope = (ends[0] - ends[1]) / (2.0 * h)
            assert np.ravel(found[name])[k] == pytest.approx(slope, rel=1e-6)


# In space --------------------------------------------------------------------------------------------------


def bar(side: dict, cells: tuple[int, int, int] = (12, 2, 2), **more: object) -> dict:
    """A bar of 4 x 1 x 1, held at its left end."""
    return {
        "state": {
            "kind": "beam",
            "length": 4.0,
            "width": 1.0,
            "height": 1.0,
            "cells": list(cells),
            "density": 1000.0,
            "cell": "hexahedra",
            "order": 2,
        },
        "energy": [{"kind": "linear", "youngs_modulus": 2.6e6, "poissons_ratio": 0.3}],
        "hold": [{"body": "left"}],
        "compound": [{"kind": "rigid_side", "body": "right", "name": "end", **side}],
        "stepper": {"kind": "newton"},
        "run": {"steps": 30},
        "observe": OBSERVED,
        **more,
    }


@pytest.mark.parametrize(
    ("cells", "accurate"), [((6, 2, 2), 4e-2), pytest.param((12, 4, 4), 1e-2, marks=pytest.mark.long)]
)
def test_a_square_bar_is_twisted_as_saint_venant_says(cells: tuple[int, int, int], accurate: float) -> None:
    """Twist per length M / (0.1406 G a^4), away from its ends (Timoshenko & Goodier 1951, 109)."""
    moment = 1.0
    run = mg.run(bar({"moment": moment, "axis": [5.0, 0.0, 0.0]}, cells), out="run")
    x, f = np.asarray(run["position"]), np.asarray(run["reaction"])[-1]
    turn = []
    for place in (4.0 / 3.0, 8.0 / 3.0):
        edge = (np.abs(x[0, :, 0] - place) < 1e-9) & (x[0, :, 1] > 0.5 - 1e-9) & (np.abs(x[0, :, 2]) < 0.4)
        turn.append(((x[-1] - x[0])[edge, 2] / x[0, edge, 1]).mean())
    assert (turn[1] - turn[0]) / (4.0 / 3.0) == pytest.approx(moment / (0.1406 * 1e6), rel=accurate)
    assert moment_of(x[-1], f) == pytest.approx([-moment, 0.0, 0.0], rel=1e-5, abs=1e-6 * moment)
    assert np.abs(f.sum(axis=0)).max() < 1e-7 * moment


def soft_bar(side: dict, **more: object) -> dict:
    """The bar of a few tetrahedra, which turns far."""
    scene = bar(side, (4, 1, 1), **more)
    scene["state"] |= {"cell": "tetrahedra", "order": 1}
    scene["energy"] = [{"kind": "neo_hookean", "youngs_modulus": 2.6e6, "poissons_ratio": 0.3}]
    return scene


def test_an_end_moment_about_a_slanted_axis_and_a_force_balance() -> None:
    """Of a finite rotation: the support bears the force, and about the axis the moment."""
    axis = np.array([1.0, 0.0, 0.0])
    side = {"moment": 3e5, "axis": axis.tolist(), "force": [1e5, 0.0, 0.0]}
    names = ["end_moment.moment", "end_force.force"]
    run = mg.run(soft_bar(side, stepper=load_steps(8, *names), run={"steps": 8}), out="run")
    x, f = np.asarray(run["position"]), np.asarray(run["reaction"])[-1]
    end = np.abs(x[0, :, 0] - 4.0) < 1e-9
    assert np.abs(spread(x[-1, end]) - spread(x[0, end])).max() < 1e-12
    assert f.sum(axis=0) == pytest.approx([-1e5, 0.0, 0.0], abs=1e-3)
    turned = np.linalg.lstsq(x[0, end] - x[0, end].mean(0), x[-1, end] - x[-1, end].mean(0), rcond=None)[0]
    assert np.arctan2(turned[1, 2], turned[1, 1]) > 0.5
    centre = x[-1, end].mean(axis=0)
    assert moment_of(x[-1] - centre, f)[0] == pytest.approx(-3e5, rel=2e-2)  # it leans a little


def test_a_stamp_that_swings_keeps_energy_and_shape() -> None:
    """Explicit steps of a bar with a rigid end, under a sudden moment and force."""
    side = {"moment": 1e4, "axis": [1.0, 0.0, 0.0], "force": [0.0, 2e3, 0.0]}
    scene = soft_bar(side, stepper={"kind": "leapfrog", "dt": 1e-3}, run={"steps": 600})
    scene["observe"] = [{"kind": name, "every": 20} for name in ("energies", "frames", "reactions")]
    run = mg.run(scene, out="run")
    x, total, kinetic = (np.asarray(run[name]) for name in ("position", "total", "kinetic"))
    end = np.abs(x[0, :, 0] - 4.0) < 1e-9
    assert np.abs(total - total[0]).max() < 1e-2 * kinetic.max()
    assert np.abs(spread(x[-1, end]) - spread(x[0, end])).max() < 1e-12
    assert np.abs(x[-1, end] - x[0, end]).max() > 1e-2


def test_a_free_body_with_a_rigid_side_turns_as_its_inertia_says() -> None:
    """Nothing holds it: total momentum is F t, angular momentum M t, whatever swings within."""
    side = {"moment": 50.0, "axis": [0.0, 0.0, 1.0], "force": [0.0, 0.0, 20.0]}
    scene = soft_bar(side, stepper={"kind": "leapfrog", "dt": 1e-3}, run={"steps": 50}, hold=[])
    scene["observe"] = [{"kind": "momenta", "every": 50}]
    run = mg.run(scene, out="run")
    assert np.asarray(run["momentum"])[-1] == pytest.approx([0.0, 0.0, 20.0 * 0.05], abs=1e-10)
    spin = np.asarray(run["angular_momentum"])[-1] - np.asarray(run["angular_momentum"])[0]
    assert spin[2] == pytest.approx(50.0 * 0.05, rel=1e-5)


@pytest.mark.parametrize("d", [2, 3])
def test_the_motion_of_a_body_is_recorded(d: int) -> None:
    """Of a body that is moved by a hold: the displacement of a point, the rotation, and no deviation."""
    centre, far = [0.3, 0.2, 0.1][:d], [0.2, -0.1, 0.05][:d]
    axis = np.array([1.0, 2.0, -1.0]) / np.sqrt(6.0)
    rotation = {"centre": centre, "angle": 2.5} | ({"axis": axis.tolist()} if d == 3 else {})
    scene = {
        "state": {
            "kind": "rectangle" if d == 2 else "box",
            "size": [1.0] * d,
            "cells": [1] * d,
            "density": 1.0,
        },
        "energy": [{"kind": "neo_hookean", "youngs_modulus": 1.0, "poissons_ratio": 0.3}],
        "hold": [{"body": "left", "rotation": rotation, "displacement": far}],
        "stepper": {"kind": "newton", "load_steps": 4},
        "run": {"steps": 4},
        "observe": [{"kind": "rigid_motion", "every": 1, "body": "left", "point": centre}],
    }
    run = mg.run(scene, out="run")
    assert run["rigid_motion/left/displacement"][-1] == pytest.approx(far, abs=1e-12)
    expected = 2.5 if d == 2 else 2.5 * axis
    assert run["rigid_motion/left/rotation"][-1] == pytest.approx(expected, abs=1e-12)
    assert run["rigid_motion/left/deviation"][-1] < 1e-14
    assert np.asarray(run["rigid_motion/left/rotation"])[2] == pytest.approx(
        0.5 * np.array(expected), abs=1e-12
    )


def test_modes_of_a_bar_with_a_rigid_end_are_found() -> None:
    mg.run(block({}), out="run")
    assert main(["modes", "run", "--count", "3"]) == 0


def test_a_run_that_was_interrupted_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    scene = tmp_path / "stamp.toml"
    side = {"force": [2e4, -5e4], "moment": 1e4}
    scene.write_text(toml_text.text(block(side, stepper={"kind": "leapfrog", "dt": 1e-3}, run={"steps": 60})))
    mg.run(scene, out="whole")
    half = cut(tmp_path / "part", scene, {}, 25)
    resume(half)
    assert files(half) == files(tmp_path / "whole")


def test_members_with_other_forces_are_those_alone() -> None:
    side = {"force": [2e4, -5e4]}
    scene = block(side, observe=[{"kind": "frames", "every": 40}])
    forces = [[2e4, -5e4], [0.0, 3e4]]
    scene["ensemble"] = {"vary": {"stamp_force.force": {"list": forces}}}
    x = np.asarray(mg.run(scene, out="run")["position"])[-1]
    for k, force in enumerate(forces):
        alone = mg.load(block({"force": force}))
        alone.step(40)
        assert np.abs(alone.fields["x"].values - x[k]).max() < 1e-9


def test_members_of_other_sizes_are_refused_by_name() -> None:
    """Frames and lengths follow the start of the scene, not that of a member."""
    scene = block({})
    scene["ensemble"] = {"vary": {"state.size": {"list": [[2.0, 1.0], [2.0, 1.5]]}}}
    with pytest.raises(UserError, match="stamp"):
        mg.run(scene, out="run")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"body": "rihgt"}, "body: no body named 'rihgt'; did you mean 'right'"),
        ({"force": [1.0]}, "force: needs 2 numbers, got 1"),
        ({"pinned": "z"}, "pinned: needs different letters of 'xy', got 'z'"),
        ({"pinned": "xx"}, "pinned: needs different letters of 'xy', got 'xx'"),
        ({"moment": 1.0, "axis": [0.0, 0.0, 1.0]}, "axis: that of a moment in space"),
        ({"moment": 1.0, "rotates": False}, "moment: does nothing on a side that does not rotate"),
        ({"body": "left"}, "node 0 is held by 'left', too"),
        ({"body": "top"}, r"node \d+ is held by 'left', too"),
    ],
)
def test_bad_rigid_sides_are_refused(change: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        mg.load(block(change))


def test_two_rigid_sides_that_share_a_node_are_refused() -> None:
    scene = block({}, hold=[])
    scene["compound"].append({"kind": "rigid_side", "body": "top"})
    with pytest.raises(UserError, match=r"top: node \d+ is part of 'stamp"):
        mg.load(scene)


def test_a_side_with_a_moment_passes_its_check() -> None:
    mg.run(block({"force": [2e4, -5e4], "moment": 1e4}), out="run")
    assert main(["check", "run/scene.toml"]) == 0
