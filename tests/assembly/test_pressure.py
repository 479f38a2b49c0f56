"""The observer of pressure: what it records, of what moves in time and of what is minimised."""

import numpy as np
import pytest

import minusgrad
from minusgrad import Fields, Motion, Potential, bind
from minusgrad.assembly.observers import Pressures
from minusgrad.errors import EnergyError, SceneError
from minusgrad.files.trajectory import Recorder
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.stepper import Stepper
from minusgrad.steppers.systems.system import System
from tests.support.command import SCENES
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
        one = Integrator(System(one.potential, MOTIONS), SCHEMES["leapfrog"], 0.01)
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
    one = Integrator(
        System(Potential(fields, [bind(quartic_trap, fields)]), MOTIONS), SCHEMES["leapfrog"], 0.1
    )
    with pytest.raises(EnergyError, match=r"box: there is none, so nothing has a pressure; add .box. with"):
        Pressures(one, Recorder({}, ("s", 1.0)), 1, (Motion("x", "v", "m"),))


def test_of_a_minimiser_the_stress_has_no_motion() -> None:
    one = elastic_box(2)
    now = values(one)
    expected = slope_by_strain(now["x"], now["box"][0]) / abs(np.linalg.det(now["box"][0]))
    np.testing.assert_allclose(seen_by(one, True)["stress"], expected, rtol=1e-6, atol=1e-7)


# Scenes ----------------------------------------------------------------------------------------------

NPT = {"kind": "npt", "dt": 0.01, "friction": 0.1, "temperature": 0.2, "pressure": 0.3, "relaxation": 50.0}
BOX = {"box": {"edges": [20.0, 20.0]}, "energy.0.cutoff": 8.0, "stepper": NPT}
SHEET = NPT | {"dt": "5 fs", "friction": "5 ps^-1", "temperature": "100 K", "relaxation": "1 ps"}


def test_a_scene_at_constant_pressure(tmp_path) -> None:
    """The numbers of the barostat; what a run records, its edges with every frame."""
    run = minusgrad.run(
        SCENES / "two_body.toml",
        BOX
        | {"run.steps": 20, "observe": [{"kind": k, "every": 5} for k in ("energies", "pressure", "frames")]},
        tmp_path / "run",
    )
    barostat, stepper = run.simulation.stepper.cell.barostat, run.simulation.stepper
    assert (barostat.pressure, barostat.kT, barostat.relaxation) == (0.3, 0.2, 50.0)
    assert (barostat.friction, barostat.shape, barostat.seed) == (
        0.02,
        "isotropic",
        run.simulation.scene.runtime.seed,
    )
    assert stepper.cell.inertia == pytest.approx(3 * 0.2 * 50.0**2)
    edges = run.series("particles/all/box/edges").value
    assert edges.shape == (5, 2, 2)
    assert np.array_equal(edges[-1], run.simulation.fields["box"].values[0])
    assert not np.array_equal(edges[0], edges[-1])
    sizes = run.series("observables/volume").value
    np.testing.assert_allclose(sizes, np.abs(np.linalg.det(edges)), rtol=1e-13)
    cell = run.series("observables/cell").value
    assert cell[0] == pytest.approx(0.3 * 400.0 - 0.2 * np.log(400.0), rel=1e-13)
    assert np.abs(run.series("observables/drift").value).max() < 1e-6


def test_the_pressure_of_a_sheet_is_a_force_per_length() -> None:
    overrides = {"box": {"edges": ["5 nm", "5 nm"]}, "hold": []}
    one = minusgrad.build(
        SCENES / "warm_crystal.toml", overrides | {"stepper": SHEET | {"pressure": "1 N/m"}}
    )
    assert one.units.in_si("J m^-2") * one.stepper.cell.barostat.pressure == pytest.approx(1.0, rel=1e-12)


SCENES_REFUSED = {
    "stepper: temperature: must be above 0 at constant pressure, because it sets the inertia of the box, got"
    " 0.0; for a cold box use a low temperature with a high friction": (
        "two_body",
        BOX | {"stepper": NPT | {"temperature": 0.0}},
    ),
    "stepper: barostat: needs a box that repeats along every axis, got periodic = [True, False]; use a"
    " stepper at constant volume": (
        "two_body",
        BOX | {"box": {"edges": [20.0, 20.0], "periodic": [True, False]}},
    ),
    "stepper: box: there is none, so nothing has a pressure; add [box] with its edges": (
        "two_body",
        {"stepper": NPT},
    ),
    "observe.0: box: there is none, so nothing has a pressure; add [box] with its edges": (
        "two_body",
        {"observe": [{"kind": "pressure", "every": 5}]},
    ),
    "stepper: '1 Pa' is a pressure, but 'J m^-2' (force per length) is needed": (
        "warm_crystal",
        {"box": {"edges": ["5 nm", "5 nm"]}, "hold": [], "stepper": SHEET | {"pressure": "1 Pa"}},
    ),
}


@pytest.mark.parametrize("text", SCENES_REFUSED)
def test_scenes_that_are_refused(text: str) -> None:
    scene, overrides = SCENES_REFUSED[text]
    with pytest.raises(SceneError) as raised:
        minusgrad.build(SCENES / f"{scene}.toml", overrides)
    assert str(raised.value).endswith(text)
