"""What a staged energy may not say: refused when it is declared or bound, with the line of a kernel."""

import inspect
import re
from collections.abc import Callable

import numpy as np
import pytest

from minusgrad import (
    Between,
    Datum,
    Fields,
    Node,
    Parameter,
    Stage,
    Time,
    bind_staged,
    staged_energy,
    ti,
)
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError
from tests.support.clumping import CELLS, CLUMPING, clumping, cubes
from tests.support.staged_kernels import (
    X1,
    A,
    N,
    at_rest,
    of_x,
    order,
    shared,
    sines,
    squares,
    total,
    twice_the_slope,
)

# Refused when declared ------------------------------------------------------------------------------


def plain(x, y):
    """No kernel."""


THERE, BACK = {"x": "y", "y": "z"}, {"x": "z", "y": "y"}
DECLARED = {
    "overwritten": (
        [Stage(sines, ("y",)), Stage(sines, ("y",), rename={"x": "y", "y": "z"}), Stage(sines, ("y",))],
        "stage 3 'sines' overwrites 'y', which the reverse of stage 2 'sines' needs as stage 1 'sines' left"
        " it; give one of them an array of its own (`rename`), or let the latter be recomputed"
        " (`recompute=True`)",
    ),
    "only one of two makers may run again": (
        [
            Stage(total, ("U",), rename={"U": "s"}, recompute=True),
            Stage(squares, ("U",), rename={"U": "s"}),
            Stage(sines, ("y",), rename={"x": "s", "y": "z"}),
            Stage(total, ("U",), rename={"U": "s"}),
        ],
        "stage 4 'total' overwrites 's', which the reverse of stage 3 'sines' needs as stage 2 'squares' left"
        " it",
    ),
    "two things at once": (
        [
            Stage(sines, ("y",), recompute=True),
            *[Stage(sines, ("y",), rename=w, recompute=True) for w in (THERE, BACK, THERE)],
            Stage(total, ("U",), rename={"x": "z"}),
        ],
        "energy 'e': to reverse stage 3 'sines', array 'y' would need two versions at the same time; give one"
        " of them an array of its own (`rename`)",
    ),
    "read before it is written": (
        [Stage(squares, ("U",), rename={"x": "y"}), Stage(sines, ("y",))],
        "energy 'e': stage 1 'squares' reads 'y', which no stage before it writes",
    ),
    "in place": (
        [Stage(sines, ("y",), rename={"y": "x"})],
        "energy 'e', stage 'sines': takes 'x' twice and writes it, and its reverse would need the"
        " overwritten values; write into another array",
    ),
    "an input": (
        [Stage(at_rest, ("v",), rename={"v": "x"})],
        "energy 'e': stage 1 'at_rest' writes 'x', which is an input",
    ),
    "an output after it was read": (
        [Stage(squares, ("U",)), Stage(sines, ("y",), rename={"x": "U"}), Stage(total, ("U",))],
        "stage 3 'total' writes the output 'U' after stage 2 'sines' has read it",
    ),
    "no such argument": (
        [Stage(sines, ("w",))],
        "energy 'e', stage 'sines': has no argument 'w' (it takes x, y)",
    ),
    "writes nothing": (
        [Stage(sines, ())],
        "stage 'sines': writes no array; name its output arguments in `writes`",
    ),
    "unknown array": (
        [Stage(sines, ("y",), rename={"y": "zz"})],
        "stage 'sines': its argument 'y' is no known array; did you mean 'z'?; give it a role, or name the"
        " array in `between`, `rename` or `numbers`",
    ),
    "no reverse": (
        [Stage(plain, ("y",))],
        "stage 'plain': is no Taichi kernel, so it has no reverse; give it a `backward`",
    ),
    "backward of unknown arguments": (
        [Stage(sines, ("y",), backward=lambda x, d_z: None)],
        "stage 'sines': its backward takes unknown arguments, got d_z; use x, y, d_x, d_y",
    ),
    "idle": ([Stage(squares, ("U",))], "energy 'e': no stage takes w, t, y, z, s"),
}


