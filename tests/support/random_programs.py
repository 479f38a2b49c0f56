"""Random energies as functions: traced, with a state that is drawn from their text alone."""

import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from minusgrad import local_energy
from minusgrad.codegen.tracing import trace
from minusgrad.symbolic.scalar import Scalar
from tests.support import random_energies
from tests.support.fifty_digits import array
from tests.support.random_energies import HEADER, ROLES, programs

FIXED = settings(
    derandomize=True,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=[*HealthCheck],
)
NUMBERS = count()


@dataclass(frozen=True)
class Program:
    """A random energy: its text, what it does, its leaves in order and the numbers that they have."""

    text: str
    function: Callable
    value: Scalar
    leaves: list[Scalar]
    numbers: np.ndarray

    @property
    def moving(self) -> list[int]:
        """The places of the leaves that are differentiated."""
        return [j for j, leaf in enumerate(self.leaves) if leaf.value[0] != "order"]


def program(text: str, name: str = "energy", compiles: bool = False) -> Program:
    """Trace a program's text; its state is drawn from the text alone."""
    decorator = "@ti.func" if compiles else ""
    function = written(text.replace("NAME", name).replace("@FUNC", decorator), SURROUNDINGS)[name]
    traced = trace(local_energy(name, over=2, **ROLES)(function), None, 2)
    leaves = [leaf for rows in traced.inputs.values() for row in rows for leaf in row]
    rng = np.random.default_rng(list(text.encode()))
    numbers = rng.uniform(0.2, 1.4, len(leaves)) * rng.choice([-1.0, 1.0], len(leaves))
    kinds = [float(rng.integers(3)) if leaf.value[0] == "order" else 0.0 for leaf in leaves]
    integer = np.array([leaf.integer for leaf in leaves])
    return Program(text, function, traced.value, leaves, np.where(integer, kinds, numbers))


def written(text: str, surroundings: Mapping[str, Any]) -> dict[str, Any]:
    """What the text defines, and its surroundings."""
    file = f"<random energies {next(NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"__name__": random_energies.__name__, **surroundings}
    exec(compile(text, file, "exec"), scope)
    return scope


SURROUNDINGS = written(HEADER, {})


def arguments(numbers: Sequence) -> list:
    """A program's arguments from the numbers of its leaves."""
    x, y, k, A, (order, t) = (numbers[a:b] for a, b in ((0, 6), (6, 8), (8, 10), (10, 14), (14, 16)))
    rows = [array(x[:3]), array(x[3:])]
    return [rows, list(y), array(k), array([A[:2], A[2:]]), int(order), t]


def drawn(number: int) -> list[Program]:
    """The same programs each time."""
    found: list[Program] = []

    @settings(FIXED, max_examples=number, phases=[Phase.generate])
    @given(programs())
    def collect(text: str) -> None:
        found.append(program(text, f"energy{len(found)}", compiles=True))

    collect()
    return found[:number]
