"""What the language of energies has not is refused with file, line and cure."""

import importlib.util
import inspect
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minusgrad import local_energy, ti
from minusgrad.codegen.tracing import trace
from minusgrad.engine import runtime
from minusgrad.errors import TraceError
from tests.support.traced import X, energy_of, is_nothing, vec3

runtime.start()
STORED = ti.ndarray(ti.f64, 3)


# Refusals: file, line and cure ----------------------------------------------------------------------


@ti.func
def adds_in_place(a: ti.template(), b):
    a += b  # HERE


@ti.func
def writes_in_place(a: ti.template()):
    a[0] = 1.0  # HERE
    return a.sum()


def any_number(*values):  # HERE
    return values[0]


def symbolic_while(x):
    s = x[0][0]
    while s > 1.0:  # HERE
        s *= 0.5
    return s


def symbolic_range(x, level):
    s = 0.0
    for _ in range(level):  # HERE
        s += x[0][0]
    return s


def symbolic_index(x, level):
    return x[0][level]  # HERE


def symbolic_list_index(x, level):
    return x[level][0]  # HERE


def outside(x):
    return x[0][3]  # HERE


def too_few_indices(x):
    return x[0].outer_product(x[1])[0][1]  # HERE


def returns_a_vector(x):  # HERE
    return x[0]


def returns_nothing(x):  # HERE
    x[0][0] + 1.0


def returns_a_truth(x):  # HERE
    return x[0][0] > 0.0


def returns_two(x):  # HERE
    return x[0][0], x[0][1]


def unknown_function(x):
    return ti.sinn(x[0][0])  # HERE


def unknown_method(x):
    return x[0].svd()  # HERE


def python_math(x):
    return math.sqrt(x[0][0])  # HERE


def numpy_math(x):
    return np.sqrt(x[0][0])  # HERE


def integer_begins(x):
    s = 0
    s += x[0][0]  # HERE
    return s


def integers_begin(x):
    a, s = 1.0, 0
    s = s + a * x[0][0]  # HERE
    return s


def integer_vector_begins(x):
    v = ti.Vector([0, 0])
    v[0] = x[0][0]  # HERE
    return v.sum()


def integer_vector_adds(x):
    v = ti.Vector([0, 0, 0])
    v += x[0]  # HERE
    return v.sum()


def integer_choice(x):
    s = ti.select(x[0][0] > 0.0, 1, 2)
    s += 0.5  # HERE
    return s * x[0][0]


def integer_argument(x, level):
    level = 0.5 * level  # HERE
    return level * x[0][0]


def loop_variable(x):
    s = 0.0
    for p in ti.static(x):
        p = 2.0 * p  # HERE
        s += p.sum()
    return s


def changes_its_callers(x):
    s = 1.0
    adds_in_place(s, x[0][0])
    return s


def writes_to_its_callers(x):
    return writes_in_place(x[0])


def calls_with_stars(x):
    return any_number(*x)


def real_condition(x):
    u = 0.0
    if x[0][0]:  # HERE
        u = 1.0
    return u


def truth_as_a_number(x):
    return (x[0][0] > 0.0) * x[0][1]  # HERE


def truth_of_a_vector(x):
    return ti.select(x[0] == x[1] or False, 1.0, 2.0)  # HERE


def shapes_that_differ(x):
    return (x[0] + x[1].xy).sum()  # HERE


def determinant_of_two_by_three(x):
    return ti.Matrix.rows([x[0], x[1]]).determinant()  # HERE


def cross_of_four(x):
    v = ti.math.vec4(x[0], 1.0)
    return v.cross(v).sum()  # HERE


def too_many_numbers(x):
    return vec3(x[0], 1.0).sum()  # HERE


def ragged(x):
    return ti.Matrix([[x[0][0], 1.0], [2.0]]).sum()  # HERE


def function_within(x):
    def f(a):  # HERE
        return a * a

    return f(x[0][0])


def tries(x):
    try:  # HERE
        return x[0][0]
    except ValueError:
        return 0.0


def imports(x):
    import math  # HERE

    return math.pi * x[0][0]


def no_such_name(x):
    return undefined_name * x[0][0]  # noqa: F821  # HERE


def not_in_the_language(x):
    u = x[0][0]
    return is_nothing(u)  # HERE


def writes_too_many(x):
    v = x[0]
    v[0:2] = x[1]  # HERE
    return v.sum()


def writes_a_row_into_an_entry(x):
    A = x[0].outer_product(x[1])
    A[0, 1] = x[1]  # HERE
    return A.sum()


def bits_of_a_comparison(x):
    return ti.select(~(x[0][0] > 0.0), 1.0, 2.0)  # HERE


def bits_of_two(x):
    return ti.select((x[0][0] > 0.0) ^ (x[0][1] > 0.0), 1.0, 2.0)  # HERE


