"""Fits from arrays of every kind of system: the value behind the data is found, or a part is refused.

Each row is a simulation as a function of one parameter. Its own positions at that value are the data; the fit
starts elsewhere. In both precisions; `make` runs the file on Quadrants, too.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Node, Parameter, local_energy
from minusgrad.errors import SceneError
from minusgrad.steppers.minimisers.minimiser import Minimiser
from tests.support.tiers import sampled

STEPS = (15, 30, 45, 60)
DT = 0.02
PAIR = np.array([[0, 1]])


class FitSystem(NamedTuple):
    """A simulation by a value, that behind the data, that of the start; what is found, or what is refused.

    refused, single: the end of the message, of all precisions and of f32 alone. found: the parameter at the
    value behind the data, where it is not that value itself.
    """

    make: Callable[..., mg.Simulation]
    parameter: str = "spring.stiffness"
    behind: float | list[float] = 2.5
    start: float | list[float] = 1.0
    found: list[float] | None = None
    refused: str = ""
    single: str = ""


@local_energy("bowl", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def bowl(x, k):
    """A well of the user's own."""
    return 0.5 * k * x[0].norm_sqr()


def swinging(precision: str, stepper: Any = None, stiffness: float = 2.5, **parts: Any) -> mg.Simulation:
    """A mass on a spring of 1, extended by a fifth and pushed aside; its other end is held."""
    given = {
        "fields": {
            "x": np.array([[0.0, 0.0], [1.2, 0.0]]),
            "v": np.array([[0.0, 0.0], [0.0, 0.3]]),
            "m": np.ones(2),
        },
        "bodies": {"nail": [0], "bob": [1]},
        "energies": [mg.energy("spring", stiffness=stiffness, rest=1.0, tuples=PAIR)],
        "holds": [{"body": "nail"}],
    }
    runtime = {"precision": precision}
    return mg.Simulation(
        stepper=stepper or mg.Leapfrog(dt=DT), units="dimensionless", runtime=runtime, **(given | parts)
    )


def on_a_rod(value: float, precision: str, **parts: Any) -> mg.Simulation:
    weight = mg.energy("body_force", acceleration=[0.0, -value])
    rod = mg.energy("rod", length=1.0, tuples=PAIR)
    fields = {"x": np.array([[0.0, 0.0], [1.0, 0.0]]), "v": np.zeros((2, 2)), "m": np.ones(2)}
    return swinging(precision, energies=[weight], constraints=[rod], fields=fields, **parts)


def of_a_moving_nail(value: list[float], precision: str) -> mg.Simulation:
    return swinging(precision, holds=[{"body": "nail", "velocity": value}])


def of_a_lagrangian(value: float, precision: str) -> mg.Simulation:
    return mg.Simulation(
        fields={"q": np.array([[0.4, 0.2]]), "v": np.zeros((1, 2))},
        motions=[mg.Motion("q", "v")],
        lagrangians=[mg.energy("double_pendulum", m1=1.0, m2=0.5, l1=1.0, l2=0.8, g=value)],
        stepper=mg.Variational(dt=DT),
        units="dimensionless",
        runtime={"precision": precision},
    )


def in_a_magnetic_field(value: float, precision: str) -> mg.Simulation:
    return swinging(precision, magnetic=[mg.energy("uniform_field", B=value, charge=1.0)])


def with_drag(value: float, precision: str) -> mg.Simulation:
    return swinging(precision, dissipations=[mg.energy("mass_damping", rate=value)])


def in_own_well(value: float, precision: str) -> mg.Simulation:
    return swinging(precision, energies=[bowl(k=value)], holds=[])


def at_rest(value: float, precision: str, **parts: Any) -> mg.Simulation:
    weight = mg.energy("body_force", acceleration=[0.4, 0.0])
    spring = mg.energy("spring", stiffness=value, rest=1.0, tuples=PAIR)
    gradient = 1e-10 if precision == "f64" else 1e-5
    stepper = mg.Newton(gradient=gradient)
    return swinging(precision, stepper, energies=[spring, weight], **parts)


def stepped(kind: str, **keys: Any) -> Callable[[float, str], mg.Simulation]:
    def make(value: float, precision: str) -> mg.Simulation:
        return swinging(precision, mg.stepper(kind, dt=DT, **keys), value)

    return make


