"""Bounds of node fields: refused at the start, kept by minimisers, asked for where they are open."""

from math import inf

import numpy as np
import pytest

from minusgrad import Fields, Node, Potential, bind, local_energy, ti
from minusgrad.errors import EnergyError
from minusgrad.steppers.minimisers.first_order import Adam
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.unknowns import Unknown
from tests.support.command import minusgrad


@local_energy("lamp", over="nodes", power=Node("W", bounds=(0.0, inf), reason="no lamp takes energy back"))
def lamp(power):
    return (power[0] + 1.0) ** 2


@local_energy("dwell", over="nodes", speed=Node("m s^-1", bounds=(0.0, inf), open=True, reason="1 / speed"))
def dwell(speed):
    return 1.0 / speed[0] + speed[0]


@local_energy("turn", over="nodes", pose=Node("1", (2,), bounds=(-1.0, 1.0)))
def turn(pose):
    return ti.acos(pose[0].x) + pose[0].y


def potential(energy, **values) -> Potential:
    fields = Fields(values)
    return Potential(fields, [bind(energy, fields)])


def test_a_field_that_starts_beyond_is_refused_with_the_node_and_the_reason() -> None:
    wanted = r"lamp\.power: field 'power' is -2 at node 1, not within \[0, inf\]; no lamp takes energy back"
    with pytest.raises(EnergyError, match=wanted):
        potential(lamp, power=[1.0, -2.0])
    with pytest.raises(
        EnergyError, match=r"dwell\.speed: field 'speed' is 0 at node 0, not within \(0, inf\)"
    ):
        potential(dwell, speed=[0.0])
    with pytest.raises(
        EnergyError, match=r"turn\.pose: field 'pose' is \[0\.5, 1\.5\] at node 2, not within"
    ):
        potential(turn, pose=[[0.0, 0.0], [1.0, -1.0], [0.5, 1.5]])


@pytest.mark.parametrize("method", [LBFGS, Adam])
def test_a_minimiser_keeps_to_closed_bounds_unasked(method) -> None:
    search = method(potential(lamp, power=np.linspace(0.1, 3.0, 5)), [Unknown("power")])
    for _ in range(60):
        search.advance(1)
        assert search.potential.fields["power"].values.min() >= 0.0
    assert search.coordinates.lower.max() == 0.0


def test_tighter_bounds_of_the_unknown_win() -> None:
    search = LBFGS(potential(lamp, power=[2.0]), [Unknown("power", lower=0.5)])
    search.advance(20)
    assert search.potential.fields["power"].values.tolist() == [0.5]
    wider = LBFGS(potential(turn, pose=[[0.0, 0.0]]), [Unknown("pose", lower=-5.0, upper=0.5)])
    assert wider.coordinates.lower.tolist() == [-1.0, -1.0]
    assert wider.coordinates.upper.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("lower", [-inf, -1.0, 0.0])
def test_an_open_bound_wants_one_inside(lower) -> None:
    wanted = (
        r"'speed' could reach 0, and dwell\.speed is only defined within \(0, inf\); 1 / speed:"
        r" give it a `lower` bound above 0"
    )
    with pytest.raises(EnergyError, match=wanted):
        LBFGS(potential(dwell, speed=[2.0]), [Unknown("speed", lower=lower)])
    search = LBFGS(potential(dwell, speed=[3.0]), [Unknown("speed", lower=1e-3)])
    search.advance(50)
    assert search.potential.fields["speed"].values[0] == pytest.approx(1.0, abs=1e-6)


def test_a_laser_that_may_stand_still_is_refused_at_its_place() -> None:
    done = minusgrad("run", "scenes/laser_butterfly.toml", "stepper.fields.speed.lower=0.0", "run.steps=1")
    assert done.returncode == 2
    assert "scenes/laser_butterfly.toml:" in done.stderr
    assert (
        "stepper: 'speed' could reach 0, and stencil_dose.speed is only defined within (0, inf)"
        in done.stderr
    )
    assert "the spot dwells for length / speed: give it a `lower` bound above 0" in done.stderr


def test_an_open_bound_is_what_the_precision_holds() -> None:
    """1e-50 is zero in single precision."""
    fields = Fields({"speed": [2.0]}, precision="f32")
    single = Potential(fields, [bind(dwell, fields)])
    with pytest.raises(EnergyError, match="'speed' could reach 0"):
        LBFGS(single, [Unknown("speed", lower=1e-50)])