def bits_of_an_integer(x, level):
    return x[0][0] * (level << 1)  # HERE


def bits_of_integers(x, level):
    return x[0][0] * (level & 1)  # HERE


def transposes_a_vector(x):
    return x[0].transpose()[0, 1]  # HERE


def normalizes_a_matrix(x):
    return x[0].outer_product(x[1]).normalized().sum()  # HERE


def large_determinant(x):
    return x[0][0] * ti.Matrix.identity(ti.f64, 5).determinant()  # HERE


def mistake_in_a_function_of_taichi(x):
    return ti.math.reflect(x[0], x[0].xy).sum()  # HERE


def prints(x):
    print(x[0][0])  # HERE
    return x[0][0]


def deletes(x):
    u = x[0][0]
    del u  # HERE
    return 1.0


def raises(x):
    raise ValueError  # HERE


def matches(x, level):
    match level:  # HERE
        case 1:
            return x[0][0]
    return 0.0


def writes_a_global(x):
    global FACTOR  # HERE
    FACTOR = x[0][0]
    return FACTOR


def yields(x):
    yield x[0][0]  # HERE


def with_a_lambda(x):
    f = lambda a: a * a  # noqa: E731  # HERE
    return f(x[0][0])


def with_a_context(x):
    with open("file"):  # HERE
        return x[0][0]


def with_a_class(x):
    class Thing:  # HERE
        pass

    return x[0][0]


def rounds_by_python(x):
    return round(x[0][0])  # HERE


def reads_an_array(x):
    return STORED[0] * x[0][0]  # HERE


def writes_a_misspelt_component(x):
    v = x[0]
    v.first = 3.0  # HERE
    return v.sum()


def computes_with_nan(x):
    return x[0][0] + math.nan  # HERE


def norm_of_the_list(x):
    return x.norm()  # HERE


def half_of_the_list(x):
    return 0.5 * x  # HERE


def typo_of_a_name(x):
    length = x[0].norm()
    return lenght * length  # noqa: F821  # HERE


def name_of_nothing(x):
    return x[0][0] * ee  # noqa: F821  # HERE


def list_beside_a_node(x):
    return (x - x[1]).norm()  # HERE


def third_of_two(x):
    return x[0][0] + x[2][0]  # HERE


def index_of_a_number(x, level):
    return x[0][0] * level[0]  # HERE


def sum_by_numpy(x):
    return np.sum(x[0])  # HERE


def hypot_by_math(x):
    return math.hypot(x[0][0], x[0][1])  # HERE


def where_by_numpy(x):  # HERE
    return np.where(x[0][0] > 0.0, x[0][0], 0.0)


def no_value_on_one_path(x):
    if x[0][0] > 0.0:
        u = 1.0
    return u  # HERE


def numpy_arc(x):
    return np.arcsin(x[0][0])  # HERE


def numpy_of_a_vector(x):
    return np.linalg.norm(float(2) * x[0])  # HERE


def too_few_arguments(x):
    return ti.atan2(x[0][0])  # HERE


def misspelt_method(x):
    return x[0].nrom()  # HERE


