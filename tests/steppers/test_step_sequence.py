"""The sequence of a step as data: interpreters follow another splitting, and refuse an unknown move."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from minusgrad.adjoint.backward import Backward
from minusgrad.adjoint.rollout import Rollout
from minusgrad.adjoint.tangents import Sensitivity
from minusgrad.errors import EnergyError, NonFiniteError
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES, Scheme
from minusgrad.steppers.step_sequence import (
    KICK_DRIFT_KICK,
    BathDrift,
    Drift,
    Forces,
    HalfFriction,
    Kick,
    Move,
    StepSequence,
)
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.tape import Tape
from tests.support.laws import bits
from tests.support.modulated_trap import trap, trapped, well
from tests.support.rollouts import assert_transposed, judged, line, names

THIRDS = (0.3, 0.4, 0.3)
DRIFT_KICK_DRIFT = StepSequence(
    opening=(HalfFriction(0), Drift(0), Forces(0)),
    stage=(Kick(0), Drift(1), Forces(1)),
    closing=(HalfFriction(1),),
    row="kicks",
)
"""One drift more than kicks; the forces at the end of a step are for observers."""

OTHER = Scheme(2, (0.6, 0.4), THIRDS, sequence=DRIFT_KICK_DRIFT)
"""Drift, kick, drift, kick, drift."""
SAME = Scheme(2, (0.0, 0.6, 0.4, 0.0), THIRDS)
"""The same step with kicks of no strength around it."""


def test_a_step_reads_like_its_name() -> None:
    euler = (HalfFriction(0), Kick(0), Drift(0), Forces(0), Kick(1), HalfFriction(1))
    assert SCHEMES["leapfrog"].moves == euler
    middle = [m for k in range(3) for m in (Drift(k), Forces(k), Kick(k + 1))]
    assert SCHEMES["yoshida4"].moves == (HalfFriction(0), Kick(0), *middle, HalfFriction(1))
    middle = [m for k in range(2) for m in (Kick(k), Drift(k + 1), Forces(k + 1))]
    assert OTHER.moves == (HalfFriction(0), Drift(0), Forces(0), *middle, HalfFriction(1))
    assert [type(m) for m in SCHEMES["leapfrog"].in_bath().moves].count(BathDrift) == 1
    assert SCHEMES["leapfrog"].in_bath().in_bath() == SCHEMES["leapfrog"].in_bath()


def by(scheme: Scheme, like: Integrator | None = None) -> Integrator:
    """Four nodes on a line, in friction, one clamped and one moved, by this scheme."""
    like = like or line()
    return Integrator(
        System(like.potential, like.motions, holds=like.holds, dissipation=like.dissipation),
        scheme,
        like.dt,
        like.t0,
    )


def test_another_splitting_steps_forward(launches) -> None:
    found, expected = by(OTHER), by(SAME)
    for one in (found, expected):
        one.advance(7)
        one.advance(6)
    assert found.fused == (launches == "fused")
    assert bits(found) == bits(expected)
    assert found.work == expected.work != 0.0


def test_another_splitting_has_tangents_and_adjoint(launches) -> None:
    assert_transposed(by(OTHER))
    found, expected = (judged(by(scheme)) for scheme in (OTHER, SAME))
    wanted = names(found.stepper)
    (loss, slopes), (same_loss, same_slopes) = (r.evaluate(wanted) for r in (found, expected))
    assert loss == same_loss
    for name in wanted:
        np.testing.assert_allclose(slopes[name], same_slopes[name], rtol=1e-12, atol=1e-14)


def test_another_splitting_is_diagnosed(launches) -> None:
    stepper = trapped("leapfrog", 2.0, (trap, well))
    stepper = Integrator(System(stepper.potential, stepper.motions), OTHER, 2.0)
    with pytest.raises(NonFiniteError, match=r"^step \d+: term 'well', node \d"):
        stepper.advance(50)
    assert np.isfinite(stepper.potential.fields["x"].values).all()


# A move that is not known everywhere ----------------------------------------------------------------------


@dataclass(frozen=True)
class Turn(Move):
    """v <- a rotation of v: a move that nothing here has a rule for."""

    name: ClassVar[str] = "magnetic rotation"


TURNING = replace(SCHEMES["leapfrog"], sequence=replace(KICK_DRIFT_KICK, closing=(Turn(0), HalfFriction(1))))
KNOWN = "use a scheme of these moves: half friction, kick, drift"


def refusal(interpreter: str) -> str:
    return (
        f"^{interpreter}: has no rule for the move 'magnetic rotation', got a step that contains it; {KNOWN}"
    )


def test_a_move_without_a_rule_is_refused_by_the_stepper(launches) -> None:
    with pytest.raises(EnergyError, match=refusal("integrator")):
        by(TURNING).advance(1)


def turning(taped: bool = False) -> Integrator:
    """A leapfrog that claims, once it is built, to have turned."""
    one = line()
    if taped:
        tape = Tape.of(one.potential.fields, one.motions, 4, 1, True)
        one = one.with_tape(tape)
    vars(one)["scheme"] = one._single.scheme = TURNING  # past the stepper, which refuses it
    return one


def test_a_move_without_a_rule_is_refused_by_the_adjoint(launches) -> None:
    one = turning(taped=True)
    with pytest.raises(EnergyError, match=refusal("adjoint")):
        Backward(one, ["q"]).back(1, 1)


def test_a_move_without_a_rule_is_refused_by_the_tangent(launches) -> None:
    beside = Sensitivity(turning(), ["q"])
    with pytest.raises(EnergyError, match=refusal("tangent")):
        start_and_advance(beside)


def start_and_advance(beside: Sensitivity) -> None:
    beside.start({})
    beside.advance(1)


def test_a_move_without_an_adjoint_is_refused_with_its_cure() -> None:
    one = line()
    one.kind, vars(one)["scheme"] = "warm", one.scheme.in_bath()
    with pytest.raises(EnergyError) as refused:
        Rollout(one, [], 3)
    assert str(refused.value) == "stepper 'warm': a run in a heat bath has no derivative; use leapfrog"


def test_a_sequence_onto_constraints_is_constrained_once() -> None:
    """Also one whose velocities are left as they are at its end: a taped run has the moves of the stepper."""
    once = KICK_DRIFT_KICK.constrained()
    assert once.constrained() == once
    without = replace(once, closing=(HalfFriction(1),))
    assert without.constrained() == without
