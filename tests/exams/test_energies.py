"""The exam that every energy sits: against three references, in its order, in f32, at 1 and 2 threads."""

from types import ModuleType

import numpy as np
import pytest

from minusgrad import Node, Potential, local_energy
from minusgrad.assembly.registry import Registry
from minusgrad.energies.roles import Datum, Parameter, Table, Time
from minusgrad.engine import runtime
from tests.support import instances, references
from tests.support.instances import CANONICAL, Instance
from tests.support.tiers import alternating, sampled

EPS = float(np.finfo(np.float64).eps)
T = 0.37
SEEDS = (1, 2, 3)
CASES = [
    pytest.param(instance, d, id=f"{name}-{d}d")
    for name, instance in CANONICAL.items()
    for d in instance.dimensions
]


def names(potential: Potential) -> dict[str, str]:
    """The name of each derivative, by the argument of the only term."""
    (term,) = potential.terms.values()
    found = {}
    for argument in term.energy.differentiable:
        match term.energy.roles[argument]:
            case Node():
                found[argument] = term.fields[argument].name
            case Time():
                found[argument] = "t"
            case _:
                found[argument] = f"{term.name}.{argument}"
    return found


def gradients(potential: Potential) -> dict[str, np.ndarray]:
    return {argument: potential.gradient(name, T) for argument, name in names(potential).items()}


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """Relative to the largest component."""
    assert found.shape == expected.shape
    assert np.isfinite(expected).all()
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300))


@local_energy("newcomer", over="nodes", x=Node("m", ("d",)))
def newcomer(x):
    """Registered, and in no table."""
    return x[0].norm_sqr()


def test_every_registered_energy_sits_the_exam() -> None:
    assert instances.missing(Registry.load().energies()) == []


def test_a_newcomer_without_an_instance_is_seen() -> None:
    stranger = ModuleType("stranger")
    stranger.newcomer = newcomer
    stranger.__file__ = __file__
    assert instances.missing(Registry.load(files=[stranger]).energies()) == ["newcomer"]


def test_the_table_uses_everything_that_an_energy_may_be() -> None:
    energies = [instance.energy for instance in CANONICAL.values()]
    roles = [role for energy in energies for role in energy.roles.values()]
    assert {energy.over for energy in energies} == {"nodes", "pairs", "triples", "tuples", "cells", 2, 3, 4}
    assert {type(role) for role in roles} == {Node, Datum, Parameter, Time, Table}
    assert {role.integer for role in roles if isinstance(role, Datum)} == {True, False}
    assert {len(role.shape) for role in roles} == {0, 1, 2}


def between_nodes(instance: Instance) -> bool:
    """Whether U is of vectors at several nodes: only then has it symmetries of its own."""
    vectors = [role.shape == ("d",) for role in instance.energy.of_role(Node).values() if role.shape]
    return instance.energy.over != "nodes" and bool(vectors) and all(vectors)


SHIPPED = [
    name
    for name, instance in CANONICAL.items()
    if instance.energy.function.__module__.startswith("minusgrad_") and between_nodes(instance)
]
MOVES = {"translation": lambda x, q: x + 0.4, "rotation": lambda x, q: x @ q}


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_energies_declare_the_symmetries_that_their_values_have(name: str) -> None:
    energy, found = CANONICAL[name].energy, set()
    for symmetry, moved in MOVES.items():
        potential = CANONICAL[name].potential(np.random.default_rng(5), 3)
        turn, _ = np.linalg.qr(np.random.default_rng(6).normal(size=(3, 3)))
        before = potential.value(T)
        for argument, role in energy.of_role(Node).items():
            if role.shape:
                x = potential.fields[argument]
                x.set(moved(x.values, turn))
        found |= {symmetry} if np.isclose(potential.value(T), before, rtol=1e-10) else set()
    assert set(energy.symmetries) - {"permutation"} == found


ONCE = {*alternating(case.id for case in CASES)}
ROWS = [case for case in CASES if case.id in ONCE]
"""Each energy once, in the plane and in space in turn."""


