"""The wave that becomes a heron: against NumPy, `ti.ad.Tape`, differences, and the wave as an energy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.tape import wave as tape

import minusgrad
from minusgrad import Fields, Grid, Loss, Motion, Potential, Rollout, bind
from minusgrad.app.plugin_kit.check_process import findings
from minusgrad.app.run_options import RunOptions
from minusgrad.app.runs import build
from minusgrad.assembly.fits.fit import ParameterFit
from minusgrad.plugin import SCHEMES, Integrator
from minusgrad.steppers.systems.system import System
from minusgrad_grids.misfits import height_l2
from minusgrad_grids.waves import surface_tension

SCENES = Path(__file__).parents[3] / "scenes"
SMALL = {"state.size": [16, 16], "run.steps": 20, "state.fields.height": {"kind": "constant", "unit": "m"}}


def laplace(h: np.ndarray) -> np.ndarray:
    wide = np.pad(h, 1, mode="edge")
    return wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2] - 4.0 * h


def heights(h: np.ndarray, steps: int, k: float = 0.25) -> np.ndarray:
    """After so many steps, at rest at first."""
    before = h
    for _ in range(steps):
        before, h = h, 2.0 * h - before + k * laplace(h)
    return h


def descended(target: np.ndarray, steps: int, rate: float, count: int) -> list[float]:
    """Losses of the program of DiffTaichi, on paper, before each of so many descents along the gradient.

    p_0 is the unknown, p_1 is zero, and beyond the edges is zero. p_n is linear in p_0, by a polynomial of a
    symmetric Laplacian: the transpose of the run is the run.
    """

    def run(p: np.ndarray) -> np.ndarray:
        before, now = p, np.zeros_like(p)
        for _ in range(steps):
            wide = np.pad(now, 1)
            around = wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2] - 4.0 * now
            before, now = now, 2.0 * now - before + around / 3.0
        return now

    found, p, share = [], np.zeros_like(target), 1.0 / target.size
    for _ in range(count):
        left = target - run(p)
        found.append(share * float((left**2).sum()))
        p = p + rate * 2.0 * share * run(left)
    return found


def error_of(h: np.ndarray, target: np.ndarray) -> float:
    return float(np.mean((h - target) ** 2))


def rollout_of(n: int, steps: int, seed: int = 0, **options: Any) -> tuple[Rollout, np.ndarray, np.ndarray]:
    """A small wave of random height, with a random target."""
    overrides = {**SMALL, "state.size": [n, n], "run.steps": steps, **options}
    simulation, rng = build(SCENES / "wave.toml", overrides), np.random.default_rng(seed)
    start, target = rng.normal(size=(2, n, n))
    fields = simulation.fields
    fields["height"].set(start.ravel())
    fields["target"].set(target.ravel())
    loss = Loss(Potential(fields, [bind(height_l2, fields, renamed={"q": "height"})]), (steps,))
    return Rollout(simulation.stepper, [loss], steps), start, target


def test_the_gradient_is_that_of_the_tape_and_of_numpy() -> None:
    """The wave is linear, so that the gradient has a closed form: L' of what the transposed steps make."""
    run, start, target = rollout_of(16, 20)
    loss, found = run.evaluate(["height", "wave.c"])
    value, gradient = tape.program(16, 20, 0.25)(start, target)
    assert loss == pytest.approx(error_of(heights(start, 20), target), rel=1e-12)
    assert loss == pytest.approx(value, rel=1e-12)
    size = np.abs(gradient).max()
    np.testing.assert_allclose(found["height"].reshape(16, 16), gradient, rtol=0.0, atol=1e-12 * size)
    back = heights(2.0 / 256 * (heights(start, 20) - target), 20)  # the scheme is symmetric
    np.testing.assert_allclose(gradient, back, rtol=0.0, atol=1e-12 * size)
    ahead, behind = (error_of(heights(start, 20, (c * 0.5) ** 2), target) for c in (1 + 1e-6, 1 - 1e-6))
    assert float(found["wave.c"]) == pytest.approx((ahead - behind) / 2e-6, rel=1e-7)


