"""The observer of pressure: what it records, of what moves in time and of what is minimised."""

import numpy as np
import pytest

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.assembly.observers import Pressures
from minusgrad.errors import EnergyError
from minusgrad.files.trajectory import Recorder
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.stepper import Stepper
from tests.support.elastic_box import MOTIONS, elastic_box, quartic_trap, slope_by_strain, stepper, values


def seen_by(one: Stepper, tensor: bool) -> dict[str, np.ndarray]:
    recorder = Recorder({}, ("s", 1.0))
    Pressures(one, recorder, 1, MOTIONS, tensor).observe()
    return {n.split("/")[1]: v[-1] for n, v in recorder.state().items() if n.endswith("value")}


@pytest.mark.parametrize("moves", [True, False], ids=["a box that moves", "a box that stays"])
def test_the_stress_is_that_of_energy_and_motion(moves: bool) -> None:
    """Pressure is -trace(stress) / d, stress (dU/de - sum m v v) / V; the box itself is not written."""
    one = stepper(3, "flexible")
    if not moves:
        one = Integrator(one.potential, MOTIONS, SCHEMES["leapfrog"], 0.01)
    seen, now = seen_by(one, True), values(one)
    size = abs(np.linalg.det(now["box"][0]))
    motion = np.einsum("n,na,nb->ab", now["m"], now["v"], now["v"])
    expected = (slope_by_strain(now["x"], now["box"][0]) - motion) / size
    np.testing.assert_allclose(seen["stress"], expected, rtol=1e-7, atol=1e-8)
    assert seen["pressure"] == pytest.approx(-np.trace(expected) / 3.0, rel=1e-7)
    assert seen["volume"] == pytest.approx(size, rel=1e-14)
    assert seen_by(one, False).keys() == {"pressure", "volume"}


def test_without_a_box_the_observer_is_refused() -> None:
    fields = Fields({"x": np.ones((2, 3)), "v": np.ones((2, 3)), "m": np.ones(2)})
    one = Integrator(Potential(fields, [bind(quartic_trap, fields)]), MOTIONS, SCHEMES["leapfrog"], 0.1)
    with pytest.raises(EnergyError, match=r"box: there is none, so nothing has a pressure; add .box. with"):
        Pressures(one, Recorder({}, ("s", 1.0)), 1, (Motion("x", "v", "m"),))


def test_of_a_minimiser_the_stress_has_no_motion() -> None:
    one = elastic_box(2)
    now = values(one)
    expected = slope_by_strain(now["x"], now["box"][0]) / abs(np.linalg.det(now["box"][0]))
    np.testing.assert_allclose(seen_by(one, True)["stress"], expected, rtol=1e-6, atol=1e-7)
