"""Supports that rotate: places and velocities against SciPy, motion between them, their reactions."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Turn

from minusgrad import Fields, Hold, Loss, Motion, Potential, Rollout, Rotation, bind
from minusgrad.energies.misfit import misfit
from minusgrad.errors import EnergyError
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from tests.support.implicit_runs import MASSES, exact, swing
from tests.support.laws import fitted_order

AXIS, MIDDLE, FAR, DRIFT = (1.0, 2.0, -1.0), (0.3, 0.1, -0.5), (0.1, 0.2, 0.3), (0.3, 0.0, -0.2)
X = np.random.default_rng(0).normal(size=(4, 3))
HELD = np.array([1, 3])


def place(t: float, angle: float, duration: float, rate: float) -> np.ndarray:
    """Where the held nodes are."""
    s = np.clip(t / duration, 0.0, 1.0) if duration else 1.0
    r = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
    e = np.array(AXIS) / np.linalg.norm(AXIS)
    turned = Turn.from_rotvec(e * (angle * r + rate * t)).apply(X[HELD] - MIDDLE)
    return np.array(MIDDLE) + turned + np.outer([1.0, 1.0], FAR) * r + t * np.array(DRIFT)


def slope(of: Any, t: float, h: float = 1e-3) -> np.ndarray:
    return (of(t - 2 * h) - 8 * of(t - h) + 8 * of(t + h) - of(t + 2 * h)) / (12 * h)


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize(("angle", "duration", "rate"), [(2.0, 1.5, 0.7), (2.0, 0.0, 0.7), (0.0, 0.0, 3.0)])
def test_places_velocities_and_accelerations(
    angle: float, duration: float, rate: float, precision: str
) -> None:
    fields = Fields({"x": X, "v": np.zeros((4, 3)), "m": np.ones(4)}, precision=precision)
    rotation = Rotation(MIDDLE, AXIS, angle, rate)
    hold = Hold("turning", "x", HELD, None, FAR, duration, DRIFT, rotation)
    holds = Holds(fields, [hold], [Motion("x", "v", "m")])
    digits = 1e-9 if precision == "f64" else 1e-6
    for t in (0.0, 0.4, 1.2, 2.0):
        holds.place(t)
        of = lambda t: place(t, angle, duration, rate)  # noqa: E731
        np.testing.assert_allclose(
            fields["x"].values[HELD], of(t), atol=digits * 1e-3 + 2e-7 * (digits > 1e-7)
        )
        if t:
            np.testing.assert_allclose(fields["v"].values[HELD], slope(of, t), atol=digits)
            force = holds.reaction("x", np.zeros((4, 3)), np.ones(1), t)
            np.testing.assert_allclose(force[HELD], slope(lambda t: slope(of, t), t), atol=max(digits, 1e-8))  # noqa: B023
        assert np.array_equal(fields["x"].values[[0, 2]], X[[0, 2]].astype(fields.dtype))


def test_at_the_start_a_ramp_and_a_rate_leave_the_nodes_where_they_are() -> None:
    """Bit for bit, however far the centre is."""
    fields = Fields({"x": X, "v": np.zeros((4, 3))})
    turn = Rotation((1e6, -3e5, 7.0), AXIS, 2.0, 0.7)
    holds = Holds(fields, [Hold("turning", "x", HELD, duration=1.0, rotation=turn)], [Motion("x", "v")])
    holds.place(0.0)
    assert np.array_equal(fields["x"].values, X)


def explicit(steps: int, end: float, kind: str = "leapfrog") -> Integrator:
    """The masses between supports of `implicit_runs`, by a splitting."""
    one = swing("implicit_euler", end / steps, damped=False)
    return Integrator(System(one.potential, one.motions, holds=one.holds), SCHEMES[kind], end / steps)


def test_leapfrog_between_a_turning_and_a_moving_support_is_of_second_order() -> None:
    """The state and the work, which is kinetic energy of the supports, too."""
    end, counts, errors = 1.1, (40, 80, 160), []
    for n in counts:
        one = explicit(n, end)
        fields = one.potential.fields
        begun = MASSES[2:, None] * fields["v"].values[2:] ** 2
        one.advance(n)
        x, v = (fields[name].values for name in "xv")
        held = 0.5 * float((MASSES[2:, None] * v[2:] ** 2 - begun).sum())
        found = np.concatenate([x[:2].ravel(), v[:2].ravel(), [one.work - held]])
        errors.append(np.abs(found - exact(end, False)[:9]).max())
    assert fitted_order(errors, counts) == pytest.approx(2.0, abs=0.1), errors


def test_the_adjoint_of_leapfrog_passes_by_a_turning_support() -> None:
    one = explicit(7, 1.1)
    fields = one.potential.fields
    target = np.random.default_rng(3).normal(size=(4, 2))
    far = bind(misfit(fields["x"]), fields, data={"target": target}, parameters={"sigma": 0.7})
    run = Rollout(one, [Loss(Potential(fields, [far]), (3, 7))], 7)
    _, found = run.evaluate(["x", "v"])
    for name in "xv":
        assert not found[name][2:].any()
        base, direction = fields[name].values.copy(), np.random.default_rng(4).normal(size=(4, 2))
        direction[2:] = 0.0

        def loss(part: float, name: str = name, base: np.ndarray = base, w: np.ndarray = direction) -> float:
            fields[name].set(base + part * w)
            return run.value()

        h = 1e-3
        expected = sum(c * (loss(k * h) - loss(-k * h)) for k, c in ((1, 45.0), (2, -9.0), (3, 1.0))) / (
            60 * h
        )
        fields[name].set(base)
        assert float((found[name] * direction).sum()) == pytest.approx(expected, rel=1e-8)


def test_the_reaction_of_a_free_wheel_is_centripetal() -> None:
    """m w^2 r towards the centre, at constant rate."""
    fields = Fields({"x": [[1.5, 0.0]], "v": [[0.0, 0.0]], "m": [2.0]})
    hold = Hold("wheel", "x", np.array([0]), rotation=Rotation((1.0, 0.0), rate=3.0))
    motions = [Motion("x", "v", "m")]
    holds = Holds(fields, [hold], motions)
    one = Integrator(System(Potential(fields, []), motions, holds=holds), SCHEMES["leapfrog"], 0.1)
    one.advance(7)
    force = holds.reaction("x", np.zeros((1, 2)), np.array([2.0]), one.time)
    np.testing.assert_allclose(force, -2.0 * 9.0 * (fields["x"].values - [1.0, 0.0]), rtol=1e-12)
    np.testing.assert_allclose(np.hypot(*(fields["x"].values[0] - [1.0, 0.0])), 0.5, rtol=1e-14)
    assert one.work == pytest.approx(0.0, abs=1e-12)


PLANE = {"x": np.zeros((3, 2)), "q": np.zeros(3)}
WRONG = {
    "needs vectors of 2 or 3 components, got 'q' of []": {"field": "q", "rotation": Rotation(())},
    "moves all components, got axes [0]; leave the axes out": {
        "axes": (0,),
        "rotation": Rotation((0.0, 0.0)),
    },
    "its centre needs 2 numbers, got 3; give one for each axis": {"rotation": Rotation((0.0, 0.0, 0.0))},
    "its axis has 3 numbers in space and is not given in the plane, got 3 numbers in 2 dimensions; correct"
    " it": {"rotation": Rotation((0.0, 0.0), (0.0, 0.0, 1.0))},
    "needs finite numbers and an axis that is not zero; correct them": {
        "rotation": Rotation((0.0, 0.0), rate=np.inf)
    },
}


@pytest.mark.parametrize("message", WRONG)
def test_rotations_that_do_not_fit_are_refused(message: str) -> None:
    given = {"name": "wheel", "field": "x", "nodes": np.array([0]), **WRONG[message]}
    with pytest.raises(EnergyError) as refused:
        Holds(Fields(PLANE), [Hold(**given)])
    assert str(refused.value) == f"hold 'wheel': rotation: {message}"
