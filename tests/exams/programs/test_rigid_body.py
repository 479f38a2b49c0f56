"""A robot of rigid bodies: its gradient against a Tape's, its parts against paper, how it learns."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.tape import rigid_body as tape

import minusgrad
from minusgrad import Fields, Loss, Potential, Rollout, bind
from minusgrad.app.run_options import RunOptions
from minusgrad.assembly.fits.fit import ParameterFit
from minusgrad.engine import runtime
from minusgrad.plugin import Evolution
from minusgrad.steppers.systems.system import System
from minusgrad_impacts.balls import pocket
from minusgrad_impacts.boxes import corner, free, hinge, motion

SCENE = Path(__file__).parents[3] / "scenes/rigid_body.toml"


def fit_of(**changes) -> ParameterFit:
    return ParameterFit(RunOptions(SCENE, changes).validated())


def robot(fit: ParameterFit) -> dict:
    """The boxes, struts and joints of the scene, for the Tape program."""
    state, fields = fit.simulation.state, fit.simulation.fields
    struts, joints = (state.data[name] for name in ("struts", "joints"))
    return {name: fields[name].values for name in ("x", "half", "m", "inertia")} | {
        "struts": state.tuples["struts"][:, 1:],
        "joints": state.tuples["joints"],
        "strut_points": np.stack([struts["first"], struts["second"]], axis=1),
        "joint_points": np.stack([joints["first"], joints["second"]], axis=1),
        "rest": struts["rest"],
        "phases": fit.simulation.potential.parameter("sines.phase"),
        "k": 15.0,
    }


def test_the_gradient_of_a_hundred_steps_is_that_of_a_tape() -> None:
    """Above ground 2 cm higher, so that the feet fall 1 cm and meet it with friction."""
    fit = fit_of(**{"run.steps": 100, "corner.height": "12 cm"})
    names = [unknown.field for unknown in fit.parameters.unknowns]
    loss, found = fit.function.evaluate(names)
    values = {name: fit.simulation.potential.parameter(name) for name in names}
    expected, gradients = tape.program(robot(fit), 100, swing=0.05, ground=0.12)(values)
    assert loss == pytest.approx(expected, rel=1e-12)
    for name in names:
        assert np.abs(gradients[name]).max() > 0.0
        gradient = gradients[name].reshape(np.shape(found[name]))
        np.testing.assert_allclose(found[name], gradient, rtol=0.0, atol=1e-9 * np.abs(gradient).max())
    fit.simulation.step(100)
    feet = fit.simulation.fields["x"].values[1:4, 1]
    assert (feet < 0.1401).all()
    assert (np.abs(fit.simulation.fields["v"].values[1:4, 1]) < 0.3).all()


@pytest.mark.long
def test_the_robot_learns_to_walk(tmp_path: Path) -> None:
    fit = minusgrad.fit(SCENE, out=tmp_path / "fit")
    losses = fit.series("observables/loss").value
    assert len(losses) == 21
    assert losses[0] == pytest.approx(0.60, abs=0.01)
    assert losses[-1] < 0.5 * losses[0]
    assert losses[-1] == pytest.approx(0.26, abs=0.01)
    assert fit.remarks == ()


# The parts ----------------------------------------------------------------------------------------------

HALF, MASS = np.array([[0.05, 0.05]]), 0.4
INERTIA = MASS * (HALF[0] ** 2).sum() / 3.0
R = float(np.linalg.norm(HALF))


def dropped(y: float, u: tuple[float, float], dt: float = 1e-3, **given: float) -> tuple[Evolution, Fields]:
    """A box on its corner, without weight, at height y and speed u."""
    runtime.start()
    zero, one = np.zeros((1, 2)), np.zeros(1)
    values = {"x": [[0.0, y]], "v": [u], "angle": [np.pi / 4], "omega": one, "half": HALF, "m": [MASS]}
    values |= {"inertia": [INERTIA], "force": zero, "torque": one}
    units = {"x": "m", "v": "m/s", "angle": "rad", "omega": "rad/s", "half": "m", "m": "kg"}
    fields = Fields(values, units | {"inertia": "kg m^2", "force": "N", "torque": "N m"})
    maps = [
        bind(free, fields, parameters={"gravity": 0.0}),
        bind(corner, fields, parameters={"stiffness": 0.0} | given),
        bind(motion, fields),
    ]
    updates = {name: f"{name}_next" for name in ("x", "v", "angle", "omega")}
    return Evolution(System(Potential(fields, [], maps)), updates, dt=dt), fields


@pytest.mark.parametrize("dt", [2e-3, 0.7e-2])
def test_a_box_on_its_corner_bounces_as_on_paper(dt: float) -> None:
    """It ends at R + e (v T - (y - R)), whose derivative by y is -e, for every step."""
    e, v, y, steps = 0.6, 0.8, 0.13, 50
    stepper, fields = dropped(y, (0.0, -v), dt, restitution=e)
    loss = Loss(Potential(fields, [bind(pocket, fields, parameters={"at": [0.0, 0.0]})]), steps=(steps,))
    value, found = Rollout(stepper, [loss], steps=steps).evaluate(["x"])
    end = R + e * (v * steps * dt - (y - R))
    assert value == pytest.approx(end**2, rel=1e-12)
    assert v * steps * dt > y - R
    assert found["x"][0, 1] == pytest.approx(-2.0 * end * e, rel=1e-11)


@pytest.mark.parametrize("friction", [0.05, 10.0])
def test_a_corner_slides_or_sticks(friction: float) -> None:
    """Coulomb's law, at one impact of a corner below the centre; it sticks if mu is large enough."""
    u = np.array([0.3, -0.8])
    stepper, fields = dropped(R + 1e-4, (0.3, -0.8), friction=friction)
    stepper.advance(1)
    normal = MASS * 0.8
    stop = -u[0] / (1.0 / MASS + R * R / INERTIA)
    along = -friction * normal if friction * normal < -stop else stop
    np.testing.assert_allclose(fields["v"].values[0], [u[0] + along / MASS, 0.0], atol=1e-15)
    assert fields["omega"].values[0] == pytest.approx(R * along / INERTIA, rel=1e-12)
    if friction == 10.0:
        assert fields["v"].values[0, 0] + R * fields["omega"].values[0] == pytest.approx(0.0, abs=1e-15)


