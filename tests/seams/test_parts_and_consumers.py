"""Every part of a system with every consumer: it works, or it is refused by name (`docs/inside/systems.md`).

Each cell of the table is tried from outside, by a system of two nodes that has the part.
"""

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Node, Parameter, Time, local_energy, ti
from minusgrad.errors import UserError
from minusgrad.plugin import Velocity, lagrangian
from tests.project import parts_table
from tests.project.parts_table import CONSUMERS, cell
from tests.support.tiers import sampled

BODIES = {"first": [0], "second": [1]}


@local_energy("shaken_trap", over="nodes", x=Node("m", ("d",)), k=Parameter("J m^-2"), t=Time("s"))
def shaken_trap(x, k, t):
    """A trap whose centre moves."""
    return 0.5 * k * (x[0][0] - 0.1 * ti.sin(t)) ** 2 + 0.5 * k * (x[0].norm_sqr() - x[0][0] ** 2)


@local_energy("still_trap", over="nodes", x=Node("m", ("d",)), k=Parameter("J m^-2"))
def still_trap(x, k):
    """A trap at the origin."""
    return 0.5 * k * x[0].norm_sqr()


@lagrangian(
    "free_particle", over="nodes", x=Node("m", ("d",)), v=Velocity("m/s", ("d",)), mass=Parameter("kg")
)
def free_particle(x, v, mass):
    """The kinetic energy alone."""
    return 0.5 * mass * v[0].norm_sqr()


ROD = {"kind": "rod", "tuples": "rods"}
FAR = {"far": {"opening_angle": 0.5}}
PARTS = {
    "supports": {"holds": [{"body": "first"}]},
    "moving supports": {"holds": [{"body": "first", "velocity": [0.1, 0.0, 0.0]}]},
    "friction": {"dissipations": [{"kind": "mass_damping", "rate": 0.3}]},
    "magnetic field": {"magnetic": [{"kind": "uniform_field", "B": [0.0, 0.0, 1.0], "charge": 1.0}]},
    "constraints": {"constraints": [ROD]},
    "Lagrangian": {"lagrangians": [free_particle(mass=1.0)]},
    "periodic box": {"box": {"edges": [9.0, 9.0, 9.0]}},
    "far pairs": {
        "energies": [{"kind": "gravity", "G": 1.0, "softening": 0.1, "far": {"opening_angle": 0.5}}]
    },
    "time": {"energies": [shaken_trap(k=1.0)]},
}
"""What a scene has in addition, by part; heat baths and moving boxes are those of steppers."""
STEPPERS = {
    "a splitting scheme": {"kind": "leapfrog", "dt": 0.01},
    "wisdom_holman": {"kind": "wisdom_holman", "energy": "kepler", "dt": 0.01},
    "gauss_radau": {"kind": "gauss_radau", "dt": 0.01},
    "an implicit scheme": {"kind": "implicit_midpoint", "dt": 0.01},
    "gradient_flow": {"kind": "gradient_flow", "dt": 0.01, "capacities": {"x": 1.0}},
    "variational": {"kind": "variational", "dt": 0.01},
    "evolution": {"kind": "evolution", "next": {"x": "x"}},
    "a minimiser": {"kind": "lbfgs", "gradient": 1e-6},
}
OBSERVERS = {
    "energies": {"kind": "energies"},
    "momenta": {"kind": "momenta"},
    "temperatures": {"kind": "temperatures"},
    "pressure": {"kind": "pressure"},
    "frames": {"kind": "frames"},
    "forces": {"kind": "forces"},
    "configurational": {"kind": "temperatures", "configurational": True},
    "megno": {"kind": "megno"},
}
CONSUMER = {consumer.name: consumer for consumer in CONSUMERS}


