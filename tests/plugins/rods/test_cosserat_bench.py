"""Our entry of CosseratBench: its experiments against their references, and what we say we do not have."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cosseratbench import registry
from cosseratbench.experiment import run, score
from cosseratbench.experiments import capstan, catenary, pendulum, twist
from cosseratbench.scenario import Plane
from cosseratbench.solver import Capability, Diverged

from minusgrad_rods.cosserat_bench import runs
from minusgrad_rods.cosserat_bench.solver import MinusgradSolver


def results(experiment: Any, elements: int, **values: float) -> dict[str, float]:
    scenario = experiment.scenario_for(**values)
    found = MinusgradSolver().run(scenario, n_elements=elements, n_frames=experiment.n_frames)
    return score(experiment, scenario, found)[0]


def test_the_catenary() -> None:
    """The sag is off by the bending that the reference leaves out: 4e-4."""
    found = results(catenary.catenary, 50)
    assert found["shape_error"] < 5e-4
    assert found["sag_error"] < 2e-4
    assert found["settling_residual"] == 0.0


def test_the_pendulum() -> None:
    """Period of second order, amplitude kept."""
    errors = []
    for n in (10, 20):
        found = results(pendulum.pendulum, n)
        errors.append(found["period_error"])
        assert abs(found["amplitude_change"]) < 1e-3
    assert errors[1] < 8e-4
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.2


@pytest.mark.long
def test_the_twist_at_which_rods_buckle() -> None:
    """Greenhill's value from the growth of rods held beyond it; 50 elements, as the benchmark has it."""
    assert results(twist.twist, 50)["critical_twist_error"] < 3e-3


def test_a_rope_on_a_cylinder_holds() -> None:
    """The capstan at 0.8 of the overhang that holds, 0.4 s of it: it slips where it settles, and stays."""
    scenario = replace(capstan.capstan.scenario, duration=0.4)
    light = runs.follow_scenario(scenario, 40, 21).positions[0][:, 0, 2]
    assert light.max() - light[0] < 2e-3
    assert abs(light[-1] - light[10]) < 1e-5


@pytest.mark.long
def test_a_rope_that_is_too_long_slides() -> None:
    assert results(capstan.capstan, 40, overhang=1.5)["slide"] > 0.05


def test_what_is_not_supported_is_said() -> None:
    """Ropes on ropes by the capabilities, the rest by the scenario."""
    for name in ("crossing", "pile"):
        found = run(registry.load_experiment(name), MinusgradSolver())
        assert "rod_contact" in found.missing
    floor = replace(capstan.capstan.scenario, obstacles=(Plane((0.0,) * 3, (0.0, 0.0, 1.0)),))
    for scenario, words in [
        (floor, "obstacle of the kind plane"),
        (replace(capstan.capstan.scenario, quasi_static=False), "contact without any dissipation"),
    ]:
        with pytest.raises(NotImplementedError, match=words):
            runs.follow_scenario(scenario, 6, 3)


def test_a_run_that_breaks_down_is_told_with_its_time() -> None:
    with pytest.raises(Diverged) as caught:
        MinusgradSolver(time_step_scale=50.0).run(pendulum.pendulum.scenario, n_elements=10, n_frames=11)
    assert caught.value.time is not None


def test_the_benchmark_finds_us() -> None:
    solver = registry.load_solver("minusgrad", time_step_scale=0.5)
    assert isinstance(solver, MinusgradSolver)
    assert solver.capabilities == {Capability.STRETCH, Capability.CYLINDER_CONTACT}
    scenario = pendulum.pendulum.scenario
    settings = [s.settings(scenario, n_elements=50, n_frames=101) for s in (solver, MinusgradSolver())]
    assert settings[0]["time_step"] == pytest.approx(0.5 * settings[1]["time_step"], rel=1e-2)
    assert settings[0]["damping_rate"] == 0.0