@pytest.mark.parametrize("scheme", ["symplectic_euler", "leapfrog"])
def test_as_an_energy_it_has_the_same_gradient(scheme: str) -> None:
    """Leapfrog begins with half a kick: as the map does from the speed -dt/2 c^2 laplace(h) / s^2."""
    n, steps, dt = 16, 30, 0.5
    run, start, target = rollout_of(n, steps)
    half = scheme == "leapfrog"
    run.stepper.potential.fields["speed"].set(-0.5 * dt * half * laplace(start).ravel())
    of_map, found = run.evaluate(["height", "speed"])
    late = 0.5 * dt * half * laplace(found["speed"].reshape(n, n)).ravel()
    given = {"height": start, "speed": 0.0 * start, "target": target, "share": np.full((n, n), 1.0 / n**2)}
    units = {"height": "m", "speed": "m s^-1", "target": "m"}
    fields = Fields({name: values.ravel() for name, values in given.items()}, units)
    springs = bind(surface_tension, fields, parameters={"tension": 1.0}, grid=Grid((n, n)))
    moving = [Motion("height", "speed", 1.0)]
    one = Integrator(System(Potential(fields, [springs]), moving), SCHEMES[scheme], dt)
    loss = Loss(Potential(fields, [bind(height_l2, fields, renamed={"q": "height"})]), (steps,))
    value, expected = Rollout(one, [loss], steps).evaluate(["height"])
    assert of_map == pytest.approx(value, rel=1e-12)
    size = np.abs(expected["height"]).max()
    np.testing.assert_allclose(found["height"] - late, expected["height"], rtol=0.0, atol=1e-12 * size)


def test_the_ring_wave_keeps_its_energy(tmp_path: Path) -> None:
    run = minusgrad.run(SCENES / "wave_energy.toml", out=tmp_path / "run")
    assert np.abs(run.series("observables/drift").value).max() < 0.01
    frames = run.series("grids/cells/height").value
    assert frames[0].mean() == pytest.approx(0.0245, abs=5e-5)
    assert np.abs(frames.mean(axis=(1, 2)) - frames[0].mean()).max() < 1e-14
    assert frames[0].max() == pytest.approx(1.0, abs=0.02)  # the middle lies between four cells
    assert frames[-1].max() < 0.5


def test_the_heron_appears(tmp_path: Path) -> None:
    """The stored height was found by the fit of the scene, and rounded to half precision."""
    run = minusgrad.run(SCENES / "wave.toml", out=tmp_path / "run")
    misfit = run.series("observables/total").value
    assert misfit[:-1].min() > 2.0
    assert misfit[0] == pytest.approx(41.0, abs=0.5)
    assert misfit[-1] < 0.004
    height, target = (run.simulation.fields[n].values for n in ("height", "target"))
    assert misfit[-1] == pytest.approx(error_of(height, target), rel=1e-12)
    assert ((height > 0.5) == (target > 0.5)).mean() > 0.998


@pytest.mark.parametrize("n", [64, pytest.param(256, marks=pytest.mark.long)])
def test_a_fit_finds_the_height(tmp_path: Path, n: int) -> None:
    flat = {"kind": "constant", "unit": "m"}
    iterations, part = (200, 40.0) if n == 256 else (20, 10.0)
    overrides = {
        "state.size": [n, n],
        "state.fields.height": flat,
        "run.steps": n,
        "fit.iterations": iterations,
    }
    found = minusgrad.fit(SCENES / "wave.toml", overrides, tmp_path / "fit")
    loss = found.series("observables/loss").value
    assert len(loss) == iterations + 1
    assert loss[-1] < loss[0] / part


def test_check_finds_nothing() -> None:
    small = ["state.size=[16, 16]", 'state.fields.height={kind="gaussian", unit="m", value=1.0, width=2.0}']
    found = list(findings([str(SCENES / "wave.toml")], small))
    assert {f.term for f in found} >= {"wave", "height_l2"}
    assert [f.text for f in found if not f.passed] == []


def test_the_wave_of_difftaichi_descends_as_its_program() -> None:
    """Its first three losses at full size, 65,536 unknowns and 254 steps; the target has no mean."""
    fit = ParameterFit(RunOptions(SCENES / "wave_original.toml").validated())
    target = fit.simulation.fields["target"].values.reshape(256, 256)
    assert target.mean() == pytest.approx(0.0, abs=1e-15)
    expected, found = descended(target, 254, 1.0, 3), [fit.search.energy]
    for _ in range(2):
        fit.search.advance(1)
        found.append(fit.search.energy)
    assert found == pytest.approx(expected, rel=1e-12)
    assert found[2] < found[1] < found[0]
