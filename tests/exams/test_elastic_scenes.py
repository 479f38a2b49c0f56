"""The claims of the elastic scenes, by number."""

from math import inf
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import minusgrad
from minusgrad.app.results.run import Run
from minusgrad.app.runs import build
from tests.support.laws import fitted_order

SCENES = Path(__file__).parents[2] / "scenes"


def positions(run: Run) -> np.ndarray:
    return run.series("particles/all/position").value


def last(run: Run, name: str) -> np.ndarray:
    return run.series(f"observables/{name}").value[-1]


# A block ------------------------------------------------------------------------------------------------


def test_stretch(tmp_path):
    """Uniaxial stress of a compressible neo-Hookean solid: one equation for the shrinking of its sides."""
    run = minusgrad.run(SCENES / "stretch.toml", out=tmp_path / "run")
    assert run.outcome == "converged"
    size, area, s = np.array([0.10, 0.06, 0.04]), 0.06 * 0.04, 1.5
    mu, lam = 2e6 / 2.9, 2e6 * 0.45 / (1.45 * 0.1)
    log_J = lambda t: np.log(s * t * t)  # noqa: E731
    t = brentq(lambda t: mu * (t - 1.0 / t) + lam * log_J(t) / t, 0.5, 1.0, xtol=1e-16, rtol=1e-15)
    pull = area * (mu * (s - 1.0 / s) + lam * log_J(t) / s)
    psi = 0.5 * mu * (s * s + 2.0 * t * t - 3.0) - mu * log_J(t) + 0.5 * lam * log_J(t) ** 2
    lattice = np.stack(np.meshgrid(*(np.linspace(0.0, 1.0, n) for n in (6, 4, 3)), indexing="ij"), axis=-1)
    expected = lattice.reshape(-1, 3) * size * [s, t, t]
    assert t < 0.9
    assert np.abs(positions(run)[-1] - expected).max() < 1e-10 * 0.10
    assert abs(last(run, "total") / (psi * size.prod()) - 1.0) < 1e-10
    np.testing.assert_allclose(last(run, "reaction/right"), [pull, 0.0, 0.0], rtol=1e-10, atol=1e-10 * pull)
    np.testing.assert_allclose(last(run, "reaction/left"), [-pull, 0.0, 0.0], rtol=1e-10, atol=1e-10 * pull)
    assert np.abs(last(run, "reaction/front")).max() < 1e-10 * pull
    density = run.series("cells/cells/energy_density").value[-1]
    np.testing.assert_allclose(density, psi, rtol=1e-10)
    reaction = run.series("particles/all/reaction").value[-1]
    assert (reaction[np.isclose(lattice.reshape(-1, 3), 0.5).all(axis=1)] == 0.0).all()
    np.testing.assert_allclose(reaction.sum(axis=0), 0.0, atol=1e-10 * pull)


# A beam -------------------------------------------------------------------------------------------------

L, WIDTH, HEIGHT, FORCE, E, NU = 0.4, 0.05, 0.1, 1.0, 1e6, 0.2


def timoshenko() -> float:
    """The deflection of a cantilever's tip; shear coefficient of a rectangle by Cowper (1966)."""
    inertia, area = WIDTH * HEIGHT**3 / 12.0, WIDTH * HEIGHT
    shear = 10.0 * (1.0 + NU) / (12.0 + 11.0 * NU)
    return FORCE * L**3 / (3.0 * E * inertia) + FORCE * L / (shear * E / 2.0 / (1.0 + NU) * area)


def tip(run: Run) -> np.ndarray:
    """Where the tip's nodes have gone, all frames: (T, 3)."""
    x = positions(run)
    there = np.isclose(x[0][:, 0], L)
    assert there.sum() > 8
    return (x - x[0])[:, there].mean(axis=1)


@pytest.fixture(scope="module")
def settled(tmp_path_factory) -> Run:
    return minusgrad.run(SCENES / "cantilever.toml", out=tmp_path_factory.mktemp("cantilever") / "run")


