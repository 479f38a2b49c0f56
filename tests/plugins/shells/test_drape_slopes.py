"""A cloth that hangs over the edge of a table: derivatives by moduli and thickness beside differences.

Where its free part comes to lie is a function of E, D and the thickness t, of which membranes, bending and
mass are linear, cubic and linear; through the equilibrium, and through a run of implicit steps.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from benchmarks.cloth import Cloth

from minusgrad import Potential, bind
from minusgrad.adjoint.equilibria.equilibrium import Equilibrium
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.energies.misfit import misfit
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from tests.support.tiers import sampled

MODULUS, STIFFNESS, MASSES = "shell_stretching.youngs_modulus", "shell_bending.stiffness", "m"
POWERS = {"E": {MODULUS: 1}, "D": {STIFFNESS: 1}, "thickness": {MODULUS: 1, STIFFNESS: 3, MASSES: 1}}
"""What grows with a number, and as which power of it; the mass per area is one of the thickness."""
STIFF = {MODULUS: 1e5, STIFFNESS: 0.03}
STEPS, DT = 6, 0.05


def distance(potential: Potential) -> Loss:
    """Half the squares of all places from a point beside the cloth."""
    target = np.tile([0.1, 0.7, -0.3], (len(potential.fields["x"].values), 1))
    data, parameters = {"target": target}, {"sigma": 1.0}
    term = bind(misfit(potential.fields["x"]), potential.fields, data=data, parameters=parameters)
    return Loss(Potential(potential.fields, [term]), (STEPS,))


def stiffened(potential: Potential) -> None:
    for name, value in STIFF.items():
        potential.set_parameter(name, value)


def of_run(cloth: Cloth) -> Rollout:
    stepper = cloth.draped(DT)
    stiffened(stepper.potential)
    return Rollout(stepper, [distance(stepper.potential)], STEPS, 1 << 30)


def of_equilibrium(cloth: Cloth) -> Equilibrium:
    """Clamped on the first two rows; the others lie on the table and hang over its edge."""
    potential = cloth.potential()
    stiffened(potential)
    free = np.repeat(cloth.x[:, 1:2] > -0.3, 3, axis=1)
    search = Newton(potential, [Unknown("x")], Tolerances(force=1e-12), free={"x": free})
    return Equilibrium(search, [distance(potential)], 400)


JOBS: Mapping[str, Callable] = {"run": of_run, "equilibrium": of_equilibrium}
ROWS = [(job, number) for job in JOBS for number in POWERS]


@pytest.mark.parametrize(
    "row", sampled(ROWS, [("run", "thickness"), ("equilibrium", "thickness")]), ids=" ".join
)
def test_a_draped_edge_by_its_moduli_and_thickness(row: tuple[str, str]) -> None:
    job, number = row
    cloth = Cloth.of((2, 8))
    one = JOBS[job](cloth)
    potential = one.potential if job == "equilibrium" else one.stepper.potential
    powers, base = POWERS[number], {**STIFF, MASSES: cloth.masses}

    def put(name: str, values: np.ndarray | float) -> None:
        if name != MASSES:
            potential.set_parameter(name, values)
        elif job == "equilibrium":
            one.set_input(name, values)
        else:
            potential.fields[name].set(values)

    def value(part: float) -> float:
        """At a number (1 + part) times as large."""
        for name, power in powers.items():
            put(name, base[name] * (1.0 + part) ** power)
        return one.value()

    _, found = one.evaluate([*powers])
    exact = sum(power * float(np.sum(found[name] * base[name])) for name, power in powers.items())
    h = 5e-3
    parts = {k: (value(k * h) - value(-k * h)) / (2.0 * k * h) for k in (1, 2, 3, 4)}
    expected = (56.0 * parts[1] - 28.0 * parts[2] + 8.0 * parts[3] - parts[4]) / 35.0
    assert abs(expected) > 1e-3
    assert exact == pytest.approx(expected, rel=1e-8)
    if job == "run":
        one.stepper.advance(STEPS)
    assert potential.fields["x"].values[:, 2].min() < -0.03  # it hangs
