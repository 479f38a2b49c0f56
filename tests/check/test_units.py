"""`check` asks whether U has the unit of an energy, and each output of a map its own."""

import numpy as np
import pytest

from minusgrad import Datum, Fields, Node, Parameter, Potential, bind, local_energy, local_map, ti
from minusgrad.assembly.registry import Registry
from minusgrad.check.invariances.unit_powers import QUESTION, unit_mistakes
from minusgrad.check.term_check import of_energy
from minusgrad.energies.constraint import Constraint
from minusgrad.energies.local_energy import LocalEnergy
from minusgrad.energies.magnetic_field import MagneticField
from minusgrad.errors import EnergyError
from minusgrad.potential.sample_potential import instance

X, M = Node("m", ("d",)), Node("kg")


@local_energy("weight", over="nodes", x=X, m=M, g=Parameter("m s^-2"))
def weight(x, m, g):
    """An energy."""
    return m[0] * g * x[0][1]


@local_energy("push", over="nodes", x=X, k=Parameter("N/m"))
def push(x, k):
    """k x in place of k x^2 / 2."""
    return k * x[0].norm(1e-12)


@local_energy("earth", over="nodes", x=X, m=M)
def earth(x, m):
    """The acceleration of gravity as a number in the source."""
    return 9.81 * m[0] * x[0][1]


@local_energy("lifted", over="nodes", x=X, m=M, g=Parameter("m s^-2"))
def lifted(x, m, g):
    """A length as a number in the source."""
    return g * m[0] * (x[0][1] + 0.5)


@local_energy("loss", over="nodes", unit="m^2", x=X, at=Datum("m", ("d",)))
def loss(x, at):
    """A loss, which says its unit."""
    return (x[0] - at).norm_sqr()


@local_energy("plain", over="nodes", q=Node("1", ("d",)), k=Parameter())
def plain(q, k):
    """Nothing has a unit."""
    return k * q[0].norm_sqr()


@local_energy("roots", over="nodes", x=X, k=Parameter("J m^-1/2"))
def roots(x, k):
    """A power that is no whole number."""
    return k * ti.sqrt(x[0].norm(1e-300))


@local_map("rate", gives="r", unit="m", over="nodes", x=X, tau=Parameter("s"))
def rate(x, tau):
    """A speed that is declared as a length."""
    return x[0].norm(1e-300) / tau


def text_of(energy: LocalEnergy) -> list[str]:
    term = next(iter(instance(energy, 2, np.random.default_rng(0)).terms.values()))
    return [text for _, text in unit_mistakes(term, 0.0)]


@pytest.mark.parametrize("energy", [weight, loss, roots])
def test_units_that_fit_are_no_warning(energy: LocalEnergy) -> None:
    assert text_of(energy) == [""]
    answers = [one for one in of_energy(energy, 2) if one.question == QUESTION]
    assert [(one.passed, one.warning) for one in answers] == [(True, False)]


@pytest.mark.parametrize(
    ("energy", "message"),
    [
        (push, "U has the unit m kg s^-2, and J is declared"),
        (earth, "U has the unit m kg, and J is declared"),
        (lifted, "U has no unit of its own: where m is counted in another unit, its values change by diff"),
    ],
)
def test_units_that_do_not_fit_are_a_warning(energy: LocalEnergy, message: str) -> None:
    (answer,) = [one for one in of_energy(energy, 2) if one.question == QUESTION]
    assert answer.passed
    assert answer.warning
    assert message in answer.text


def test_nothing_is_asked_without_units() -> None:
    assert text_of(plain) == []


@local_energy("stretch", over="tuples", x=X, rest=Datum("m"), k=Parameter("N/m"))
def stretch(x, rest, k):
    """A spring, by the logarithm of its stretch."""
    return 0.5 * k * rest**2 * ti.log((x[1] - x[0]).norm() / rest) ** 2


def test_rounding_of_springs_at_rest_has_no_unit() -> None:
    """Their energy is 0 but for rounding, which follows no power; stretched by 1e-6 they have joules."""
    x = np.random.default_rng(3).normal(size=(20, 3))
    pairs = np.arange(20).reshape(10, 2)
    rest = np.linalg.norm(x[pairs[:, 1]] - x[pairs[:, 0]], axis=1)
    found = []
    for stretched in (1.0, 1.0 + 1e-6):
        given = {"data": {"rest": rest / stretched}, "parameters": {"k": 2.0}}
        term = bind(stretch, Fields({"x": x}, {"x": "m"}), tuples=pairs, **given)
        found.append([text for _, text in unit_mistakes(term, 0.0)])
    assert found == [[], [""]]


@local_energy("reader", over="nodes", r=Node("m"), k=Parameter("N/m"))
def reader(r, k):
    """An energy of what the map gives."""
    return 0.5 * k * r[0] * r[0]


def test_a_map_is_asked_for_its_outputs() -> None:
    fields = Fields({"x": np.random.default_rng(0).normal(size=(5, 2))}, {"x": "m"})
    made = bind(rate, fields, parameters={"tau": 2.0})
    assert [text for _, text in unit_mistakes(made, 0.0)] == [
        "has the unit m s^-1, and m is declared; correct one of them"
    ]


@pytest.mark.parametrize("name", sorted(Registry.load().energies()))
def test_every_energy_and_map_of_ours_has_its_units(name: str) -> None:
    """At random states of one dimension that it takes."""
    energy = Registry.load().energies()[name]
    if not isinstance(energy, LocalEnergy) or isinstance(energy, MagneticField):
        return
    potential = sampled(energy.weighted_energy() if isinstance(energy, Constraint) else energy)
    for term in (*potential.maps.values(), *potential.terms.values()):
        assert [text for _, text in unit_mistakes(term, 0.7) if text] == []


def sampled(energy: LocalEnergy) -> Potential:
    """A random instance, in the plane where it takes no space."""
    try:
        return instance(energy, 3, np.random.default_rng(1))
    except EnergyError:
        return instance(energy, 2, np.random.default_rng(1))