@pytest.mark.parametrize("case", DECLARED)
def test_refused_when_declared(case: str) -> None:
    stages, text = DECLARED[case]
    between = {"y": N, "z": N, "s": Between(())}
    with pytest.raises(EnergyError, match=re.escape(text)):
        staged_energy("e", stages=stages, between=between, x=Node(), w=Datum(), t=Time())


def test_roles_that_contradict_are_refused() -> None:
    stages = [Stage(squares, ("U",))]
    two = [Stage(cubes, ("U",), rename={"t": "s"}), Stage(cubes, ("U",))]
    with pytest.raises(EnergyError, match="energy 'e': no stage writes V"):
        staged_energy("e", stages=stages, outputs=("U", "V"), x=Node())
    with pytest.raises(EnergyError, match="energy 'e': U cannot be both an input and an output of stages"):
        staged_energy("e", stages=stages, x=Node(), U=Node())
    with pytest.raises(EnergyError, match="x holds integers, which have no derivative"):
        staged_energy("e", stages=stages, x=Datum(integer=True, differentiable=True))
    with pytest.raises(EnergyError, match="an energy cannot be called 'a b'"):
        staged_energy("a b", stages=stages, x=Node())
    with pytest.raises(EnergyError, match="has two Time arguments; use one for both"):
        staged_energy("e", stages=two, grid=Node(), w=Datum(), s=Time(), t=Time())