REFUSALS = [
    (computes_with_nan, "constant: must be a number, got nan; leave the case out with ti.select"),
    (
        symbolic_while,
        "`while`: runs an unknown number of times; "
        "write it with static loops, `if` and ti.select, or as staged kernels",
    ),
    (
        symbolic_range,
        "range or index: has no value before the kernel runs; write static loops with `if` and ti.select",
    ),
    (
        symbolic_index,
        "range or index: has no value before the kernel runs; write static loops with `if` and ti.select",
    ),
    (
        symbolic_list_index,
        "range or index: has no value before the kernel runs; write static loops with `if` and ti.select",
    ),
    (outside, "index: must be within shape [3], got [3]; they count from 0, and none is negative"),
    (too_few_indices, "index: needs 2 numbers for shape [3, 3], got [0]; a row of a matrix is A[i, :]"),
    (
        returns_a_vector,
        "'returns_a_vector': must return one real number, got a tensor; return the energy of one element",
    ),
    (
        returns_nothing,
        "'returns_nothing': must return one real number, got None; return the energy of one element",
    ),
    (
        returns_a_truth,
        "'returns_a_truth': must return one real number, got a comparison; return the energy of one element",
    ),
    (
        returns_two,
        "'returns_two': must return one real number, got a tuple; return the energy of one element",
    ),
    (unknown_function, "ti.sinn: is not in the language of energies; did you mean 'sin'?"),
    (
        unknown_method,
        "tensor: has no 'svd'; write it with static loops, `if` and ti.select, or as staged kernels",
    ),
    (python_math, "math.sqrt: cannot take a value of the kernel; write ti.sqrt"),
    (numpy_math, "np.sqrt: cannot take a value of the kernel; write ti.sqrt"),
    (
        integer_begins,
        "'s': began as an integer, got a real number, which Taichi truncates; "
        "begin with 0.0, or use another name",
    ),
    (
        integers_begin,
        "'s': began as an integer, got a real number, which Taichi truncates; "
        "begin with 0.0, or use another name",
    ),
    (
        integer_vector_begins,
        "entry: began as an integer, got a real number, which Taichi truncates; begin with 0.0",
    ),
    (
        integer_vector_adds,
        "'v': began as an integer, got a real number, which Taichi truncates; "
        "begin with 0.0, or use another name",
    ),
    (
        integer_choice,
        "'s': began as an integer, got a real number, which Taichi truncates; "
        "begin with 0.0, or use another name",
    ),
    (
        integer_argument,
        "'level': began as an integer, got a real number, which Taichi truncates; "
        "begin with 0.0, or use another name",
    ),
    (loop_variable, "'p': is the variable of a loop; use another name"),
    (
        changes_its_callers,
        "'a': is a ti.template() argument, which its caller would see change; use another name",
    ),
    (
        writes_to_its_callers,
        "'a': is a ti.template() argument, which its caller would see change; use another name",
    ),
    (calls_with_stars, "*args: Taichi has none, and no keyword-only arguments; name every argument"),
    (real_condition, "condition: must be a comparison, got a real number; write `x != 0.0`"),
    (
        truth_as_a_number,
        "operand: must be a number, got a comparison; write ti.select(condition, 1.0, 0.0)",
    ),
    (
        truth_of_a_vector,
        "vector: has no single truth; write .any() or .all(), and & and | between comparisons",
    ),
    (shapes_that_differ, "operands: must have one shape, got [3] and [2]; take a part, such as v[0:2]"),
    (
        determinant_of_two_by_three,
        "trace, determinant and inverse: take a square matrix, got shape [2, 3]; use A.transpose() @ A",
    ),
    (
        cross_of_four,
        "cross: takes two vectors of 2 or of 3 components, got [4] and [4]; take components, such as v.xyz",
    ),
    (
        too_many_numbers,
        "tensor of shape [3]: takes 3 numbers, got 4; give one for each entry, or one for all",
    ),
    (
        ragged,
        "vector or matrix: must have rows of one length, got 2, 1; a vector takes numbers, a matrix rows",
    ),
    (function_within, "`def` inside a function: cannot be compiled by Taichi; define it beside the energy"),
    (
        tries,
        "`try`: has no meaning in an energy; "
        "write it with static loops, `if` and ti.select, or as staged kernels",
    ),
    (imports, "`import`: has no meaning in an energy; put it at the top of the file"),
    (no_such_name, "'undefined_name': is not defined; define it, or make it an argument of the energy"),
    (
        not_in_the_language,
        "is_nothing is ti.isnan: may be folded away by the compiler; compare with a bound: ti.abs(x) < 1e300",
    ),
    (writes_too_many, "assignment: needs 2 numbers, got a list of 3; give one number for each entry"),
    (
        writes_a_row_into_an_entry,
        "assignment: needs one number, got a list of 3; give one number for each entry",
    ),
    (
        bits_of_a_comparison,
        "~: works on bits, got a value of the kernel; the opposite of a comparison is `not`",
    ),
    (
        bits_of_two,
        "^: works on bits, got a value of the kernel; "
        "a power is **, and of two comparisons one is `(a and not b) or (b and not a)`",
    ),
    (bits_of_an_integer, "<<: works on bits, got a value of the kernel; write a * 2**n"),
    (bits_of_integers, "& and |: join comparisons, got an integer; compare it: n != 0"),
    (
        transposes_a_vector,
        "transpose: takes a matrix, got a vector; for a @ b.transpose() write a.outer_product(b)",
    ),
    (
        normalizes_a_matrix,
        "normalized: takes vectors, got shape [3, 3]; take columns with A[:, j], or (A * B).sum()",
    ),
    (
        large_determinant,
        "determinant and inverse: go to 4 x 4 in Taichi, got 5 x 5; eliminate in static loops",
    ),
    (
        mistake_in_a_function_of_taichi,
        "operands: must have one shape, got [3] and [2]; take a part, such as v[0:2]",
    ),
    (
        prints,
        "print: shows nothing in a derived kernel; "
        "take it out, and look inside with the energy's evaluator()",
    ),
    (deletes, "`del`: cannot be compiled by Taichi; take it out"),
    (raises, "`raise`: has no meaning in an energy; check values before the energy is bound"),
    (matches, "`match`: cannot be compiled by Taichi; write `if` and `elif`"),
    (writes_a_global, "`global`: an energy cannot write names outside of it; return the value"),
    (yields, "`yield`: an energy returns one number; add up and return the sum"),
    (with_a_lambda, "`lambda`: cannot be compiled by Taichi; define the function beside the energy"),
    (
        with_a_context,
        "`with`: has no meaning in an energy; "
        "write it with static loops, `if` and ti.select, or as staged kernels",
    ),
    (with_a_class, "`class`: has no meaning in an energy; use vectors, matrices and lists of them"),
    (rounds_by_python, "round: Python's cannot be compiled; write ti.round"),
    (
        reads_an_array,
        "STORED is ti.ScalarNdarray: is an array; pass it as an argument: a Node, Datum, Parameter or Table",
    ),
    (writes_a_misspelt_component, "vector: has no component 'first'; write v.x or v[0]"),
    (norm_of_the_list, "x: is the list of the element's nodes, got no index; write x[0], x[1]"),
    (half_of_the_list, "x: is the list of the element's nodes, got no index; write x[0], x[1]"),
    (typo_of_a_name, "'lenght': is not defined; did you mean 'length'?"),
    (
        no_value_on_one_path,
        "'u': has no value on this path through the energy; give it one before the `if`",
    ),
    (numpy_arc, "np.arcsin: cannot take a value of the kernel; write ti.asin"),
    (numpy_of_a_vector, "np.linalg.norm: cannot take a value of the kernel; write v.norm()"),
    (sum_by_numpy, "np.sum: cannot take a value of the kernel; write v.sum()"),
    (
        hypot_by_math,
        "math.hypot: cannot take a value of the kernel; write ti.sqrt(a * a + b * b)",
    ),
    (
        where_by_numpy,
        "'where_by_numpy': must return one real number, got an array of NumPy's, which cannot hold values of"
        " the kernel; return the energy of one element",
    ),
    (name_of_nothing, "'ee': is not defined; define it, or make it an argument of the energy"),
    (list_beside_a_node, "x: is the list of the element's nodes, got no index; write x[0], x[1]"),
    (third_of_two, "x: has 2 nodes, got an index beyond them; they are x[0] to x[1]"),
    (index_of_a_number, "level: is one number, got an index; write level"),
    (too_few_arguments, "ti.atan2: takes 2 arguments, got 1; write ti.atan2(a, b)"),
    (misspelt_method, "tensor: has no 'nrom'; did you mean 'norm'?"),
]
CALLED = {
    changes_its_callers: adds_in_place,
    writes_to_its_callers: writes_in_place,
    calls_with_stars: any_number,
}


