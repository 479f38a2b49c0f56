"""The dam break: its front beside the experiment's, its energy, and the gradient of a run."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad import Potential, bind
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.app.results.run import Run
from minusgrad.errors import SceneError
from minusgrad_gravity.gravity import gravity

SCENES = Path(__file__).parents[2] / "scenes"
SCENE = SCENES / "dam_break.toml"
WIDTH, G = 0.05715, 9.81
KERNELS = ("state.h", "map.0.h", "map.1.h", "dissipation.0.h")
CUTOFFS = ("map.0.cutoff", "dissipation.0.cutoff")


def coarse(particles: int, floor: float) -> dict[str, object]:
    """Fewer particles, of the same viscosity alpha h c / 8."""
    h = 1.3 * WIDTH / particles
    sizes = {"state.particles": particles, "state.floor": floor, "state.layers": 2}
    share = particles / 20.0
    numbers = dict.fromkeys(CUTOFFS, 2.0 * h) | {
        "stepper.dt": 95e-6 / share,
        "dissipation.0.alpha": 0.5 * share,
    }
    return sizes | dict.fromkeys(KERNELS, h) | numbers


def measured(last: float) -> tuple[np.ndarray, np.ndarray]:
    """T = n t sqrt(g / a) and Z = z / a of the experiment, up to this T."""
    table = np.loadtxt(
        SCENES / "data" / "martin_moyce_1952.csv", delimiter=",", skiprows=5, usecols=(0, 1), comments="#"
    )
    return tuple(table[table[:, 0] <= last].T)


def misses(run: Run, last: float) -> np.ndarray:
    """Z of the run over that of the experiment, minus 1, at the times of the experiment up to T = last."""
    front = run.series("observables/front")
    T, Z = measured(last)
    assert front.time[-1] * np.sqrt(2.0 * G / WIDTH) >= last
    return np.interp(T, front.time * np.sqrt(2.0 * G / WIDTH), front.value / WIDTH) / Z - 1.0


def assert_balance(run: Run, bound: float) -> None:
    """Kinetic, internal and potential energy and what friction took, relative to their sum at the start."""
    drift = np.abs(run.series("observables/drift").value)
    assert 1e-8 < drift.max() < bound
    assert run.series("observables/dissipated").value[-1] > 0.02 * run.series("observables/total").value[0]


def test_the_table_has_the_thirty_points_of_the_experiment():
    T, Z = measured(10.0)
    assert (len(T), T.max(), Z.max()) == (30, 9.237, 13.97)


def test_a_coarse_dam_break(tmp_path):
    changes = coarse(10, 0.3) | {"run.steps": 950, "observe.2.every": 950}
    run = minusgrad.run(SCENE, changes, out=tmp_path / "run")
    found = misses(run, 3.33)
    assert len(found) == 19
    assert np.abs(found).max() < 0.1
    assert_balance(run, 1e-4)
    x, wall = run.simulation.fields["x"].values, run.simulation.state.bodies[1].nodes
    assert (np.delete(x, wall, axis=0) > 0.0).all(), "nothing leaked"
    density = run.series("particles/all/density").value[-1]
    assert density[:200].max() < 1.015 * 1000.0


def test_single_precision_and_another_number_of_threads(tmp_path):
    """f32 follows the front to 1e-3; bits do not depend on threads."""
    changes = coarse(6, 0.2) | {"run.steps": 300}
    fronts = {
        name: minusgrad.run(SCENE, changes | more, out=tmp_path / name).series("observables/front").value
        for name, more in (
            ("double", {}),
            ("single", {"runtime.precision": "f32"}),
            ("alone", {"runtime.threads": 1}),
        )
    }
    assert fronts["double"][-1] > 1.7 * WIDTH
    np.testing.assert_allclose(fronts["single"], fronts["double"], rtol=1e-3)
    np.testing.assert_array_equal(fronts["alone"], fronts["double"])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"observe.1.body": "oil"}, "body: the state has no 'oil' (there are: fluid, wall)"),
        ({"observe.1.axis": "z"}, "axis: the state has no 'z'; take another"),
    ],
)
def test_the_observer_refuses_what_does_not_exist(change, text):
    with pytest.raises(SceneError) as refused:
        minusgrad.build(SCENE, coarse(6, 0.12) | change)
    assert text in str(refused.value)


@pytest.mark.long
def test_dam_break(tmp_path):
    run = minusgrad.run(SCENE, out=tmp_path / "run")
    found = misses(run, 9.237)
    assert len(found) == 30
    assert np.abs(found).max() < 0.1
    assert_balance(run, 1e-4)


def test_lists_of_neighbours_move_the_fluid_as_all_pairs_do():
    changes = coarse(6, 0.12)
    alone = {key: value for key, value in changes.items() if not key.startswith(("map.0", "dissipation"))}
    h, numbers = changes["map.0.h"], {"rest_density": 1000.0, "sound_speed": 10.6}
    rubbing = {"kind": "artificial_viscosity", "body": "fluid", "h": h, "alpha": 0.15} | numbers
    plain = minusgrad.build(
        SCENE, alone | {"map.0": {"kind": "kernel_density", "h": h}, "dissipation.0": rubbing}
    )
    listed = minusgrad.build(SCENE, changes)
    for one in (listed, plain):
        one.stepper.advance(100)
    for name in ("x", "rho"):
        a, b = (one.fields[name].values for one in (listed, plain))
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * np.abs(b).max())


def test_the_gradient_of_a_run_by_the_first_velocities():
    """dL/dv(0) of 60 steps against differences so small that no particle passes rho_0 between."""
    simulation = minusgrad.build(SCENE, coarse(6, 0.12))
    fields, stepper = simulation.fields, simulation.stepper
    loss = Potential(fields, [bind(gravity, fields, parameters={"G": 1e3, "softening": 0.02})])
    rollout = Rollout(stepper, [Loss(loss, (60,))], 60)
    _, found = rollout.evaluate(["v"])
    rng, v = np.random.default_rng(3), fields["v"].values.copy()
    moved = rng.normal(size=v.shape)
    slope, e = (found["v"] * moved).sum(), 1e-6
    values = []
    for step in (e, -e):
        fields["v"].set(v + step * moved)
        values.append(rollout.value())
    assert abs(slope) > 1e-4 * abs(values[0])
    assert slope == pytest.approx((values[0] - values[1]) / (2.0 * e), rel=1e-6)