@pytest.mark.exam
def test_cantilever(settled):
    assert settled.outcome == "converged"
    assert last(settled, "residual") < 1e-10
    assert timoshenko() == pytest.approx(5.35e-3, rel=1e-3)
    assert 0.95 < -tip(settled)[-1][2] / timoshenko() < 1.0
    np.testing.assert_allclose(last(settled, "reaction/wall"), [0.0, 0.0, FORCE], atol=2e-5 * FORCE)


@pytest.mark.exam
def test_cantilever_damped(settled, tmp_path):
    """It swings, and ends where the minimiser does; the ledger closes, and all that is missing is heat."""
    run = minusgrad.run(SCENES / "cantilever_damped.toml", out=tmp_path / "run")
    way = tip(run)[:, 2]
    assert way.min() < 1.001 * way[-1]  # overshoots
    assert abs(way[-1] / tip(settled)[-1][2] - 1.0) < 5e-4
    assert np.abs(run.series("observables/drift").value).max() < 1e-4
    assert abs(last(run, "total") + last(run, "dissipated")) < 1e-3 * last(run, "dissipated")
    assert last(run, "dissipated") == pytest.approx(-last(settled, "total"), rel=1e-3)
    np.testing.assert_allclose(last(run, "reaction/wall"), [0.0, 0.0, FORCE], atol=1e-3 * FORCE)