@pytest.mark.parametrize(("function", "text"), REFUSALS, ids=lambda v: getattr(v, "__name__", ""))
def test_refused_with_file_line_and_cure(function: Callable, text: str) -> None:
    with pytest.raises(TraceError) as caught:
        trace(energy_of(function), None, 2)
    lines, first = inspect.getsourcelines(CALLED.get(function, function))
    line = first + next(k for k, source in enumerate(lines) if "# HERE" in source)
    message = str(caught.value)
    assert message == f"{__file__}:{line}: {text}"
    assert "; " in message


# Functions without a `def` in a file ----------------------------------------------------------------


def test_a_lambda_is_refused() -> None:
    energy = local_energy("short", over="nodes", x=X)(lambda x: x[0][0])
    with pytest.raises(
        TraceError, match=r"test_tracing_refusals.py:\d+: energy: must be a function that begins with `def`"
    ):
        trace(energy, None, 2)


def test_a_file_that_changed_after_the_import_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "changing.py"
    path.write_text("def first(x):\n    return x[0][0]\n")
    spec = importlib.util.spec_from_file_location("changing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text("def second(x):\n    return x[0][0] * 2.0\n")
    energy = local_energy("first", over="nodes", x=X)(module.first)
    with pytest.raises(TraceError, match=r"changing\.py:1: 'first': its file has changed since it was"):
        trace(energy, None, 2)


@pytest.mark.parametrize("file", ["<stdin>", "<string>"])
def test_a_function_without_a_file_is_refused(file: str) -> None:
    scope: dict = {}
    exec(compile("def unwritten(x):\n    return x[0][0]\n", file, "exec"), scope)
    energy = local_energy("unwritten", over="nodes", x=X)(scope["unwritten"])
    with pytest.raises(TraceError) as caught:
        trace(energy, None, 2)
    assert str(caught.value) == (
        f"'unwritten': has no source that can be read, got a function from {file}, which is no file; put it"
        " into a file, or into a cell of a notebook"
    )


@pytest.mark.parametrize(
    ("function", "text"),
    [(returns_a_vector, "must return one real number"), (symbolic_while, "`while`")],
)
def test_a_pair_energy_is_refused_with_its_line_when_it_is_declared(function: Callable, text: str) -> None:
    with pytest.raises(TraceError, match=rf"test_tracing_refusals.py:\d+: .*{text}"):
        local_energy("pair", over="pairs", x=X)(function)
