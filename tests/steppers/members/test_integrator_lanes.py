"""Members in lanes: bits of their own, the numbers of ordinary steps, damage that is found."""

from typing import Any

import numpy as np
import pytest

from minusgrad.app.runs import build
from minusgrad.engine.members import text_survey
from minusgrad.engine.members.text_survey import NotWideError
from minusgrad.errors import MiscompiledError
from minusgrad.steppers.members.integrator_lanes import IntegratorLanes
from tests.support.command import SCENES

FEW = {"state.n": 3}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "leapfrog": ("plummer", FEW | {"runtime.precision": "f64"}),
    "single precision": ("plummer", FEW),
    "eighth order": ("figure_eight", {}),
    "magnetic field": ("crossed_fields", {}),
    "friction and contacts": ("walker", {}),
}


def begin(simulation: Any, number: int) -> None:
    """Displace the positions of a member; its heat bath draws its own numbers."""
    for motion in simulation.stepper.motions:
        field, rng = simulation.fields[motion.position], np.random.default_rng(number)
        field.set((field.values * (1.0 + 1e-3 * rng.normal(size=field.shape))).astype(field.dtype))
    simulation.stepper.draw_as(number)


@pytest.mark.parametrize("family", FAMILIES)
def test_members_have_bits_of_their_own_and_the_numbers_of_ordinary_steps(family: str) -> None:
    scene, overrides = FAMILIES[family]
    shifted = build(SCENES / f"{scene}.toml", overrides)
    begin(shifted, 0)
    start = {f.name: f.values.copy() for f in shifted.stepper.moving}
    many, _ = members_from(family, start, 18, (7, 5))
    alone, _ = members_from(family, start, 1, (12,))
    for name, rows in many.state().items():
        assert rows[0].tobytes() == alone.state()[name][0].tobytes(), name
    shifted.stepper.advance(12)
    eps = np.finfo(shifted.fields.dtype).eps
    for field in shifted.stepper.moving:
        found = many.state()[f"fields/{field.name}"][0]
        most = np.abs(field.values).max()
        np.testing.assert_allclose(found, field.values, rtol=0.0, atol=256 * eps * most, err_msg=field.name)


def members_from(
    family: str, start: dict[str, np.ndarray], count: int, steps: tuple[int, ...]
) -> tuple[IntegratorLanes, Any]:
    """`count` members, the first of which begins at `start`."""
    scene, overrides = FAMILIES[family]
    simulation = build(SCENES / f"{scene}.toml", overrides)
    lanes = IntegratorLanes(simulation.stepper, count)
    for row in range(count):
        for name, values in start.items():
            simulation.fields[name].set(values * values.dtype.type(1.0 + 1e-4 * row))
        simulation.stepper.draw_as(row)
        lanes.capture(row)
    lanes.evaluate(0.0)
    lanes.verify(0.0)
    first = 0
    for number in steps:
        lanes.advance(first, number)
        first += number
    return lanes, simulation


def test_a_wrong_translation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(text_survey.OPERATORS, text_survey.ast.Sub, "+")
    with pytest.raises(MiscompiledError, match=r"^lanes of members: dU/d\(x\) at node \d+ is"):
        members_from("leapfrog", {}, 2, ())


def test_members_without_lanes_say_why() -> None:
    reasons = {
        "argon_liquid": "256 nodes are more than 64",
        "warm_crystal": "121 nodes are more than 64",
        "mercury": "steps with drifts along a flow have no lanes",
        "tennis_racket": "steps with constraints have no lanes",
    }
    for scene, reason in reasons.items():
        with pytest.raises(NotWideError, match=f"^{reason}"):
            IntegratorLanes(build(SCENES / f"{scene}.toml").stepper, 4)
