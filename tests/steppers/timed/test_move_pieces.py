"""Pieces of a step as a device launches them: the same numbers; what constraints move stays with the host."""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad.app.runs import build
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.timed.move_pieces import HostMove
from tests.steppers.test_steps_on_devices import CASES
from tests.support.command import SCENES

COUNTED = {"explicit time": "work", "friction and supports": "dissipated", "heat bath": "heat"}


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minusgrad.steppers.integrator.SMALL", -1)


@pytest.mark.parametrize("name", COUNTED)
def test_sums_by_tasks_are_those_of_the_host(name: str) -> None:
    """Work, heat and friction, by the loops that a device launches, here on the processor."""
    made: Callable[[], Integrator] = CASES[name][0]
    found = []
    for by_tasks in (False, True):
        one = made()
        assert not one.fused
        one._single._launched._device = by_tasks
        one.advance(15)
        found.append(one.balance[COUNTED[name]])
    assert found[0] != 0.0
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


@pytest.mark.parametrize("kind", ["leapfrog", "langevin"])
def test_constraints_leave_no_move_to_a_device(kind: str) -> None:
    more = ["stepper.friction=0.1", "stepper.temperature=1e-3"] if kind == "langevin" else []
    one = build(SCENES / "tennis_racket.toml", [f"stepper.kind={kind}", *more]).stepper
    assert isinstance(one, Integrator)
    moves = [p for pieces in one.moves.pieces(one.scheme).values() for p in pieces if isinstance(p, HostMove)]
    assert moves
    assert not any(piece.as_tasks for piece in moves)
