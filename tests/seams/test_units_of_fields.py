"""Units of fields in any spelling: those of momenta, reactions and rates are made of them."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Node, Parameter, local_energy
from minusgrad.plugin import UnitSystem

LONG = pytest.mark.long
SPELT = ["m/s", *(pytest.param(one, marks=LONG) for one in ("m s^-1", "m*s^-1", "m / s"))]
SI = UnitSystem.si()


def drag_in(unit: str):
    @local_energy("drag", over="nodes", v=Node(unit, ("d",)), c=Parameter("N s/m"))
    def drag(v, c):
        return 0.5 * c * v[0].norm_sqr()

    return drag


def sized(run, name: str, unit: str) -> float:
    """The unit of a series as a multiple of another one."""
    return SI.convert(f"1 {run.unit(name)}", unit)


@pytest.mark.parametrize("spelt", SPELT)
def test_a_velocity_in_any_spelling_of_its_unit_gives_momenta_their_unit(tmp_path: Path, spelt: str) -> None:
    """The momentum of 2 kg at 3 m/s is 6 kg m/s, and its angular momentum at 1 m is 6 kg m^2/s."""
    simulation = mg.Simulation(
        fields={"x": np.array([[1.0, 0.0]]), "v": np.array([[0.0, 3.0]]), "m": np.array([2.0])},
        energies=[mg.energy("body_force", acceleration=[0.0, 0.0])],
        dissipations=[drag_in(spelt)(c=0.0)],
        stepper=mg.Leapfrog(dt=0.01),
        observe=[mg.observer("momenta", every=1)],
    )
    run = simulation.run(2, out=tmp_path / "run")
    assert run["momentum"][-1] == pytest.approx([0.0, 6.0])
    assert sized(run, "momentum", "N s") == sized(run, "angular_momentum", "N m s") == 1.0


@pytest.mark.parametrize(
    "spelt", ["kg m/s", *(pytest.param(one, marks=LONG) for one in ("J s/m", "N s", "kg m s^-1"))]
)
def test_reactions_and_rates_have_the_unit_of_a_held_field_in_any_spelling(
    tmp_path: Path, spelt: str
) -> None:
    """Of q in N s the force dU/dq is in J/(N s) = m/s, and a hold moves at N s/s = N."""

    @local_energy("well", over="nodes", q=Node(spelt), k=Parameter("m N^-1 s^-2"))
    def well(q, k):
        return 0.5 * k * q[0] * q[0]

    simulation = mg.Simulation(
        fields={"q": np.array([3.0, 1.0]), "p": np.zeros(2), "m": np.ones(2)},
        bodies={"first": [0], "second": [1]},
        motions=[{"position": "q", "velocity": "p", "inertia": "m"}],
        energies=[well(k=2.0)],
        holds=[{"body": "first"}, {"body": "second", "velocity": ["2 N"]}],
        stepper=mg.Leapfrog(dt=0.01),
        observe=[mg.observer("reactions", every=1), mg.observer("momenta", every=1)],
    )
    run = simulation.run(1, out=tmp_path / "run")
    assert run["reaction/first"][0] == pytest.approx(6.0)
    assert simulation.fields["q"].values[1] == pytest.approx(1.02)
    assert sized(run, "reaction/first", "m/s") == 1.0


def test_the_rate_of_a_coordinate_in_metres_a_second_is_an_acceleration(tmp_path: Path) -> None:
    scene = {
        "state": {
            "kind": "coordinates",
            "coordinates": {"u": {"unit": "m/s", "start": 1.0, "rate": "3 m/s^2"}},
        },
    }
    state = mg.load(
        scene
        | {
            "energy": [{"kind": "still"}],
            "stepper": {"kind": "leapfrog", "dt": 0.1},
            "run": {"steps": 1},
        },
        energies=[still],
    )
    assert state.fields["v"].values.tolist() == [3.0]


@local_energy("still", over="nodes", u=Node("m/s"), k=Parameter("J s^2/m^2", default=0.0))
def still(u, k):
    return 0.5 * k * u[0] * u[0]
