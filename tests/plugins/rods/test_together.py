"""Networks, contact, friction, drag and couples together: engines, precision, heat baths, boxes, resuming."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.app.jobs.job_runs import resume
from tests.support.both_engines import assert_engines_agree
from tests.support.rods import network_scene, rod_scene
from tests.support.short_scenes import cut
from tests.support.toml_scenes import toml_text

NODES = {"a": [0.0, 0.0, 0.3], "b": [0.5, 0.0, 0.3], "c": [0.5, 0.4, 0.3]}
WALL = {"tuples": "edges", "stiffness": 1e6, "normal": [0.0, 0.0, 1.0], "offset": 0.27}


def falling(**more: Any) -> dict[str, Any]:
    """A corner of two rods that falls on a floor, with friction, drag, and a moment on one of its ends."""
    rod = {"shear": True, "couples": [{"end": "c", "moment": 1e-3, "axis": [0, 0, 1]}]}
    scene = network_scene(NODES, [["a", "b"], ["b", "c"]], {"elements": 2, "velocity": [0.5, 0, -1.0]}, rod)
    return (
        scene
        | {
            "energy": [{"kind": "rod_wall"} | WALL, {"kind": "body_force", "acceleration": [0, 0, -9.81]}],
            "dissipation": [
                {"kind": "rod_wall_friction", "coefficient": 0.3, "creep": 0.01} | WALL,
                {"kind": "rod_drag", "tuples": "edges", "viscosity": 0.1, "slenderness": 20.0},
                {"kind": "rod_spin_drag", "tuples": "rod_frames", "viscosity": 0.1},
            ],
            "stepper": {"kind": "leapfrog", "dt": 1e-4},
            "run": {"steps": 60},
        }
        | more
    )


def written(tmp_path: Path, scene: dict[str, Any]) -> Path:
    path = tmp_path / "net.toml"
    path.write_text(toml_text(scene))
    return path


def test_engines_agree(tmp_path):
    assert_engines_agree(written(tmp_path, falling(observe=[{"kind": "frames", "every": 20}])), tmp_path)


def ends(scene: dict[str, Any], steps: int) -> np.ndarray:
    made = mg.load(scene)
    made.step(steps)
    return made.fields["x"].values.astype(np.float64)


def test_precision_and_parts_of_a_run():
    """In f32 to 1e-5; cut in two, the same bits."""
    scene = falling()
    whole = ends(scene, 60)
    assert np.abs(ends(scene | {"runtime": {"precision": "f32"}}, 60) - whole).max() < 1e-5
    made = mg.load(scene)
    made.step(23)
    made.step(37)
    np.testing.assert_array_equal(made.fields["x"].values, whole)


@pytest.mark.long
def test_members_that_are_cut_go_on_and_are_what_they_are_alone(tmp_path):
    """Bit for bit: a network by two moduli that was cut at step 30, without a cut, and the second alone."""
    saved = {"observe": [{"kind": "frames", "every": 10}], "checkpoint": {"every": 10}}
    path = written(tmp_path, falling(**saved))
    varied = '[ensemble]\nmembers = 2\n\n[ensemble.vary]\n"rod.youngs_modulus" = { list = [1e6, 2e6] }\n'
    path.write_text(f"{path.read_text()}\n{varied}")
    whole = mg.run(path, out=tmp_path / "whole")["position"]
    resume(cut(tmp_path / "part", path, {}, 30))
    np.testing.assert_array_equal(mg.open(tmp_path / "part")["position"], whole)
    alone = mg.run(path, {"ensemble.member": 1}, out=tmp_path / "alone")["position"][-1]
    np.testing.assert_array_equal(whole[-1][1], alone)
    assert (whole[-1][0] != alone).any()


def test_periodic_boxes():
    """A rod that reaches through the face of a box bears what it bears without one."""
    free = rod_scene({"elements": 4, "origin": [0.7, 0.5, 0.5]}, {"clamps": [], "shear": True}, hold=[])
    boxed = free | {"box": {"edges": [3.0, 3.0, 3.0]}}
    bent = np.array([0.0, 0.01, 0.03, 0.02, -0.05])[:, None] * [0.3, 0.2, 1.0]
    found = []
    for scene in (free, boxed):
        made = mg.load(scene)
        made.fields["x"].set(made.fields["x"].values + bent)
        found.append([made.potential.value(), *made.potential.gradient("x").ravel()])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-15)


def test_heat_baths():
    """A Langevin bath that draws velocities afresh: kT for each component of nodes and frames, to 10 %."""
    heat, boltzmann = 1e12, 1.380649e-23
    stepper = {"kind": "langevin", "dt": 1e-4, "friction": 1e6, "temperature": heat}
    made = mg.load(rod_scene({"elements": 3}, {"shear": True}, stepper, run={"steps": 400}))
    sums = {"v": 0.0, "q_rate": 0.0}
    for _ in range(200):
        made.step(2)
        for name, inertia in (("v", "m"), ("q_rate", "q_inertia")):
            weights = made.fields[inertia].values[:, None]
            sums[name] += float((weights * made.fields[name].values ** 2).sum())
    free = {"v": 9, "q_rate": 12}
    for name, total in sums.items():
        assert abs(total / (200 * free[name] * boltzmann * heat) - 1.0) < 0.1, name


def test_derivatives_of_a_run_with_drag():
    """The end of a fall by its start, the modulus and the drag, in PyTorch, beside differences."""
    torch = pytest.importorskip("torch")
    import minusgrad.torch

    run = minusgrad.torch.rollout(mg.load(falling(run={"steps": 40})))
    names = [
        "rod.youngs_modulus",
        "rod_drag.viscosity",
        "rod_wall.stiffness",
        "rod_wall_friction.coefficient",
    ]
    start = {name: run.start(name).requires_grad_() for name in names}
    run(start)["x"][2].sum().backward()
    for name in names:
        value = start[name].detach()

        def end(size: float, name: str = name, value: Any = value) -> float:
            given = {key: one.detach() for key, one in start.items()}
            return float(run(given | {name: value * (1.0 + size)})["x"][2].sum())

        h = 1e-2
        slopes = [(end(j * h) - end(-j * h)) / (2.0 * j * h) for j in (1, 2, 3)]
        found = (15.0 * slopes[0] - 6.0 * slopes[1] + slopes[2]) / 10.0 / float(value)
        assert abs(float(start[name].grad) - found) < 1e-7 * abs(found) + 1e-13, name
    assert torch.isfinite(start[names[0]].grad)
