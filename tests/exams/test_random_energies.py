"""Random energies: value, slopes and curvature of the emitted text against differences in 50 digits.

100 of them, and 16 compiled; in the long tier 500 and 64, with MINUSGRAD_ZOO=all 2,000 and 200.

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
from collections.abc import Sequence
from functools import reduce
from operator import add, mul
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from mpmath import mpf

from minusgrad import Fields, bind, local_energy, ti
from minusgrad.codegen.statements import leaf_name
from minusgrad.codegen.term_loops import Emitter
from minusgrad.engine import runtime, storage
from minusgrad.engine.kernels import BoundKernel, Code
from minusgrad.engine.special_functions import erf, erfc, helpers
from minusgrad.symbolic.differentiation import gradient, tangent
from minusgrad.symbolic.graph import inputs, reachable
from minusgrad.symbolic.operations import OPERATIONS
from minusgrad.symbolic.plain_python import evaluate
from minusgrad.symbolic.scalar import Scalar
from tests.support.fifty_digits import precise
from tests.support.random_energies import ROLES, programs
from tests.support.random_programs import FIXED, NUMBERS, Program, arguments, drawn, program
from tests.support.stretch_programs import stretch_program
from tests.support.tiers import counts

THOROUGH = os.environ.get("MINUSGRAD_ZOO") == "all"
EXAMPLES, COMPILED, BATCH = (2000, 200, 8) if THOROUGH else (500, 64, 8)
LANES = 6
"""Runs of a text: the first as it is, the others rounded at random."""
STEP = mpf(10) ** -15
SPREADS, FLOOR = 30.0, 1e-13
"""What is allowed: so many spreads, and that part of the size of the number (at least 1)."""
JUDGED = 1e-10
"""A spread beyond this part of the size: rounding decides, and there is nothing to judge."""


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
    lines, texts = WRITER._output_statements(outputs)
    rounded = [line.replace(" = ", " = rounded(", 1) + ")" for line in lines]
    source = "\n".join([*rounded, f"found = [{', '.join(texts)}]"])
    rng = np.random.default_rng(len(source))

    def rounded(value: np.ndarray) -> np.ndarray:
        if value.dtype == bool or np.all(value == np.trunc(value)):  # whole numbers are exact
            return value
        return value * (1.0 + np.spacing(1.0) * rng.integers(-1, 2, LANES) * (np.arange(LANES) > 0))

    scope = {"ti": TEXT, "erf_f64": erf, "erfc_f64": erfc, "rounded": rounded}
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


@pytest.mark.parametrize("number", counts(100, EXAMPLES))
def test_random_energies(number: int) -> None:
    seen: Counter = Counter()
    met: Counter = Counter()

    @settings(FIXED, max_examples=number)
    @given(programs())
    def right(text: str) -> None:
        p = program(text)
        seen["judged" if judged(p) else "left"] += 1
        met.update({node.op for node in reachable([p.value])})

    right()
    assert seen["judged"] > 0.97 * number
    scalar = {
        op: row for op, row in OPERATIONS.items() if not row.defined
    }  # others: symbolic/test_isotropic.py
    differentiable = [op for op, row in scalar.items() if row.derivative or row.branches]
    assert [op for op in differentiable if met[op] < number / 50] == []


@pytest.mark.parametrize("number", counts(12, 120))
def test_random_energies_of_stretches(number: int) -> None:
    """Where stretches coincide, where they are 1e-9 and 1e-4 apart, and apart."""
    programs, met = [stretch_program(seed) for seed in range(number)], Counter()
    judgements = [judged(p) for p in programs]
    met.update({node.op for p in programs for node in reachable([p.value])})
    assert sum(judgements) > 0.9 * number, [k for k, one in enumerate(judgements) if not one]
    assert {"stretch_trace", "biot_squares", "stretch_sum2", "stretch_sum3"} <= {*met}


# Compiled -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", counts(16, COMPILED))
def test_compiled_energies(number: int) -> None:
    """Value and gradient of the emitted text, and the value of the source itself, compiled by Taichi."""
    some = drawn(number)
    assert len(some) == number
    compared = 0
    for begin in range(0, number, BATCH):
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
    assert compared > 0.95 * number


def emitted(batch: list[Program], outputs: list[list[Scalar]]) -> np.ndarray:
    """The outputs of each program, by one kernel of the emitted text."""
    lines = []
    for b, (p, wanted) in enumerate(zip(batch, outputs, strict=True)):
        place = {leaf.serial: j for j, leaf in enumerate(p.leaves)}
        loads = [f"{leaf_name(leaf)} = numbers[{b}, {place[leaf.serial]}]" for leaf in inputs(wanted)]
        statements, texts = WRITER._output_statements(wanted)
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
    file = f"<random energies {next(NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    own = helpers(ti, "erf_f64 erfc_f64")  # Taichi has neither: the kernels' own
    for p in batch:
        p.function.__globals__.update(erf=own["erf_f64"], erfc=own["erfc_f64"])
    scope = {"ti": ti, **{f"energy{b}": ti.func(p.function) for b, p in enumerate(batch)}}
    exec(compile(text, file, "exec"), scope)
    runtime.start()
    out = np.zeros(len(batch))
    ti.kernel(scope["kernel"])(np.stack([p.numbers for p in batch]), out)
    ti.sync()
    return out
