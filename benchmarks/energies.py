"""Every shipped energy, from the table of `tests/support/instances.py`: ns an element, or ns a pair.

65,536 elements at a random state; of pairs 2,048 nodes, each pair from both sides. In space, where the energy
has one. Value, gradient and Hessian product with respect to all fields that the energy reads. What is right
is ours in f64 with plain numbers instead of lanes, which the exam holds against the same source in plain
Python. All of an engine's in one process, so there is no peak memory.
"""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from minusgrad.codegen.derivative_request import DerivativeRequest
from minusgrad.codegen.element_lanes import lane_loops
from minusgrad.engine import runtime, storage
from minusgrad.potential.potential import Potential

from .harness import session
from .harness.cases import OURS, Call, Case, Column, numbers
from .harness.process import ROOT

ELEMENTS, NODES, PAIRED, QUICK = 65_536, 16_384, 2_048, 256
TOLERANCE = {"f32": 5e-2, "f64": 1e-9}
"""Of 65,536 random elements some are flat, which costs four digits: a wrong kernel is wrong in the first."""


def cases() -> Iterator[Case]:
    """Value, gradient and product of each energy in each precision."""
    for name in shipped():
        for of in OF:
            for precision in ("f32", "f64"):
                yield case(name, of, precision)


@cache
def canonical() -> dict[str, Any]:
    """The table of `tests/support/instances.py`."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tests.support.instances import CANONICAL

    return CANONICAL


def shipped() -> list[str]:
    """The energies of our own plugins, in the order of the table."""
    found = canonical().items()
    return [name for name, i in found if i.energy.function.__module__.startswith("minusgrad_")]


def case(name: str, of: str, precision: str) -> Case:
    """One of the three."""
    pairs = canonical()[name].energy.over == "pairs"
    n = QUICK if session.quick() else PAIRED if pairs else ELEMENTS
    return Case(
        "energies",
        f"{name}-{of}",
        precision,
        {OURS: Column(lambda: OF[of](state(name, n, precision)), engine=True)},
        expected=lambda: expected(name, of, n),
        tolerance=TOLERANCE[precision],
        count=n * n if pairs else n,
        unit="ns a pair" if pairs else "ns an element",
        base=OURS,
        shared=True,
        about={"energy": name, "of": of},
    )


def state(name: str, n: int, precision: str) -> Potential:
    """The canonical instance with so many elements."""
    instance = canonical()[name]
    nodes = n if instance.energy.over in ("pairs", "nodes") else min(n, NODES)
    return instance.potential(np.random.default_rng(7), instance.dimensions[-1], nodes, n, precision)


def expected(name: str, of: str, n: int) -> np.ndarray:
    """Ours in f64, with plain numbers: no list is long enough for lanes."""
    kept = lane_loops.LEAST_TUPLES, lane_loops.LEAST_TARGETS
    lane_loops.LEAST_TUPLES = lane_loops.LEAST_TARGETS = n * n + 1
    try:
        return numbers(OF[of](state(name, n, "f64"))())
    finally:
        lane_loops.LEAST_TUPLES, lane_loops.LEAST_TARGETS = kept


def value(potential: Potential) -> Call:
    """U"""
    return lambda: np.array([potential.value()])


def gradient(potential: Potential) -> Call:
    """dU by all fields."""
    targets = _arrays(potential)

    def call() -> Numbers:
        potential.sweep(DerivativeRequest(gradient=targets))
        runtime.sync()
        return Numbers(targets)

    return call


def product(potential: Potential) -> Call:
    """How the gradient changes along one direction of all fields."""
    targets, rng = _arrays(potential), np.random.default_rng(1)
    along = {}
    for name, target in targets.items():
        drawn = rng.normal(size=target.shape).astype(np.float32)
        along[name] = storage.allocate(drawn.astype(storage.host(target).dtype))

    def call() -> Numbers:
        potential.sweep(DerivativeRequest(product=targets, tangents=along))
        runtime.sync()
        return Numbers(targets)

    return call


class Numbers:
    """Arrays that are joined when they are looked at."""

    def __init__(self, targets: dict[str, Any]):
        self._targets = targets

    def numpy(self) -> np.ndarray:
        """All numbers in one row."""
        return np.concatenate([storage.host(array).ravel() for _, array in sorted(self._targets.items())])


OF: dict[str, Callable[[Potential], Call]] = {"value": value, "gradient": gradient, "product": product}
"""What is asked of an energy."""


def _arrays(potential: Potential) -> dict[str, Any]:
    return {
        name: storage.allocate(np.zeros_like(potential.fields[name].values))
        for name in sorted(potential.reads)
    }
