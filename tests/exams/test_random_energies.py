"""Random energies: value, slopes and curvature of the emitted text against differences in 50 digits.

500 of them, and 64 compiled; with MINUSGRAD_ZOO=all 2,000 and 200.

The text that kernels are made of runs in NumPy. What it should give is had from the same source in mpmath:
with d and w random directions, h = 1e-15, and u(p, q) the energy at x + p h d + q h w,

    slope along d + w       (u(1, 1) - u(-1, -1)) / 2 h
    slope along d - w       (u(1, -1) - u(-1, 1)) / 2 h
    curvature w.H d         (u(1, 1) - u(1, -1) - u(-1, 1) + u(-1, -1)) / 4 h^2

which are right to 1e-19, so that only the text's own rounding is left. That is seen, not guessed: the text
also runs with every statement rounded at random to its last place (Parker, Monte Carlo arithmetic, 1997). The
spread is what rounding does to these numbers, and where a comparison hangs on the last place it is large.
"""

import linecache
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count
from operator import add, mul
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from mpmath import mpf

from minusgrad import Fields, bind, local_energy, ti
from minusgrad.codegen.statements import leaf_name
from minusgrad.codegen.term_loops import Emitter
from minusgrad.codegen.tracing import trace
from minusgrad.engine import runtime, storage
from minusgrad.engine.kernels import BoundKernel, Code
from minusgrad.engine.special_functions import erf, helpers
from minusgrad.symbolic.differentiation import gradient, tangent
from minusgrad.symbolic.graph import inputs, reachable
from minusgrad.symbolic.operations import OPERATIONS
from minusgrad.symbolic.plain_python import evaluate
from minusgrad.symbolic.scalar import Scalar
from tests.support import random_energies
from tests.support.fifty_digits import array, precise
from tests.support.random_energies import HEADER, ROLES, programs

THOROUGH = os.environ.get("MINUSGRAD_ZOO") == "all"
EXAMPLES, COMPILED, BATCH = (2000, 200, 8) if THOROUGH else (500, 64, 8)
LANES = 6
"""Runs of a text: the first as it is, the others rounded at random."""
STEP = mpf(10) ** -15
SPREADS, FLOOR = 30.0, 1e-13
"""What is allowed: so many spreads, and that part of the size of the number (at least 1)."""
JUDGED = 1e-10
"""A spread beyond this part of the size: rounding decides, and there is nothing to judge."""
FIXED = settings(
    derandomize=True,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=[*HealthCheck],
)
_numbers = count()


# Programs -------------------------------------------------------------------------------------------


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
        return [j for j, leaf in enumerate(self.leaves) if leaf.value[0] != "kind"]


def program(text: str, name: str = "energy", compiles: bool = False) -> Program:
    """Trace a program's text; its state is drawn from the text alone."""
    decorator = "@ti.func" if compiles else ""
    function = written(text.replace("NAME", name).replace("@FUNC", decorator), SURROUNDINGS)[name]
    traced = trace(local_energy(name, over=2, **ROLES)(function), None, 2)
    leaves = [leaf for rows in traced.inputs.values() for row in rows for leaf in row]
    rng = np.random.default_rng(list(text.encode()))
    numbers = rng.uniform(0.2, 1.4, len(leaves)) * rng.choice([-1.0, 1.0], len(leaves))
    kinds = [float(rng.integers(3)) if leaf.value[0] == "kind" else 0.0 for leaf in leaves]
    integer = np.array([leaf.integer for leaf in leaves])
    return Program(text, function, traced.value, leaves, np.where(integer, kinds, numbers))


def written(text: str, surroundings: Mapping[str, Any]) -> dict[str, Any]:
    """What the text defines, and its surroundings."""
    file = f"<random energies {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"__name__": random_energies.__name__, **surroundings}
    exec(compile(text, file, "exec"), scope)
    return scope


SURROUNDINGS = written(HEADER, {})


def arguments(numbers: Sequence) -> list:
    """A program's arguments from the numbers of its leaves."""
    x, y, k, A, (kind, t) = (numbers[a:b] for a, b in ((0, 6), (6, 8), (8, 10), (10, 14), (14, 16)))
    rows = [array(x[:3]), array(x[3:])]
    return [rows, list(y), array(k), array([A[:2], A[2:]]), int(kind), t]


# The emitted text in NumPy --------------------------------------------------------------------------


def writer() -> Emitter:
    """The emitter, for any graph: the text of its statements depends on the precision alone."""

    x = Fields({"x": np.zeros(2)})
    return Emitter(bind(local_energy("constant", over=2, x=ROLES["y"])(constant), x, tuples=[[0, 1]]))


def constant(x):
    return x[0]