def test_a_joint_keeps_momentum_and_ends_the_relative_velocity() -> None:
    """Both momenta about the point where the joint is; the joint's points move together after it."""
    runtime.start()
    rng = np.random.default_rng(3)
    here, there = np.array([0.1, -0.02]), np.array([-0.05, 0.03])
    angle, u, w, m, inertia = (
        rng.normal(size=2),
        rng.normal(size=(2, 2)),
        rng.normal(size=2),
        [0.4, 0.9],
        [0.01, 0.03],
    )
    values = {"u": u, "w": w, "angle": angle, "m": m, "inertia": inertia}
    fields = Fields(values, {"u": "m/s", "w": "rad/s", "angle": "rad", "m": "kg", "inertia": "kg m^2"})
    points = {"here": [here, there], "there": [there, here]}
    of_joint = bind(hinge, fields, tuples=[[0, 1], [1, 0]], data=points)
    Potential(fields, [], [of_joint]).refresh()
    v, omega = u + fields["dv"].values, w + fields["domega"].values
    arms = [
        np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) @ p
        for a, p in zip(angle, (here, there), strict=True)
    ]
    speeds = [v[k] + omega[k] * np.array([-r[1], r[0]]) for k, r in enumerate(arms)]
    np.testing.assert_allclose(speeds[0], speeds[1], atol=1e-14)
    np.testing.assert_allclose(np.array(m) @ v, np.array(m) @ u, atol=1e-15)
    about = [
        sum(
            i * o - mass * (r[0] * s[1] - r[1] * s[0])
            for i, o, mass, r, s in zip(inertia, turn, m, arms, speed, strict=True)
        )
        for turn, speed in ((w, u), (omega, v))
    ]
    assert about[0] == pytest.approx(about[1], abs=1e-15)