@ti.kernel
def serialised_nest(x: A(ndim=1), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(3):
        for j in range(3):
            U[None] += x[i] * x[j]


@ti.kernel
def carries(x: A(ndim=1), U: A(ndim=0)):
    for i in range(3):
        s = ti.sin(x[i])
        for j in range(3):
            U[None] += s * x[j]


@ti.kernel
def unrolls(x: A(ndim=1), U: A(ndim=0)):
    """Constants, sums in an inner loop, and loops that are unrolled, are safe."""
    for i in range(4):
        s = 0.0
        c = 1.0
        for j in range(4):
            s += c * x[i] * x[j]
        q = s * x[i]
        for j in ti.static(range(3)):
            U[None] += q * x[j]


@pytest.mark.parametrize(
    ("kernel", "line", "text"),
    [
        (
            serialised_nest,
            3,
            "energy 'e', stage 'serialised_nest', line LINE: is serialised and has a loop in it; write one"
            " flat loop over ti.ndrange, or unroll the inner one by ti.static",
        ),
        (
            carries,
            4,
            "energy 'e', stage 'carries', line LINE: uses 's', computed before this inner loop, whose reverse"
            " takes its value after the last iteration; compute it in the loop, or keep it in an array",
        ),
    ],
    ids=["serialised nest", "carried value"],
)
def test_loops_that_taichi_reverses_wrongly_are_refused(kernel: Callable, line: int, text: str) -> None:
    text = text.replace("LINE", str(inspect.getsourcelines(kernel.__wrapped__)[1] + line))
    with pytest.raises(EnergyError, match=re.escape(text)):
        of_x([Stage(kernel, ("U",))])
    of_x([Stage(kernel, ("U",), backward=twice_the_slope)])


def test_other_loops_are_let_pass_and_right() -> None:
    term = of_x([Stage(unrolls, ("U",))])
    start = term.fields["x"].values.copy()

    def value(x: np.ndarray) -> float:
        term.fields["x"].set(x)
        return term.value()

    assert order(value, start, term.gradient("x")) > 1.9


@ti.kernel
def within_a_number(x: A(ndim=1), U: A(ndim=0), n: ti.i32):
    for i in range(3):
        s = 0.0
        for j in range(n):
            s += ti.sin(x[i] * (j + 1.0))
        U[None] += s


@ti.kernel
def within_a_shape(x: A(ndim=1), U: A(ndim=0)):
    for i in range(3):
        s = 0.0
        for j in range(x.shape[0]):
            s += ti.sin(x[i] * (j + 1.0))
        U[None] += s


def test_a_loop_within_a_loop_ends_where_an_array_says() -> None:
    """Quadrants keeps what such a loop makes on a stack, whose size it must know; Taichi's holds 31."""
    x = np.array([0.3, 0.7, 1.1])
    of_sines = sum(k * np.cos(k * x) for k in (1, 2, 3))

    def slope(kernel: Callable, **numbers: float) -> np.ndarray:
        energy = staged_energy("e", stages=[Stage(kernel, ("U",), numbers=numbers)], x=Node())
        return bind_staged(energy, Fields({"x": x})).gradient("x")

    np.testing.assert_allclose(slope(within_a_shape), of_sines, rtol=1e-14)
    if runtime.engine_name() == "taichi":
        np.testing.assert_allclose(slope(within_a_number, n=3), of_sines, rtol=1e-14)
    else:
        text = "e, stage 'within_a_number': Taichi cannot reverse this kernel (is unresolved"
        with pytest.raises(EnergyError, match=re.escape(text)):
            slope(within_a_number, n=3)


# Refused when bound ---------------------------------------------------------------------------------


def test_refused_when_bound() -> None:
    fields = Fields({"x": [1.0, 2.0], "q": [1.0], "v": [[1.0]]}, {"q": "s"})
    w = {"w": np.ones(CELLS)}
    for options, text in [
        ({}, "clumping.w: has no default; give it a value [1]"),
        ({"data": {"w": [1.0, np.nan]}}, "clumping.w: needs finite numbers"),
        ({"data": {"w": 1.0}}, "clumping.w: has shape [], needs [cells]"),
        ({"data": w, "sizes": {"cells": 3}}, "clumping.w: has shape [8], needs [3]"),
        ({"data": {**w, "t": 1.0}}, "clumping: no datum or parameter named t"),
        ({"data": w, "renamed": {"x": "q"}}, "clumping.x: field 'q' is in s, not m"),
        ({"data": w, "renamed": {"x": "v"}}, "clumping.x: has shape [1, 1], needs [1]"),
        ({"data": w, "renamed": {"x": "nothing"}}, "no field named 'nothing'"),
        ({"data": w, "name": "a b"}, "a term cannot be called 'a b'"),
    ]:
        with pytest.raises(EnergyError, match=re.escape(text)):
            bind_staged(CLUMPING, fields, **options)  # type: ignore[arg-type]


def test_sizes_bounds_and_whole_numbers_are_checked() -> None:
    fields = Fields({"x": [1.0, 2.0]})
    stages = [Stage(sines, ("y",)), Stage(squares, ("U",), rename=X1)]
    energy = staged_energy("e", stages=stages, between={"y": Between(("rows",))}, x=Node())
    text = "e.y: the size of axis 'rows' is unknown; give it in `sizes` (known: n_x = 2, n = 2)"
    with pytest.raises(EnergyError, match=re.escape(text)):
        bind_staged(energy, fields)
    low = Parameter(bounds=(0.0, 1.0), reason="it is a share")
    energy = staged_energy("e", stages=[Stage(shared, ("U",))], x=Node(), s=low)
    with pytest.raises(EnergyError, match=re.escape("e.s: 2.0 is not within [0, 1]; it is a share")):
        bind_staged(energy, fields, parameters={"s": 2.0})
    energy = staged_energy("e", stages=[Stage(shared, ("U",))], x=Node(), s=Datum(integer=True))
    with pytest.raises(EnergyError, match=re.escape("e.s: needs integers below 2^31 in size")):
        bind_staged(energy, fields, data={"s": 0.5})
    with pytest.raises(EnergyError, match=re.escape("e.s: needs integers below 2^31 in size")):
        bind_staged(energy, fields, data={"s": 2**31})


def test_names_that_do_not_exist_are_refused() -> None:
    term = clumping()
    for ask, text in [
        (
            lambda: term.gradient("y"),
            "clumping has no derivative with respect to 'y' (there are: x, k, w, t)",
        ),
        (lambda: term.gradients(("x",), seeds={"V": 1.0}), "clumping has no output 'V' (there are: U)"),
        (lambda: term.set_input("x", 1.0), "clumping has no datum or parameter 'x' (there are: k, w)"),
    ]:
        with pytest.raises(EnergyError, match=re.escape(text)):
            ask()


# Arrays that would hold two things, loops in functions ----------------------------------------------


@ti.kernel
def halves_of_squares(a: ti.types.ndarray(ndim=1), o: ti.types.ndarray(ndim=1)):
    for i in a:
        o[i] += a[i] * a[i] * 0.5


@ti.kernel
def cosine_and_share(a: ti.types.ndarray(ndim=1), o: ti.types.ndarray(ndim=1), q: ti.types.ndarray(ndim=1)):
    for i in a:
        o[i] = ti.cos(a[i])
        q[i] += a[i] * 0.7


@ti.kernel
def sum_of_squares(a: ti.types.ndarray(ndim=1), U: ti.types.ndarray(ndim=0)):
    ti.loop_config(serialize=True)
    for i in a:
        U[None] += a[i] * a[i]


def again(kernel, recompute: bool = True, **rename: str) -> Stage:
    writes = {sum_of_squares: ("U",), cosine_and_share: ("o", "q")}.get(kernel, ("o",))
    return Stage(kernel, writes, rename, recompute=recompute and kernel is not sum_of_squares)


@pytest.mark.parametrize(
    "stages",
    [
        [
            again(cosine_and_share, a="x", o="w", q="q"),
            again(sum_of_squares, a="w"),
            again(halves_of_squares, a="w", o="p"),
            again(cosine_and_share, a="p", o="w", q="q"),
            again(sum_of_squares, a="q"),
        ],
        [
            again(cosine_and_share, a="x", o="q", q="p"),
            again(sum_of_squares, a="q"),
            again(halves_of_squares, a="q", o="w"),
            again(halves_of_squares, a="w", o="p"),
            again(cosine_and_share, a="x", o="q", q="w"),
            again(sum_of_squares, a="w"),
        ],
    ],
    ids=["two versions in one group", "each waits for the other"],
)
def test_an_array_that_would_hold_two_things_at_once_is_refused(stages) -> None:
    with pytest.raises(
        EnergyError, match="would need two versions at the same time; give one of them an array"
    ):
        staged_energy("e", x=Node(), between={b: Between(("n",)) for b in "wpq"}, stages=stages)


@ti.kernel
def in_place(g: ti.types.ndarray(ndim=1), k: ti.types.ndarray(ndim=0)):
    for i in g:
        g[i] = g[i] * k[None]


@ti.func
def summed(x: ti.template(), i: int):
    a = ti.sin(x[i])
    s = 0.0
    for j in range(x.shape[0]):
        s += a * x[j] * x[j]
    return s


@ti.kernel
def loop_in_a_function(x: ti.types.ndarray(ndim=1), U: ti.types.ndarray(ndim=0)):
    for i in x:
        U[None] += summed(x, i)


@ti.kernel
def added_by_name(x: ti.types.ndarray(ndim=1), U: ti.types.ndarray(ndim=0)):
    ti.loop_config(serialize=True)
    for i in x:
        ti.atomic_add(U[None], x[i] * x[i])


def test_nothing_is_made_from_itself() -> None:
    stages = [Stage(halves_of_squares, ("o",), {"a": "x", "o": "g"}), Stage(in_place, ("g",))]
    with pytest.raises(
        EnergyError, match="stage 'in_place': computes 'g' from itself, and its reverse would use"
    ):
        staged_energy("e", x=Node(), k=Parameter(), between={"g": Between(("n",))}, stages=stages)
    energy = staged_energy("e", x=Node(), stages=[Stage(added_by_name, ("U",))])
    term = bind_staged(energy, Fields({"x": [1.0, 3.0]}))
    assert (term.value(), term.gradient("x").tolist()) == (10.0, [2.0, 6.0])


def test_a_loop_in_a_function_that_a_kernel_calls_is_seen() -> None:
    text = r"stage 'loop_in_a_function', line \d+: is a loop in 'summed', which a kernel calls, so its"
    with pytest.raises(EnergyError, match=text):
        staged_energy("e", x=Node(), stages=[Stage(loop_in_a_function, ("U",))])
