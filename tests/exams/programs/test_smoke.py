"""Smoke that becomes a heart: against NumPy, `ti.ad.Tape` and differences; its divergence, and its claim."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.tape import smoke as tape

import minusgrad
from minusgrad import Loss, Potential, Rollout, bind
from minusgrad.adjoint.checks.first_step import of_program
from minusgrad.app.runs import build
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.check import term_check
from minusgrad_grids.misfits import picture_l2

SCENES = Path(__file__).parents[3] / "scenes"
REST = {"kind": "vector", "unit": "m s^-1", "value": [0.0, 0.0]}


def step(v: np.ndarray, q: np.ndarray, dt: float = 1.0, s: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """One step in NumPy: v (n, m, 2) along columns and rows, q (n, m)."""
    u = moved(v, v, dt / s)
    d, p = divergence(u) / (2.0 * s), np.zeros(q.shape)
    for _ in range(10):
        around = sum(np.roll(p, k, axis) for k in (-1, 1) for axis in (0, 1))
        p = 0.25 * (around - s * s * d)
    slopes = [np.roll(p, -1, axis) - np.roll(p, 1, axis) for axis in (1, 0)]
    v = u - np.stack(slopes, axis=-1) / (2.0 * s)
    return v, moved(q, v, dt / s)


def moved(q: np.ndarray, v: np.ndarray, ratio: float) -> np.ndarray:
    """Values at the places from which the contents of cells come."""
    rows, columns = np.indices(q.shape[:2])
    y, x = rows - ratio * v[..., 1], columns - ratio * v[..., 0]
    low, left = np.floor(y).astype(int), np.floor(x).astype(int)
    found = np.zeros(q.shape)
    for k in (0, 1):
        for m in (0, 1):
            w = (1.0 - np.abs(y - low - k)) * (1.0 - np.abs(x - left - m))
            at = q[(low + k) % q.shape[0], (left + m) % q.shape[1]]
            found += w.reshape(w.shape + (1,) * (q.ndim - 2)) * at
    return found


def smoke(rows: int = 8, columns: int = 8, **options: Any) -> BuiltScene:
    """The scene on a few cells, with random fields."""
    constant = {"kind": "constant"}
    fields = {"state.fields.velocity": REST, "state.fields.smoke": constant, "state.fields.target": constant}
    made = build(SCENES / "smoke.toml", {"state.size": [columns, rows], **fields, **options})
    rng = np.random.default_rng(1)
    for name in ("velocity", "smoke", "target"):
        made.fields[name].set(0.7 * rng.normal(size=made.fields[name].shape))
    return made


def test_steps_are_those_of_numpy() -> None:
    """On cells of another side, with another dt, and another number of rows than of columns."""
    made = smoke(6, 9, **{"state.spacing": 0.5, "stepper.dt": 0.3})
    v, q = made.fields["velocity"].values.reshape(6, 9, 2), made.fields["smoke"].values.reshape(6, 9)
    v, q = v.copy(), q.copy()
    made.step(7)
    for _ in range(7):
        v, q = step(v, q, 0.3, 0.5)
    np.testing.assert_allclose(made.fields["velocity"].values.reshape(v.shape), v, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(made.fields["smoke"].values.reshape(q.shape), q, rtol=0.0, atol=1e-13)


def rollout_of(made: BuiltScene, steps: int) -> Rollout:
    loss = bind(picture_l2, made.fields, renamed={"q": "smoke"})
    return Rollout(made.stepper, [Loss(Potential(made.fields, [loss]), (steps,))], steps)


@pytest.mark.parametrize(("n", "steps"), [(12, 8), pytest.param(64, 40, marks=pytest.mark.long)])
def test_the_gradient_is_that_of_the_tape(n: int, steps: int) -> None:
    made = smoke(n, n)
    velocity, *others = (made.fields[name].values.copy() for name in ("velocity", "smoke", "target"))
    loss, found = rollout_of(made, steps).evaluate(["velocity", "smoke"])
    first, start, target = velocity.reshape(n, n, 2), *(one.reshape(n, n) for one in others)
    value, gradient = tape.program(n, steps)(first, start, target)
    assert loss == pytest.approx(value, rel=1e-12)
    size = np.abs(gradient).max()
    np.testing.assert_allclose(found["velocity"].reshape(n, n, 2), gradient, rtol=0.0, atol=1e-9 * size)

    def loss_at(h: float) -> float:
        v, q = first + h * along[0], start + h * along[1]
        for _ in range(steps):
            v, q = step(v, q)
        return float(np.mean((q - target) ** 2))

    rng = np.random.default_rng(2)
    along = rng.normal(size=first.shape), rng.normal(size=start.shape)
    h = 1e-7
    slope = sum(
        np.sum(found[k] * w.reshape(found[k].shape))
        for k, w in zip(("velocity", "smoke"), along, strict=True)
    )
    assert slope == pytest.approx((loss_at(h) - loss_at(-h)) / (2.0 * h), rel=1e-5)


def test_a_fluid_at_rest_stays_and_carries_nothing() -> None:
    made = smoke()
    made.fields["velocity"].set(np.zeros(made.fields["velocity"].shape))
    before = made.fields["smoke"].values.copy()
    made.step(5)
    assert made.fields["smoke"].values.tolist() == before.tolist()


def divergence(v: np.ndarray) -> np.ndarray:
    return (np.roll(v, -1, 1) - np.roll(v, 1, 1))[..., 0] + (np.roll(v, -1, 0) - np.roll(v, 1, 0))[..., 1]


def test_sweeps_take_the_divergence_away() -> None:
    """A sweep leaves (1 + cos a) / 2 of a wave along an axis, a = 2 pi / 8; of its Laplacian 2 (1 - cos a),
    the divergence of the gradient by central differences is sin(a)^2."""
    made, (rows, columns) = smoke(), np.indices((8, 8)) * 2.0 * np.pi / 8
    v = 1e-6 * np.stack([np.sin(columns), np.sin(rows)], axis=-1)
    made.fields["velocity"].set(v.reshape(-1, 2))
    made.step(1)
    left = np.abs(divergence(made.fields["velocity"].values.reshape(8, 8, 2))).max()
    c = np.cos(np.pi / 4)
    share = 1.0 - (1.0 - c**2) / (2.0 * (1.0 - c)) * (1.0 - (0.5 * (1.0 + c)) ** 10)
    assert left == pytest.approx(share * np.abs(divergence(v)).max(), rel=1e-4)


@pytest.mark.long
def test_check_finds_nothing() -> None:
    made = smoke(6, 6, **{"map.2.repeat": 2})
    found = [*term_check.of_potential(made.potential), *of_program(made.stepper)]
    maps = {"velocity_advected", "divergence", "projection", "advected", "picture_l2"}
    assert {f.term for f in found} >= maps
    assert [f.text for f in found if not f.passed] == []


def test_the_heart_appears(tmp_path: Path) -> None:
    """The stored velocity was found by the fit of the scene, and rounded to half precision."""
    run = minusgrad.run(SCENES / "smoke.toml", out=tmp_path / "run")
    misfit = run.series("observables/total").value
    assert misfit[0] == pytest.approx(0.0332, abs=5e-5)
    assert misfit[-1] < 1e-4
    assert misfit[-1] == misfit.min()


@pytest.mark.long
def test_a_fit_finds_the_velocity(tmp_path: Path) -> None:
    found = minusgrad.fit(SCENES / "smoke.toml", {"state.fields.velocity": REST}, tmp_path / "fit")
    loss = found.series("observables/loss").value
    assert len(loss) == 41
    assert loss[-1] < loss[0] / 600.0