@pytest.mark.long
def test_the_cantilever_converges_when_refined(tmp_path):
    """4, 6, 8 layers of generated tetrahedra: the error falls nearly with the square of their size."""
    errors, layers = [], (4, 6, 8)
    for n in layers:
        state = {"kind": "beam", "length": L, "width": WIDTH, "height": HEIGHT, "density": 1000.0}
        overrides = {
            "state": state | {"cells": [4 * n, n // 2, n]},
            "energy.1.body": "right",
            "hold.0.body": "left",
            "stepper.gradient": 1e-9,
        }
        run = minusgrad.run(SCENES / "cantilever.toml", overrides, out=tmp_path / str(n))
        assert run.outcome == "converged"
        errors.append(1.0 + tip(run)[-1][2] / timoshenko())
    assert inf > errors[0] > errors[1] > errors[2] > 0.0
    assert fitted_order(errors, layers) > 1.3, errors
    assert errors[2] < 0.09


# A bar --------------------------------------------------------------------------------------------------


def moment(x: np.ndarray, force: np.ndarray) -> float:
    """About the x axis."""
    return float((x[:, 1] * force[:, 2] - x[:, 2] * force[:, 1]).sum())


@pytest.mark.exam
def test_twisted_bar(tmp_path):
    """The torque of both ends, from the reactions; 0.1406 is Saint-Venant's number for a square section."""
    run = minusgrad.run(SCENES / "twisted_bar.toml", out=tmp_path / "run")
    x, reaction = positions(run)[-1], run.series("particles/all/reaction").value[-1]
    left, right = (np.isclose(positions(run)[0][:, 0], end) for end in (0.0, 1.0))
    torque, law = moment(x[right], reaction[right]), 0.1406 * 1e6 / 2.6 * 0.2**4 * 2.0 * np.pi / 1.0
    assert law == pytest.approx(543.6, abs=0.1)
    assert torque == pytest.approx(555.0, rel=2e-3)
    assert 1.0 < torque / law < 1.03
    assert moment(x[left], reaction[left]) == pytest.approx(-torque, rel=1e-3)
    np.testing.assert_allclose(x[right], positions(run)[0][right], atol=1e-12)
    assert last(run, "total") == pytest.approx(last(run, "work"), rel=1e-5)
    assert last(run, "kinetic") < 1e-5 * last(run, "total")


# A sheet ------------------------------------------------------------------------------------------------


@pytest.mark.exam
def test_elastic_seed(tmp_path):
    run = minusgrad.run(SCENES / "elastic_seed.toml", out=tmp_path / "run")
    assert run.simulation.stepper.step == 20_000
    assert np.abs(run.series("observables/drift").value).max() < 1e-5
    dissipated = run.series("observables/dissipated").value
    assert (np.diff(dissipated) >= 0.0).all()
    assert dissipated[-1] > 0.5 * run.series("observables/total").value[0]
    assert last(run, "kinetic") < 1e-6
    for obstacle in ("ball", "floor", "right"):
        assert last(run, f"potential/{obstacle}") > 1.0
    simulation = build(SCENES / "elastic_seed.toml")
    cells, gradients = simulation.state.tuples["cells"], simulation.state.data["cells"]["gradients"]
    for x in positions(run):
        assert np.linalg.det(np.einsum("eai,eaj->eij", x[cells], gradients)).min() > 0.5
    simulation.fields["x"].set(positions(run)[-1])
    force, weight = simulation.potential.gradient("x"), 40.0 * simulation.fields["m"].values
    assert (np.linalg.norm(force, axis=1) / weight).max() < 0.01


# Networks -----------------------------------------------------------------------------------------------


def ledger(run: Run, losses: bool) -> np.ndarray:
    """What has to stay: total energy less the work done, and what friction took."""
    kept = run.series("observables/total").value.copy()
    if losses:
        kept += run.series("observables/dissipated").value - run.series("observables/work").value
    return kept


def test_walker(tmp_path):
    """It breathes: symmetric to rounding at all times, on its feet, and its ledger closes."""
    run = minusgrad.run(SCENES / "walker.toml", out=tmp_path / "run")
    x, mirror = positions(run), [2, 1, 0, 5, 4, 3]
    assert run.simulation.stepper.step == 1500
    assert np.abs(x.mean(axis=1)[:, 0] - 0.3).max() < 1e-9
    np.testing.assert_allclose(x[:, mirror] * [-1.0, 1.0] + [0.6, 0.0], x, atol=1e-9)
    late = run.series("particles/all/position").time > 1.0
    assert np.ptp(x[late, 4, 1]) > 5e-3, "its back goes up and down"
    assert -0.006 < x[..., 1].min() < 0.0
    turns = x[late][:63]  # 63 frames of 20 ms are two turns of the gait: 1.26 s
    bears = 1e6 * np.maximum(0.0, -turns[..., 1]) ** 2
    assert bears.sum(axis=1).mean() == pytest.approx(6 * 4.8, rel=0.01)
    heat = last(run, "dissipated")
    assert heat > 1.0
    assert np.abs(ledger(run, losses=True) - ledger(run, losses=True)[0]).max() < 5e-4 * heat


def test_a_walker_out_of_step_walks(tmp_path):
    """The same springs, each with its own phase: it goes somewhere, and twice the steps say the same."""
    phases, ways = np.random.default_rng(2).uniform(-3.0, 3.0, 11).tolist(), []
    for refined in (1, 2):
        overrides = {"energy.0.amplitude": 0.1, "energy.0.phase": phases, "stepper.dt": 0.002 / refined}
        simulation = build(SCENES / "walker.toml", overrides)
        simulation.stepper.advance(1500 * refined)
        ways.append(simulation.fields["x"].values[:, 0].mean() - 0.3)
    assert abs(ways[0]) > 0.02
    assert ways[1] == pytest.approx(ways[0], rel=0.05)


def test_spring_stiffness(tmp_path):
    run = minusgrad.run(SCENES / "spring_stiffness.toml", out=tmp_path / "run")
    simulation, x = run.simulation, positions(run)
    assert simulation.stepper.step == 400
    edges, rest = simulation.state.tuples["edges"], simulation.state.data["edges"]["rest"]
    assert (len(simulation.fields["x"]), len(edges)) == (23, 50)
    stretch = np.linalg.norm(x[:, edges[:, 0]] - x[:, edges[:, 1]], axis=2) / rest
    assert stretch.min() > 0.8
    assert stretch.max() > 1.2
    assert (np.ptp(stretch, axis=0) > 0.005).all(), "every spring is heard"
    assert (x[:, [0, 4]] == x[0, [0, 4]]).all()
    given = -np.diff(run.series("observables/potential/weight").value[[0, -1]])[0]
    assert given > 0.1
    assert np.abs(ledger(run, losses=False) - ledger(run, losses=False)[0]).max() < 1e-4 * given
