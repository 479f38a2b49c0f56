"""Rods in motion: energy and angular momentum, explicit and implicit steps, twist; f32 and both engines."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from tests.support.both_engines import assert_engines_agree
from tests.support.laws import fitted_order
from tests.support.rods import DENSITY, GJ, MOMENT, places, rod_scene
from tests.support.toml_scenes import toml_text

WEIGHT = [{"kind": "body_force", "acceleration": [0.0, 0.0, -9.81]}]
HINGE = [{"body": "first", "field": "x"}]


def total_energy(made: mg.Simulation) -> float:
    fields = made.fields
    kinetic = 0.0
    for rate, inertia in (("v", "m"), ("q_rate", "q_inertia")):
        kinetic += 0.5 * float((fields[inertia].values[:, None] * fields[rate].values ** 2).sum())
    return made.potential.value() + kinetic


def pendulum(kind: str, dt: float, shear: bool = True, n: int = 20, **more: Any) -> dict[str, Any]:
    """A rod at a hinge that falls from the horizontal, a whip at its end."""
    return rod_scene(
        {"elements": n},
        {"clamps": [], "shear": shear},
        {"kind": kind, "dt": dt},
        energy=WEIGHT,
        hold=HINGE,
        **more,
    )


def drift(scene: dict[str, Any], steps: int, parts: int = 20) -> float:
    """The largest change of the energy, in parts of the weight's work on a whole fall."""
    made = mg.load(scene | {"run": {"steps": steps}})
    start, worst = total_energy(made), 0.0
    for _ in range(parts):
        made.step(steps // parts)
        worst = max(worst, abs(total_energy(made) - start))
    return worst / (9.81 * float(made.fields["m"].values.sum()) * 0.5)


@pytest.mark.parametrize("shear", [True, False])
def test_energy_of_a_whip_by_leapfrog(shear):
    """1.6 s with a fall and a swing back; order 2."""
    steps = (4000, 8000) if shear else (8000, 16000)
    errors = [drift(pendulum("leapfrog", 1.6 / n, shear), n) for n in steps]
    assert errors[0] < 2e-5
    assert abs(fitted_order(errors, steps) - 2.0) < 0.1


def test_energy_of_a_whip_by_implicit_steps():
    errors = [drift(pendulum("implicit_midpoint", 0.8 / n), n, 10) for n in (100, 200)]
    assert errors[0] < 1e-3
    assert abs(fitted_order(errors, (100, 200)) - 2.0) < 0.3


def test_frames_stay_of_unit_length():
    made = mg.load(pendulum("leapfrog", 4e-4) | {"run": {"steps": 2000}})
    made.step(2000)
    assert np.abs(np.linalg.norm(made.fields["q"].values, axis=1) - 1.0).max() < 1e-3


def test_momentum_and_angular_momentum_of_a_free_rod():
    """A bent rod without supports: sum m v, and sum m x cross v with the spins of frames, stay."""
    scene = rod_scene(
        {"kind": "rod_circle", "elements": 15, "radius": 0.3, "angle": 2.0, "natural": {"twist": 2.0}},
        {"clamps": [], "shear": True},
        {"kind": "leapfrog", "dt": 2e-4},
        hold=[],
    )
    made = mg.load(scene | {"run": {"steps": 500}})

    def momenta() -> np.ndarray:
        f = {name: field.values for name, field in made.fields.items()}
        q, rate = f["q"], f["q_rate"]
        turn = q[:, :1] * rate[:, 1:] - rate[:, :1] * q[:, 1:] - np.cross(rate[:, 1:], q[:, 1:])
        spin = 0.5 * f["q_inertia"][:, None] * turn
        turning = np.cross(f["x"], f["m"][:, None] * f["v"]).sum(axis=0) + spin.sum(axis=0)
        return np.array([f["m"] @ f["v"], turning])

    before, size = momenta(), 0.0
    for _ in range(10):
        made.step(50)
        after = momenta()
        moved = np.abs(made.fields["m"].values[:, None] * made.fields["v"].values).sum()
        size = max(size, float(moved))
        assert np.abs(after - before).max() < 1e-12 * max(size, 1e-3)
    assert size > 1e-3


def test_twist_rings_at_its_tone():
    """A rod that is clamped at one end and let go twisted: half a swing takes L / sqrt(G / rho) x 2."""
    n = 40
    scene = rod_scene({"elements": n}, {"shear": True}, {"kind": "leapfrog", "dt": 2e-4}, run={"steps": 1})
    made = mg.load(scene)
    s = (np.arange(n) + 0.5) / n
    half = 0.5e-3 * np.sin(0.5 * np.pi * s)
    q = made.fields["q"].values.copy()
    axis = np.stack([np.cos(half), np.sin(half), 0.0 * half, 0.0 * half], axis=1)
    twisted = np.stack([multiply(a, b) for a, b in zip(axis, q, strict=True)])
    made.fields["q"].set(twisted)
    speed = np.sqrt(GJ / (DENSITY * 2.0 * MOMENT))
    steps = round(2.0 / speed / 2e-4)
    made.step(steps)
    exact = np.cos(0.5 * np.pi * speed * steps * 2e-4)
    back = multiply(made.fields["q"].values[-1], q[-1] * [1, -1, -1, -1])
    assert abs(back[1] / half[-1] - exact) < 2e-3
    assert exact < -0.99


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    vector = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *vector])


RECORDED = {"observe": [{"kind": "frames", "every": 20}]}


def written(tmp_path: Path, scene: dict[str, Any]) -> Path:
    path = tmp_path / "rod.toml"
    path.write_text(toml_text(scene))
    return path


def test_engines_agree(tmp_path):
    scene = pendulum("leapfrog", 4e-4, n=8) | RECORDED | {"run": {"steps": 60}}
    assert_engines_agree(written(tmp_path, scene), tmp_path)


def test_a_run_that_is_cut_goes_on_with_the_same_bits():
    """Steps of a simulation in two parts, whose state in between is that of a file."""
    scene = pendulum("implicit_midpoint", 4e-3, n=6) | {"run": {"steps": 20}}
    whole, cut = mg.load(scene), mg.load(scene)
    whole.step(20)
    cut.step(8)
    cut.step(12)
    for name in ("x", "q", "v", "q_rate"):
        np.testing.assert_array_equal(whole.fields[name].values, cut.fields[name].values)


def test_single_precision():
    """The cantilever of 20 elements in f32: the same deflection to 1e-3."""
    made = mg.load(rod_scene(tip=[0.0, 0.0, -7.5e-3], runtime={"precision": "f32"}))
    made.step(40)
    exact = mg.load(rod_scene(tip=[0.0, 0.0, -7.5e-3]))
    exact.step(40)
    assert abs(places(made)[-1, 2] / places(exact)[-1, 2] - 1.0) < 1e-3