def of_two_that_are_free(stepper: Any, value: float, precision: str, **parts: Any) -> mg.Simulation:
    return swinging(precision, stepper, value, holds=[], **parts)


def by_gauss_radau(value: float, precision: str) -> mg.Simulation:
    return of_two_that_are_free(mg.stepper("gauss_radau", dt=DT), value, precision)


def at_pressure(value: float, precision: str) -> mg.Simulation:
    bath = {"friction": 0.1, "temperature": 0.01}
    stepper = mg.stepper("npt", dt=DT, pressure=0.1, relaxation=1.0, **bath)
    return of_two_that_are_free(stepper, value, precision, box=[5.0, 5.0])


SYSTEMS = {
    "spring": FitSystem(lambda k, p: swinging(p, stiffness=k)),
    "own energy": FitSystem(in_own_well, "bowl.k"),
    "support that moves": FitSystem(of_a_moving_nail, "nail.velocity", [0.3, 0.1], [0.1, 0.2]),
    "rod": FitSystem(on_a_rod, "body_force.acceleration", 1.0, 0.8, [0.0, -1.0]),
    "friction": FitSystem(with_drag, "mass_damping.rate", 0.4, 0.2),
    "magnetic field": FitSystem(in_a_magnetic_field, "uniform_field.B", 0.7, 0.4, [0.0, 0.0, 0.7]),
    "Lagrangian": FitSystem(of_a_lagrangian, "double_pendulum.g", 9.81, 8.0),
    "implicit": FitSystem(stepped("implicit_midpoint")),
    "newmark": FitSystem(stepped("newmark")),
    "yoshida": FitSystem(stepped("yoshida4")),
    "gauss_radau": FitSystem(
        by_gauss_radau,
        single='gauss_radau: needs double precision, got f32; use [runtime] precision = "f64", or leapfrog',
    ),
    "equilibrium": FitSystem(at_rest),
    "heat bath": FitSystem(
        stepped("langevin", friction=0.1, temperature=0.0),
        refused="stepper.kind: stepper 'langevin': a run in a heat bath has no derivative; use leapfrog",
    ),
    "pressure": FitSystem(
        at_pressure,
        refused="stepper.kind: stepper 'npt': a run at constant pressure has no derivative; use leapfrog, at"
        " constant volume",
    ),
}
OFF = {"f64": 1e-7, "f32": 1e-4}
"""How far estimates from data without errors may be off, in parts of the largest."""
ROWS = [(name, precision) for name in SYSTEMS for precision in OFF]
SAMPLE = [("own energy", "f64"), ("rod", "f32"), ("support that moves", "f64"), ("heat bath", "f64")]


def measured(simulation: mg.Simulation) -> Any:
    """Its positions at STEPS, of the bob if there is one; of an equilibrium those at rest, of all nodes."""
    field = "q" if "q" in simulation.fields else "x"
    if isinstance(simulation.stepper, Minimiser):
        simulation.step(50)
        return {field: simulation.fields[field].values.copy()}
    times, rows = [], []
    for step in STEPS:
        simulation.step(step - simulation.stepper.step)
        times.append(simulation.time)
        rows.append(simulation.fields[field].values[-1].copy())
    return {field: (np.array(times), np.array(rows), *(["bob"] if field == "x" else []))}


@pytest.mark.parametrize("row", sampled(ROWS, SAMPLE), ids="-".join)
def test_the_value_behind_the_data_is_found_or_the_part_is_refused(
    row: tuple[str, str], tmp_path: Path
) -> None:
    name, precision = row
    system = SYSTEMS[name]
    refused = system.refused or (system.single if precision == "f32" else "")

    def fit() -> Any:
        data = measured(system.make(system.behind, precision))
        simulation = system.make(system.start, precision)
        return simulation.fit(tmp_path / "fit", data=data, sigma=1e-3, parameters=[system.parameter])

    if refused:
        with pytest.raises(SceneError) as error:
            fit()
        assert str(error.value).endswith(refused)
        return
    found = fit()
    assert found.outcome in ("converged", "settled")
    wanted = np.atleast_1d(system.behind if system.found is None else system.found)
    [estimate] = found.estimates.parameters
    assert np.abs(estimate.values - wanted).max() <= OFF[precision] * np.abs(wanted).max()
