"""The exam that every energy sits: against three references, in its order, in f32, at 1 and 2 threads."""

from collections.abc import Iterable
from types import ModuleType

import pytest

from minusgrad import Node, local_energy
from minusgrad.assembly.registry import Registry
from minusgrad.check.questions import Finding
from minusgrad.energies.roles import Datum, Parameter, Table, Time
from minusgrad.engine import runtime
from minusgrad.exam import energy_exam
from minusgrad.exam.energy_exam import SEEDS
from tests.support import instances
from tests.support.instances import CANONICAL, Instance
from tests.support.tiers import alternating, sampled

CASES = [
    pytest.param(instance, d, id=f"{name}-{d}d")
    for name, instance in CANONICAL.items()
    for d in instance.dimensions
]


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
    assert {energy.over for energy in energies} == {
        "nodes",
        "pairs",
        "triples",
        "tuples",
        "cells",
        1,
        2,
        3,
        4,
        5,
    }
    assert {type(role) for role in roles} == {Node, Datum, Parameter, Time, Table}
    assert {role.integer for role in roles if isinstance(role, Datum)} == {True, False}
    assert {len(role.shape) for role in roles} == {0, 1, 2}


SHIPPED = [
    name
    for name, instance in CANONICAL.items()
    if instance.energy.function.__module__.startswith("minusgrad_") and energy_exam.between_nodes(instance)
]


def passed(findings: Iterable[Finding]) -> None:
    asked = list(findings)
    assert asked
    assert [f for f in asked if not f.passed] == []


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_energies_declare_the_symmetries_that_their_values_have(name: str) -> None:
    passed(energy_exam.symmetry(CANONICAL[name], 3))


ONCE = {*alternating(case.id for case in CASES)}
ROWS = [case for case in CASES if case.id in ONCE]
"""Each energy once, in the plane and in space in turn."""


@pytest.mark.parametrize("seed", sampled(SEEDS, SEEDS[:1]))
@pytest.mark.parametrize(("instance", "d"), sampled(CASES, ROWS))
def test_value_and_gradients_against_the_references(instance: Instance, d: int, seed: int) -> None:
    passed(energy_exam.values(instance, d, seed))


@pytest.mark.parametrize(("instance", "d"), sampled(CASES, ROWS[::2]))
def test_every_gradient_is_somewhere_not_zero(instance: Instance, d: int) -> None:
    passed(energy_exam.alive(instance, d))


@pytest.mark.parametrize(("instance", "d"), sampled(CASES, ROWS[::2]))
def test_the_taylor_remainder_is_of_second_order(instance: Instance, d: int) -> None:
    found = [*energy_exam.order(instance, d)]
    assert [f for f in found if not f.passed] == []


@pytest.mark.parametrize(("instance", "d"), sampled(CASES, ROWS[::3]))
def test_single_precision_follows_double(instance: Instance, d: int) -> None:
    passed(energy_exam.precision(instance, d))


@pytest.mark.long
def test_the_bits_do_not_depend_on_the_number_of_threads(any_threads) -> None:
    bits = {}
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        bits[threads] = {
            name: energy_exam.bits(instance, instance.dimensions[-1]) for name, instance in CANONICAL.items()
        }
    assert bits[1] == bits[2]