@pytest.mark.parametrize("seed", sampled(SEEDS, SEEDS[:1]))
@pytest.mark.parametrize(("instance", "d"), sampled(CASES, ROWS))
def test_value_and_gradients_against_the_references(instance: Instance, d: int, seed: int) -> None:
    potential = instance.potential(np.random.default_rng(seed), d)
    (term,) = potential.terms.values()
    scale = references.magnitude(term, T)
    assert scale > 0.0
    assert abs(potential.value(T) - references.plain(term, T)) <= 1e-12 * scale
    differences, found = references.differences(term, T), gradients(potential)
    assert found.keys() == differences.keys()
    for argument, gradient in found.items():
        assert error(gradient, differences[argument]) < 1e-8, argument
    if instance.compiles:
        value, reverse = references.taichi(term, T)
        assert abs(potential.value(T) - value) <= 1e-12 * scale
        assert found.keys() == reverse.keys()
        for argument, gradient in found.items():
            assert error(gradient, reverse[argument]) < 1e-12, argument


@pytest.mark.parametrize(("instance", "d"), sampled(CASES, ROWS[::2]))
def test_every_gradient_is_somewhere_not_zero(instance: Instance, d: int) -> None:
    largest: dict[str, float] = {}
    for seed in SEEDS:
        for argument, gradient in gradients(instance.potential(np.random.default_rng(seed), d)).items():
            largest[argument] = max(largest.get(argument, 0.0), np.abs(gradient).max())
    assert all(size > 0.0 for size in largest.values()), largest


@pytest.mark.parametrize(("instance", "d"), sampled(CASES, ROWS[::2]))
def test_the_taylor_remainder_is_of_second_order(instance: Instance, d: int) -> None:
    """|U(x + h w) - U(x) - h grad U . w| ~ h^2 in all fields, parameters and the time at once."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        potential = instance.potential(rng, d)
        start, slope, move = _direction(potential, rng)
        steps, remainders = [], []
        for h in 2.0 ** -np.arange(7, 22):
            remainder = abs(move(h) - start - h * slope)
            if remainder > 100.0 * EPS * potential.magnitude(T):
                steps.append(h)
                remainders.append(remainder)
        if len(steps) >= 4:
            order = np.polyfit(np.log(steps), np.log(remainders), 1)[0]
            assert abs(order - 2.0) < 0.1, (order, remainders)


def _direction(potential: Potential, rng: np.random.Generator):
    """U at the start, its slope along a random direction, and U(h) along it."""
    (term,) = potential.terms.values()
    begun, moved, time = {}, {}, 0.0
    slope = 0.0
    for argument, name in names(potential).items():
        gradient = potential.gradient(name, T)
        role = term.energy.roles[argument]
        if isinstance(role, Datum):
            continue
        w = rng.normal(size=gradient.shape) * 0.1 * role.scale
        slope += float((gradient * w).sum())
        if isinstance(role, Time):
            time = float(w)
        else:
            fields = potential.fields
            start = fields[name].values.copy() if isinstance(role, Node) else potential.parameter(name)
            begun[name], moved[name] = start, w

    def move(h: float) -> float:
        for name, start in begun.items():
            if name in set(potential.fields):
                potential.fields[name].set(start + h * moved[name])
            else:
                potential.set_parameter(name, start + h * moved[name])
        return potential.value(T + h * time)

    return move(0.0), slope, move


@pytest.mark.parametrize(("instance", "d"), sampled(CASES, ROWS[::3]))
def test_single_precision_follows_double(instance: Instance, d: int) -> None:
    for seed in SEEDS:
        double = instance.potential(np.random.default_rng(seed), d)
        single = instance.potential(np.random.default_rng(seed), d, precision="f32")
        assert abs(single.value(T) - double.value(T)) <= 1e-5 * double.magnitude(T)
        expected = gradients(double)
        for argument, gradient in gradients(single).items():
            assert error(gradient.astype(float), expected[argument]) < 2e-5, argument
        assert all(single.gradient(name).dtype == np.float32 for name in single.fields)


@pytest.mark.long
def test_the_bits_do_not_depend_on_the_number_of_threads(any_threads) -> None:
    bits = {}
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        bits[threads] = {name: _bits(instance) for name, instance in CANONICAL.items()}
    assert bits[1] == bits[2]


def _bits(instance: Instance) -> list[bytes]:
    potential = instance.potential(np.random.default_rng(5), instance.dimensions[-1], n=300, e=900)
    found = gradients(potential)
    assert np.abs(next(iter(found.values()))).max() > 0.0
    return [np.array(potential.value(T)).tobytes(), *(g.tobytes() for g in found.values())]
