"""Energies that would be followed or compiled for ever are refused within seconds, at the line."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad import Node, local_energy, ti
from minusgrad.codegen.tracing import trace
from minusgrad.errors import TraceError

CURE = "make it an energy over a list of tuples, or a map and an energy of its sum"
LOOP = f"loop: has at most 50,000 turns and calls in an energy, got more; {CURE}"
LONG = f"operations: an energy has at most 20,000, got more; {CURE}"


def million(x):
    u = 0.0
    for i in ti.static(range(10**6)):
        u += ti.sin(x[0] + i)  # HERE
    return u


def thousands(x):
    u = 0.0
    for i in ti.static(range(10**4)):
        u += ti.sin(x[0] + i) * x[0]  # HERE
    return u


def nothing(x):
    u = x[0]
    for _ in ti.static(range(10**12)):  # HERE
        u += 0.0
    return u


def in_one_another(x):
    u = 0.0
    for i in ti.static(range(10**6)):
        for j in ti.static(range(10**6)):
            u += ti.sin(x[0] * i + j)  # HERE
    return u


def comprehension(x):
    return sum([x[0] for _ in range(10**12)])  # HERE


@ti.func
def doubled(n, a):
    return a if n < 1 else doubled(n - 1, a) + doubled(n - 1, a)  # HERE


def calls(x):
    return doubled(60, x[0])


@ti.func
def endless(a):
    return a + endless(a)  # HERE


def recursion(x):
    return endless(x[0])


def matrix(x):
    A = ti.Matrix.zero(ti.f64, 10**5, 10**5)  # HERE
    return x[0] + A[0, 0]


LARGE = (
    "vector or matrix: has at most 4,096 numbers in an energy, got shape [100000, 100000]; pass it as a Table"
)
DEEP = "recursion: has no end, or is deeper than Python's stack; write a static loop"
REFUSED = [
    (million, million, LONG),
    (thousands, thousands, LONG),
    (nothing, nothing, LOOP),
    (in_one_another, in_one_another, LONG),
    (comprehension, comprehension, LOOP),
    (calls, doubled, LOOP),
    (recursion, endless, DEEP),
    (matrix, matrix, LARGE),
]


@pytest.mark.parametrize(("function", "where", "said"), REFUSED, ids=[f.__name__ for f, _, _ in REFUSED])
def test_an_energy_without_end_is_refused(function: Callable, where: Callable, said: str) -> None:
    begin = time.process_time()
    with pytest.raises(TraceError) as caught:
        trace(local_energy(function.__name__, over="nodes", x=Node())(function), None, 1)
    assert time.process_time() - begin < 10.0
    text = str(caught.value)
    assert text.endswith(f": {said}")
    place = text.removesuffix(f": {said}").rpartition(":")
    assert place[0] == __file__
    lines = Path(__file__).read_text().splitlines()
    assert lines[int(place[2]) - 1].endswith("# HERE")


def test_pairs_are_refused_when_they_are_declared() -> None:
    """Pairs are evaluated in plain Python at once."""
    with pytest.raises(TraceError, match="loop: has at most 50,000 turns"):
        local_energy("nothing", over="pairs", x=Node())(nothing)


def hundreds(x):
    u = 0.0
    for i in ti.static(range(500)):
        u += ti.sin(x[0] + i)
    return u


def test_long_energies_are_followed() -> None:
    traced = trace(local_energy("hundreds", over="nodes", x=Node())(hundreds), None, 1)
    assert traced.graph.most is None
    assert sum(1 for _ in traced.graph) > 1000
