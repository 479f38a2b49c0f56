"""Scenes of thin shells: derivatives, motion, both engines, f32, check, resume, members, stress in files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.shells import clamp, force, shell_scene

import minusgrad as mg
from minusgrad.app.jobs.job_runs import resume
from tests.support.both_engines import assert_engines_agree
from tests.support.command import minusgrad
from tests.support.short_scenes import cut
from tests.support.tiers import sampled
from tests.support.toml_scenes import toml_text

BY = ["shell.thickness", "shell.youngs_modulus", "shell.poissons_ratio", "shell_bending.rest"]
ARC = {"kind": "cylinder", "radius": 1.0, "length": 0.6, "angle": 1.2, "start": 0.3}
FALLING = [{"kind": "body_force", "acceleration": [0.0, 0.0, -9.81]}]


def arc_scene(
    stepper: Any = None, energies: Any = None, cells: tuple[int, int] = (4, 2), **more: Any
) -> dict[str, Any]:
    """A part of a cylinder, clamped at one side and pulled at a corner of the other."""
    pulled = force("bottom_right", "z", 0.01) if energies is None else energies
    scene = shell_scene(ARC, cells, 0.03, (1e4, 0.3), clamp("left"), pulled, **more)
    return scene | {"stepper": stepper or {"kind": "newton"}, "title": "arc"}


@pytest.mark.parametrize("name", sampled(BY, ["shell.thickness"]))
def test_derivatives_at_rest_are_those_of_differences(name: str):
    """The pulled corner by thickness, E, Poisson's ratio and the curvature at rest: to 1e-8."""
    torch = pytest.importorskip("torch")
    import minusgrad.torch

    rest = minusgrad.torch.equilibrium(arc_scene(cells=(2, 1)))
    value = rest.start(name).requires_grad_()
    rest({name: value})["x"][-1, 2].backward()
    along = value.detach() * torch.tensor(np.random.default_rng(1).uniform(0.5, 1.5, value.shape))
    exact = float((value.grad * along).sum())

    def corner(size: float) -> float:
        return float(rest({name: value.detach() + size * along})["x"][-1, 2])

    h = 5e-3
    slopes = [(corner(k * h) - corner(-k * h)) / (2.0 * k * h) for k in (1, 2, 3)]
    found = (15.0 * slopes[0] - 6.0 * slopes[1] + slopes[2]) / 10.0
    assert abs(exact / found - 1.0) < 1e-8


MOVING = {"kind": "leapfrog", "dt": 2e-4}


def drop(steps: int = 40, **more: Any) -> dict[str, Any]:
    """The same, falling."""
    return arc_scene(MOVING, FALLING, run={"steps": steps}, **more)


def total_energy(made: mg.Simulation) -> float:
    fields, potential = made.fields, made.potential
    kinetic = 0.0
    for rate, inertia in (("v", "m"), ("director_rate", "director_inertia")):
        kinetic += 0.5 * float((fields[inertia].values[:, None] * fields[rate].values ** 2).sum())
    return float(potential.value()) + kinetic  # type: ignore[union-attr]


def test_energy_stays_with_order_two():
    """By leapfrog, in parts of the work of the weight."""
    errors = []
    for k in (1, 2):
        made = mg.load(drop(400 * k) | {"stepper": MOVING | {"dt": 4e-4 / k}})
        start, z = total_energy(made), made.fields["x"].values[:, 2].copy()
        made.step(400 * k)
        fallen = 9.81 * float((made.fields["m"].values * (z - made.fields["x"].values[:, 2])).sum())
        errors.append(abs(total_energy(made) - start) / abs(fallen))
    assert errors[0] < 5e-6
    assert errors[1] < 0.4 * errors[0]


@pytest.mark.long
def test_both_engines(tmp_path: Path):
    path = tmp_path / "arc.toml"
    path.write_text(toml_text(drop(observe=[{"kind": "frames", "every": 40}])))
    assert_engines_agree(path, tmp_path / "both")


def test_single_precision(tmp_path: Path):
    last = [
        mg.run(drop(observe=[{"kind": "frames", "every": 40}]), {"runtime.precision": p}, out=tmp_path / p)
        for p in ("f32", "f64")
    ]
    np.testing.assert_allclose(last[0]["position"][-1], last[1]["position"][-1], atol=1e-5)


def test_resumed_runs_have_the_same_bits(tmp_path: Path):
    """Also of the stress at the faces."""
    seen = [{"kind": "frames", "every": 10}, {"kind": "shell_stress", "every": 10}]
    path = tmp_path / "arc.toml"
    path.write_text(toml_text(drop(40, observe=seen, checkpoint={"every": 10})))
    whole = mg.run(path, out=tmp_path / "whole")
    resume(cut(tmp_path / "part", path, {}, 15))
    again = mg.open(tmp_path / "part")
    faces = [f"cells/triangles/stress_{face}" for face in ("top", "bottom")]
    for name in ("position", *faces, "cells/triangles/von_mises_top"):
        np.testing.assert_array_equal(again[name], whole[name])
    top, bottom = (whole[name][-1] for name in faces)
    assert top.shape == (16, 3)
    assert np.abs(top - bottom).max() > 0.1 * np.abs(top).max()
    assert (whole["cells/triangles/von_mises_top"][-1] > 0.0).all()


@pytest.mark.long
@pytest.mark.parametrize("name", ["newton", "leapfrog"])
def test_check_finds_nothing(tmp_path: Path, name: str):
    path = tmp_path / "arc.toml"
    path.write_text(toml_text(arc_scene(cells=(2, 1)) if name == "newton" else drop(20, cells=(2, 1))))
    done = minusgrad("check", path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_members_differ_by_thickness(tmp_path: Path):
    """A member is bit for bit what it is alone; a thicker one falls by less."""
    scene = drop(20, observe=[{"kind": "frames", "every": 20}])
    scene |= {"ensemble": {"members": 2, "vary": {"shell.thickness": {"list": [0.02, 0.04]}}}}
    both = mg.run(scene, out=tmp_path / "both")["position"][-1]
    alone = mg.run(scene, {"ensemble.member": 1}, out=tmp_path / "one")["position"][-1]
    np.testing.assert_array_equal(both[1], alone)
    assert both[0, -1, 2] != alone[-1, 2]