WRITER = writer()
TEXT = SimpleNamespace(
    **{
        f: getattr(np, f) for f in ("sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "floor", "ceil", "abs")
    },
    asin=np.arcsin,
    acos=np.arccos,
    atan2=np.arctan2,
    pow=np.power,
    min=np.minimum,
    max=np.maximum,
    select=np.where,
    round=np.round,
    rsqrt=lambda a: 1.0 / np.sqrt(a),
    f64=lambda a: np.asarray(a, float),
    cast=lambda a, dtype: np.trunc(a),
    i64=None,
)


def in_numpy(outputs: Sequence[Scalar], leaves: Sequence[Scalar], numbers: Sequence) -> np.ndarray:
    """The outputs, by the text that kernels are made of: (outputs, LANES)."""
    lines, texts = WRITER._statements(outputs)
    rounded = [line.replace(" = ", " = rounded(", 1) + ")" for line in lines]
    source = "\n".join([*rounded, f"found = [{', '.join(texts)}]"])
    rng = np.random.default_rng(len(source))

    def rounded(value: np.ndarray) -> np.ndarray:
        if value.dtype == bool or np.all(value == np.trunc(value)):  # whole numbers are exact
            return value
        return value * (1.0 + np.spacing(1.0) * rng.integers(-1, 2, LANES) * (np.arange(LANES) > 0))

    scope = {"ti": TEXT, "erf_f64": erf, "rounded": rounded}
    scope |= {leaf_name(leaf): np.full(LANES, v) for leaf, v in zip(leaves, numbers, strict=True)}
    with np.errstate(all="ignore"):
        exec(compile(source, "<emitted>", "exec"), scope)
    return np.array([np.broadcast_to(row, LANES) for row in scope["found"]], float)


# Against differences --------------------------------------------------------------------------------


def derived(p: Program) -> np.ndarray:
    """Value, slopes d.g and w.g by the gradient g, slope along d and curvature w.H d by tangents."""
    graph, moving = p.value.graph, [p.leaves[j] for j in p.moving]
    d, w = directions(p)
    slopes = gradient(p.value, moving)
    weights = [graph.input("w", None, (j,)) for j in p.moving]
    along = {leaf.serial: graph.constant(change) for leaf, change in zip(moving, d.tolist(), strict=True)}
    changes = tangent([p.value, reduce(add, map(mul, weights, slopes))], along)
    found = in_numpy([p.value, *slopes, *changes], [*p.leaves, *weights], [*p.numbers, *w])
    reverse = found[1 : 1 + len(moving)]
    return np.array([found[0], d @ reverse, w @ reverse, *found[1 + len(moving) :]])


def directions(p: Program) -> np.ndarray:
    """Two directions in which all that is differentiated moves: d by 1 or -1 each, w at random."""
    rng = np.random.default_rng(len(p.text))
    signs = rng.choice([-1.0, 1.0], (2, len(p.moving)))
    return signs * [np.ones(len(p.moving)), rng.uniform(0.3, 1.0, len(p.moving))]


def differences(p: Program) -> np.ndarray:
    """What `derived` should give, from the source in 50 digits."""
    energy, start = precise(p.function), [mpf(v) for v in p.numbers]
    d, w = ([mpf(v) for v in row] for row in directions(p))

    def u(a: int, b: int) -> mpf:
        moved = list(start)
        for j, dj, wj in zip(p.moving, d, w, strict=True):
            moved[j] += STEP * (a * dj + b * wj)
        return energy(*arguments(moved))

    pp, pm, mp_, mm = u(1, 1), u(1, -1), u(-1, 1), u(-1, -1)
    sum_, difference = (pp - mm) / (2 * STEP), (pm - mp_) / (2 * STEP)
    along_d, along_w = (sum_ + difference) / 2, (sum_ - difference) / 2
    curvature = (pp - pm - mp_ + mm) / (4 * STEP**2)
    value = (pp + pm + mp_ + mm) / 4
    return np.array([float(v) for v in (value, along_d, along_w, along_d, curvature)])


def judged(p: Program) -> bool:
    """Whether the numbers are well conditioned; asserts that they are right then."""
    found = derived(p)
    expected = differences(p)
    size = np.maximum(np.abs(expected), 1.0)
    spread = np.ptp(found, axis=1)
    if not np.all(spread <= JUDGED * size):
        return False
    allowed = SPREADS * spread + FLOOR * size
    assert np.all(np.abs(found[:, 0] - expected) <= allowed), (found[:, 0], expected, allowed, p.text)
    assert abs(in_plain_python(p) - expected[0]) <= JUDGED * size[0], p.text
    return True


def in_plain_python(p: Program) -> float:
    n = p.numbers
    values = ([n[:3], n[3:6]], [*n[6:8]], n[8:10], n[10:14].reshape(2, 2), int(n[14]), n[15])
    return evaluate(p.function, dict(zip(ROLES, values, strict=True)))


@pytest.mark.slow
def test_random_energies() -> None:
    seen: Counter = Counter()
    met: Counter = Counter()

    @settings(FIXED, max_examples=EXAMPLES)
    @given(programs())
    def right(text: str) -> None:
        p = program(text)
        seen["judged" if judged(p) else "left"] += 1
        met.update({node.op for node in reachable([p.value])})

    right()
    assert seen["judged"] > 0.97 * EXAMPLES
    differentiable = [op for op, row in OPERATIONS.items() if row.derivative or row.branches]
    assert [op for op in differentiable if met[op] < 10] == []


# Compiled -------------------------------------------------------------------------------------------


def drawn(number: int) -> list[Program]:
    """The same programs each time."""
    found: list[Program] = []

    @settings(FIXED, max_examples=number, phases=[Phase.generate])
    @given(programs())
    def collect(text: str) -> None:
        found.append(program(text, f"energy{len(found)}", compiles=True))

    collect()
    return found[:number]


@pytest.mark.slow
def test_compiled_energies() -> None:
    """Value and gradient of the emitted text, and the value of the source itself, compiled by Taichi."""
    some = drawn(COMPILED)
    assert len(some) == COMPILED
    compared = 0
    for begin in range(0, COMPILED, BATCH):
        batch = some[begin : begin + BATCH]
        outputs = [[p.value, *gradient(p.value, [p.leaves[j] for j in p.moving])] for p in batch]
        by_text, by_source = emitted(batch, outputs), compiled(batch)
        for p, wanted, text, source in zip(batch, outputs, by_text, by_source, strict=True):
            found = in_numpy(wanted, p.leaves, p.numbers)
            size, spread = np.maximum(np.abs(found[:, 0]), 1.0), np.ptp(found, axis=1)
            if np.all(spread <= JUDGED * size):
                compared += 1
                allowed = SPREADS * spread + FLOOR * size
                assert np.all(np.abs(text[: len(wanted)] - found[:, 0]) <= allowed), p.text
                assert abs(source - found[0, 0]) <= allowed[0], p.text
    assert compared > 0.95 * COMPILED


def emitted(batch: list[Program], outputs: list[list[Scalar]]) -> np.ndarray:
    """The outputs of each program, by one kernel of the emitted text."""
    lines = []
    for b, (p, wanted) in enumerate(zip(batch, outputs, strict=True)):
        place = {leaf.serial: j for j, leaf in enumerate(p.leaves)}
        loads = [f"{leaf_name(leaf)} = numbers[{b}, {place[leaf.serial]}]" for leaf in inputs(wanted)]
        statements, texts = WRITER._statements(wanted)
        stores = [f"out[{b}, {j}] = {text}" for j, text in enumerate(texts)]
        lines += ["for e in range(1):", *(f"    {line}" for line in (*loads, *statements, *stores))]
    runtime.start()
    numbers = np.stack([p.numbers for p in batch])
    out = np.zeros((len(batch), max(map(len, outputs))))
    arrays = {"numbers": storage.allocate(numbers), "out": storage.allocate(out)}
    BoundKernel(Code("".join(f"{line}\n" for line in lines), arrays))()
    return storage.host(arrays["out"])


def compiled(batch: list[Program]) -> np.ndarray:
    """The energies of the programs as Taichi understands their source."""
    calls = []
    for b, _ in enumerate(batch):
        n = [f"numbers[{b}, {j}]" for j in range(16)]
        x = ", ".join(f"ti.Vector([{', '.join(n[k : k + 3])}])" for k in (0, 3))
        A = f"ti.Matrix([[{n[10]}, {n[11]}], [{n[12]}, {n[13]}]])"
        call = (
            f"energy{b}([{x}], [{n[6]}, {n[7]}], ti.Vector([{n[8]}, {n[9]}]), {A}, ti.i32({n[14]}), {n[15]})"
        )
        calls.append(f"    for e in range(1):\n        out[{b}] = {call}\n")
    head = ", ".join(
        f"{a}: ti.types.ndarray(dtype=ti.f64, ndim={d})" for a, d in (("numbers", 2), ("out", 1))
    )
    text = f"def kernel({head}):\n{''.join(calls)}"
    file = f"<random energies {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    for p in batch:  # Taichi has no erf: the kernels' own
        p.function.__globals__["erf"] = helpers(ti, "erf_f64")["erf_f64"]
    scope = {"ti": ti, **{f"energy{b}": ti.func(p.function) for b, p in enumerate(batch)}}
    exec(compile(text, file, "exec"), scope)
    runtime.start()
    out = np.zeros(len(batch))
    ti.kernel(scope["kernel"])(np.stack([p.numbers for p in batch]), out)
    ti.sync()
    return out