def simulation(stepper: dict, part: str, **more) -> mg.Simulation:
    """Two nodes with a part of a system."""
    x = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    v = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.0]])
    own = dict(PARTS[part])
    energies = own.pop("energies", [still_trap(k=1.0)])
    if stepper["kind"] == "wisdom_holman":
        energies = [{"kind": "gravity", "name": "kepler", "G": 1.0}, *energies]
    return mg.Simulation(
        fields={"x": x, "v": v, "m": np.array([1.0, 1e-3])},
        units="dimensionless",
        bodies=BODIES,
        tuples={"rods": ([[0, 1]], {"length": [1.0]})},
        energies=energies,
        stepper=stepper,
        **own,
        **more,
    )


def judged(consumer: str, part: str, stepper: dict, **more) -> None:
    """Build, and take two steps where the table says that the consumer understands the part."""
    if CONSUMER[consumer].refuses(part):
        with pytest.raises(UserError, match="has no rule for") as refused:
            simulation(stepper, part, **more)
        names = [consumer, "temperatures"] if consumer == "configurational" else [consumer]
        assert any(f"{name}: has no rule for" in str(refused.value) for name in names)
        return
    one = simulation(stepper, part, **more)
    one.look()
    one.step(2)
    assert all(np.isfinite(one.fields[name].values).all() for name in ("x", "v"))


def test_the_page_has_the_table_of_the_declarations() -> None:
    """`python -m tests.project.parts_table --write` puts it there."""
    text = parts_table.PAGE.read_text()
    assert text.split(parts_table.BEGIN)[1].split(parts_table.END)[0].strip() == parts_table.table().strip()


ENDLESS = ("wisdom_holman", "periodic box"), ("pressure", "far pairs")
"""Gravity of all pairs is refused in a periodic box by itself."""
OF_STEPPERS = [(c, p) for c in STEPPERS for p in PARTS if (c, p) not in ENDLESS]


@pytest.mark.parametrize("row", sampled(OF_STEPPERS, OF_STEPPERS[::4]), ids="-".join)
def test_a_stepper_takes_a_part_or_refuses_it(row: tuple[str, str]) -> None:
    consumer, part = row
    if consumer == "variational" and part != "Lagrangian":
        pytest.skip("it moves Lagrangians alone, which the test of its own parts has")
    judged(consumer, part, STEPPERS[consumer])


OF_OBSERVERS = [(c, p) for c in OBSERVERS for p in PARTS if p != "periodic box" and (c, p) not in ENDLESS]


@pytest.mark.parametrize("row", sampled(OF_OBSERVERS, OF_OBSERVERS[::6]), ids="-".join)
def test_an_observer_takes_a_part_or_refuses_it(row: tuple[str, str]) -> None:
    consumer, part = row
    stepper = STEPPERS["variational" if part == "Lagrangian" else "a splitting scheme"]
    if consumer == "momenta" and part == "Lagrangian":
        consumer, OBSERVERS["momenta of a Lagrangian"] = "momenta of a Lagrangian", OBSERVERS["momenta"]
    boxed = {"box": PARTS["periodic box"]["box"]} if consumer == "pressure" else {}
    judged(consumer, part, stepper, observe=[OBSERVERS[consumer] | {"every": 1}], **boxed)


@pytest.mark.parametrize("first", ["constraints", "supports"])
def test_parts_that_do_not_go_together_are_named_together(first: str) -> None:
    other = {"magnetic": PARTS["magnetic field"]["magnetic"]}
    stepper, more = STEPPERS["a splitting scheme"], other
    if first == "supports":
        more = {"box": PARTS["periodic box"]["box"]}
        stepper = {"kind": "npt", "dt": 0.01, "friction": 1.0, "temperature": 1.0, "pressure": 0.1}
        stepper |= {"relaxation": 1.0}
    with pytest.raises(UserError, match=r"has no rule for .* together with .*, got '") as refused:
        simulation(stepper, first, **more)
    assert "a splitting scheme" in str(refused.value)


def test_every_cell_has_a_word() -> None:
    words = {cell(consumer, part).split()[0] for consumer in CONSUMERS for part in parts_table.PARTS}
    assert words == {"yes", "idle", "refused"}
