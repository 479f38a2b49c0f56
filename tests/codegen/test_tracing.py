"""The language of energies: it means what it means in Taichi and in plain Python, or it is refused."""

import importlib.util
import inspect
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import pytest

from minusgrad import Datum, Fields, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.codegen.tracing import trace
from minusgrad.engine import runtime
from minusgrad.errors import TraceError
from minusgrad.exam import references
from minusgrad.symbolic.error_explanations import CURE
from minusgrad.symbolic.graph import Graph
from minusgrad.symbolic.rewriting import CURES, LENT, METHODS
from minusgrad.symbolic.taichi_standin import Symbolic
from minusgrad.symbolic.tensors import Tensor

runtime.start()
taichi = ti  # as a file has it that imports the engine itself, whichever
limited, fraction, is_nothing, vec3 = ti.math.clamp, ti.math.fract, ti.math.isnan, ti.math.vec3
X, K, KIND = Node(shape=(3,)), Parameter(shape=(2,), default=1.0), Datum(integer=True)
SEEDS = (2, 4, 6)
triple = ti.types.vector(3, ti.f64)
square = ti.types.matrix(2, 2, ti.f64)
WEIGHTS = ti.Matrix([[1.0, 0.5], [0.25, 2.0]])
REAL = ti.f64
FACTOR = 1.75
POINTS = [(0, 1), (1, 2)]
STORED = ti.ndarray(ti.f64, 3)


def energy_of(function: Callable):
    """An energy over pairs of nodes of a list, with two parameters and an integer for each."""
    roles = {"x": X, "k": K, "level": KIND}
    return local_energy(
        function.__name__, over=2, **{a: roles[a] for a in inspect.signature(function).parameters}
    )(function)


def potential_of(function: Callable, seed: int) -> Potential:
    rng = np.random.default_rng(seed)
    energy = energy_of(function)
    fields = Fields({"x": rng.uniform(0.3, 1.5, (4, 3)) * rng.choice([-1.0, 1.0], (4, 3))})
    data = {"level": [0, 1, 2, 49]} if "level" in energy.roles else {}
    parameters = {"k": rng.uniform(0.5, 1.5, 2)} if "k" in energy.roles else {}
    return Potential(
        fields,
        [bind(energy, fields, tuples=[[0, 1], [1, 2], [3, 0], [2, 3]], data=data, parameters=parameters)],
    )


def assert_understood(function: Callable, compiles: bool = True) -> None:
    """Value and gradient as in plain Python and, where it compiles, as in Taichi."""
    for seed in SEEDS:
        potential = potential_of(function, seed)
        (term,) = potential.terms.values()
        scale = max(references.magnitude(term), 1.0)
        assert abs(potential.value() - references.plain_energy(term)) < 1e-12 * scale
        found, expected = potential.gradient("x"), references.differences(term)["x"]
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * scale)
        if compiles:
            value, reverse = references.taichi(term)
            assert abs(potential.value() - value) < 1e-12 * scale
            np.testing.assert_allclose(found, reverse["x"], rtol=1e-11, atol=1e-11 * scale)


# Everything that the stand-ins provide --------------------------------------------------------------


def functions_of_numbers(x, k):
    a, b = x[0][0], x[1][1]
    u = ti.sqrt(ti.abs(a)) + ti.exp(b) + ti.log(ti.abs(b)) + ti.sin(a) + ti.cos(b) + ti.tanh(a * b)
    u += ti.asin(0.5 * ti.sin(a)) + ti.acos(0.5 * ti.sin(b)) + ti.atan2(a, b) + ti.rsqrt(a * a + 1.0)
    u += ti.floor(a) * b + ti.ceil(b) * a + ti.pow(ti.abs(a), b) + ti.math.mix(a, b, k[0]) + pow(b, 2)
    u += ti.max(a, b, 0.1) + ti.min(a, k[1], b) + max(a, 0.2) + min(b, 0.3, a) + abs(a) + ti.math.sign(a) * b
    u += ti.math.clamp(a, -0.5, 0.5) + ti.select(a > b, a, 2.0 * b) + ti.math.pi * a + ti.math.e * b
    u += (
        ti.cast(3.0 * a, ti.i32) * b
        + ti.cast(a, ti.f64)
        + float(b)
        + int(2.5 * b) * a
        + ti.min(a, ti.math.inf)
    )
    return u + limited(b, -0.4, 0.4) + a % 0.7 + REAL(a) + ti.i64(3.7 * a) * b


def functions_without_a_taichi_gradient(x):
    """Taichi's reverse mode refuses tan and round."""
    return (
        ti.tan(0.5 * x[0][0])
        + ti.round(3.0 * x[0][1]) * x[0][2]
        + ti.math.tan(0.3 * x[1][0])
        + ti.i32(x[1][1])
    )


def vectors(x, k):
    a, b = x[0], x[1]
    u = a.norm() + b.norm_sqr() + a.dot(b) + a.norm(0.1) + b.norm_inv() + b.norm_inv(0.2) + a.normalized()[1]
    u += (
        b.normalized(0.3).x
        + a.sum()
        + a.max() * b.min()
        + a.x * b.y
        + a.z
        + b.r * a.g
        + a.b
        + b.s * a.t
        + a.p
    )
    u += (
        a.cross(b).sum()
        + a.xy.cross(b.yz)
        + a.zyx.dot(b)
        + ti.math.cross(a, b)[0]
        + ti.math.dot(a, b) * len(a)
    )
    u += (
        ti.math.length(a)
        + ti.math.distance(a, b)
        + ti.math.normalize(b)[2]
        + a.n * b[0]
        + (a @ a.outer_product(b))[1]
    )
    c = 2.0 * a - b / 3.0 + a * b - 1.0 + 0.5 * (1.0 - a) + a / b + 1.0 / (b * b) + (-a) + (+b) + abs(a)
    c += ti.max(a, b) + ti.min(a, 0.3) + ti.sin(b) + ti.select(a > b, a, b) + ti.math.clamp(a, -0.4, 0.4)
    c += (
        a**2
        + (a * a) ** 0.7
        + 2.0**b
        + ti.Vector([a[0], k[0], 1.0])
        + vec3(0.5)
        + triple(b)
        + vec3(b.xy, a[2])
    )
    c += (
        ti.Vector.zero(ti.f64, 3)
        + ti.Vector.one(ti.f64, 3) * a
        + ti.Vector.unit(3, 1) * b
        + (a % 0.7)
        + (b // 0.4) * a
    )
    c += (
        ti.select(a <= b, 1.0, b)
        + ti.select(a < 0.0, b, a)
        + ti.select(b >= a, a, 2.0)
        + ti.select(a != b, a, b)
    )
    c += (
        ti.select(a == b, b, a)
        + ti.math.mix(a, b, 0.2)
        + ti.math.vec3(1.0, 2.0, a[1])
        + ti.types.vector(3, ti.f64)(a)
    )
    return u + c.dot(ti.Vector([1.0, 0.7, -0.4], dt=ti.f64))


def matrices(x, k):
    a, b = x[0], x[1]
    A = ti.Matrix([[a[0], a[1]], [b[2], 3.0 + b[1]]])
    B = ti.Matrix.rows([a, b, ti.Vector([0.1, 0.2, 4.0])])
    C = ti.Matrix.cols([a, b, a.cross(b)])
    u = (
        A.determinant()
        + B.determinant()
        + C.trace()
        + A.inverse()[0, 1]
        + C.inverse()[2, 1]
        + A.transpose()[0, 1]
    )
    u += (
        (A @ B[0:2, 0:2]).sum()
        + (C @ a).dot(b)
        + (B @ C).trace()
        + B[1, :].dot(C[:, 0])
        + A.n * A.m
        + b[1:3].sum()
    )
    u += (ti.Matrix.identity(ti.f64, 2) + A * A - 2.0 * A).max() + ti.Matrix.zero(ti.f64, 2, 2).min()
    u += (
        (ti.Matrix.one(ti.f64, 2, 2) @ A).trace() + square(a[0], a[1], b[0], b[1])[1, 0] + (WEIGHTS @ A)[1, 1]
    )
    u += (
        ti.math.mat2(a[0], k[0], k[1], b[0]).determinant() + ti.math.determinant(C) + ti.math.inverse(A)[1, 1]
    )
    u += ti.types.matrix(2, 2, ti.f64)([[a[0], 0.5], [0.25, b[1]]]).determinant() + (a @ C)[1] + (B @ a)[2]
    D = ti.Matrix(
        [[a[0], 0.3, 0.1, b[0]], [0.2, 2.0, a[1], 0.1], [b[1], 0.4, 3.0, 0.2], [0.1, a[2], 0.5, 4.0]]
    )
    return u + D.determinant() + D.inverse()[3, 2] + ti.sqrt(A * A)[0, 1]


def conditions(x, level):
    a, b = x[0][0], x[1][0]
    u = ti.select((a > 0.0) & (b > 0.0), a, b) + ti.select((a > b) | (b < 0.3), a * a, b * b)
    u += (
        ti.select(level, a, b)
        + ti.select(level == 2, a, 3.0 * b)
        + ti.select(a > 0.0 and b > 0.0, a, 0.5 * b)
    )
    u += (
        ti.select(a > 0.0 or b > 0.0, 2.0 * a, b)
        + ti.select(not a > 0.0, a, b * b)
        + ti.select(-1.0 < a < 1.0, a, b)
    )
    u += (
        (a if b > 0.0 else a * a)
        + ti.select(True & (a > 0.5), a, 0.0)
        + ti.select(a <= 0.2, a, b) * (level % 2)
    )
    if level:
        u += a * level
    if 0 < level <= 2:
        u += b * (level // 2)
    return u


def integers(x, level):
    n = level * 2 + 1
    m = n // 2 - n % 3 + (-n) // 2 + (-n) % 3
    p = 0
    for i in ti.static(range(3)):
        p += i * level
    q = ti.max(n, 3) - ti.min(m, 1) + abs(m) + n**2 + p
    return x[0][0] * n + x[0][1] * m + x[0][2] * q + x[1][0] * (n / 2) + x[1][1] * (level // 49)


def functions_of_graphics(x, k):
    """Those of ti.math that Taichi has written in its own language."""
    a, b, c, s = x[0], x[1], x[0].xy, x[1][2]
    u = ti.math.step(0.4, a).dot(b) + ti.math.step(b, a)[0] * s + ti.math.fract(3.0 * a).sum() + fraction(s)
    u += ti.math.smoothstep(0.1, 1.9, a).sum() + ti.math.smoothstep(-1.0, 1.0, s) + ti.math.mod(b, 0.7).dot(a)
    u += (
        ti.math.degrees(s) + ti.math.radians(a).sum() + ti.math.log2(b * b + 1.0).sum() + ti.math.eye(3).sum()
    )
    u += ti.math.reflect(a, b)[1] + ti.math.refract(a, 0.3 * b, 0.8)[2] + ti.math.vdir(s)[0] + a @ b
    u += (ti.math.rotation2d(s) @ c)[1] + (ti.math.rotation3d(s, a[0], a[1]) @ ti.math.vec4(b, 1.0))[2]
    u += ti.math.rot_yaw_pitch_roll(s, a[0], b[1])[0, 1] + ti.math.rot_by_axis(a, s)[1, 2]
    u += (ti.math.translate(s, a[0], 2.0) @ ti.math.scale(k[0], s, 3.0)).sum() + ti.math.cinv(c)[0]
    u += (ti.math.cmul(c, b.xy) + ti.math.cdiv(c, b.yz) + ti.math.cconj(c) * s).dot(c)
    return u + (ti.math.cexp(c) + ti.math.clog(c) + ti.math.csqrt(c) + ti.math.cpow(c, 3)).sum()


def kinds(x, level):
    """Casts, also of comparisons; zero and one; roundings to integers."""
    a, b = x[0][0], x[1][1]
    u = (
        ti.cast(a > b, ti.f64) * a
        + float(a > 0.0) * b
        + int(b > 0.0) * a
        + ti.cast(x[0] > 0.2, ti.i32).sum() * b
    )
    u += ti.floor(3.7 * a, ti.i32) * b + ti.ceil(b, dtype=ti.i64) * a + ti.floor(2.3 * b, ti.f64) * a
    u += (ti.zero(x[0]) + ti.one(x[1]) * x[0]).sum() + ti.one(a) * b + ti.one(level) * a + ti.zero(b)
    n = ti.floor(5.3 * a, ti.i32)
    u += (n // 2 + n % 3) * b + x[0].cast(ti.i32).sum() * b + ti.Vector([1.7, a], dt=ti.i32)[0] * b
    v = ti.math.ivec3(1.7, level, 3 * a)
    w = ti.types.vector(2, ti.types.f64)(x[0].xy)
    return (
        u
        + v.sum() * a
        + (v // 2)[1] * b
        + (v / 2)[1] * b
        + w.sum()
        + ti.select(bool(level), a, b)
        + b * bool(1)
    )


def masks(x, level):
    """What is true of some entries, or of all."""
    a, b = x[0], x[1]
    u = ti.select((a > b).any(), a[0], b[1]) + ti.select((a * a > 0.01).all(), a[1], b[0])
    u += ti.select((a > 0.0) & (b > 0.0), a, b).sum() + ti.select((a > b) | (b < 0.4), b * b, a).sum()
    u += ti.select(ti.Vector([level, 0]).any(), a[2], b[2]) + ti.select(any(a > 0.3), b[0], 2.0 * a[0])
    if all(b > -0.4):
        u += a.dot(b)
    return u + ti.select(ti.Vector([level, 1]).all(), a[0] * b[0], a[2])


def operators(x):
    """Of what stands left and right, and in place."""
    a, b, s = x[0], x[1], x[0][1]
    u = (2.0 % a).sum() * s + (2.0 // b).dot(a) + (1.7 - a * b).sum() + (2.0 ** (0.1 * a)).dot(b) + s**-2
    u += (
        (a % b)[0] + (a // 0.3).dot(b) + -0.7 % 0.5 * s + s % -0.3 + s // 0.4 * b[0] + 2**-1 * s + 7 // -2 * s
    )
    s **= 2
    s %= 0.7
    s //= -0.2
    a **= 2
    a %= 0.6
    a /= 1.5
    a -= 0.5 * b
    a *= b
    p, q, r = s, a[0], a.y
    p, q = q * r, p
    f, g, h = b
    return u + s * x[1][2] + a.sum() + p + q * r + f * g - h


def parts(x, k):
    """Parts of vectors and matrices, read and written."""
    v, A = x[0], ti.Matrix.diag(3, x[0][1])
    v[0:2] = x[1].yz
    v[1:3] += x[0].xy
    v.zx = k
    v.xy *= 2.0
    v.yz += v.xy
    A[0, :] = x[1]
    A[1:3, 2] = x[0].yx
    A[:, 0] *= 0.5
    A[2, 0:2] -= ti.Vector([k[0], x[1][1]])
    B = ti.Matrix([[x[0][0], 2.0], [k[1], x[1][0]]])
    B[:, :] = B @ B
    u = v[::2].sum() + v[1:].dot(A[0, 1:]) + A[::2, ::2].determinant()
    return u + A.determinant() + B[1, 0] * B.trace() + B.norm() + v.get_shape()[0] * A.get_shape()[1]


def loops(x, k):
    """Ways to run through what is known when it is compiled."""
    u, a = 0.0, [x[i][j] * (i + j) for i in range(2) for j in range(3) if i != j]
    for c in ti.static(a):
        u += c * c
    for i in ti.static(range(4)):
        if ti.static(i == 1):
            continue
        if ti.static(i == 3):
            break
        for j in ti.static(range(i, 5, 2)):
            u += x[0][i] * j
    for i, j in ti.static(ti.ndrange((1, 3), 2)):
        u += x[j][i] * k[j]
    for i in range(1, 4):
        u += x[0][0] * i
    for i, p in ti.static(enumerate(x)):
        u += p.dot(x[0]) + p[i]
    w = ti.Vector([sum([x[0][i], x[1][i]]) for i in ti.static(range(3))])
    return u + w.norm_sqr()


@pytest.mark.parametrize("function", [functions_of_numbers, vectors, matrices, conditions, integers])
def test_it_means_what_it_means_in_taichi_and_in_python(function: Callable) -> None:
    assert_understood(function)


@pytest.mark.parametrize("function", [functions_of_graphics, kinds, masks, operators, parts, loops])
def test_so_do_casts_masks_parts_and_loops(function: Callable) -> None:
    assert_understood(function)


def test_functions_that_taichi_cannot_differentiate() -> None:
    assert_understood(functions_without_a_taichi_gradient, compiles=False)


def test_everything_that_the_stand_ins_provide_is_tried_above() -> None:
    here = inspect.getsource(inspect.getmodule(test_everything_that_the_stand_ins_provide_is_tried_above))
    numbers = ["f16", "f32", "float16", "float32", "float64", "int32", "int64", "vec2", "ivec2", "ivec4"]
    numbers += ["mat3", "mat4"]
    stand_ins = {n for n in dir(Symbolic(None)) if not n.startswith("_")} - {
        "graph",
        "builtins",
        "erf",
        "erfc",
        "truth",
        *numbers,
    }
    methods = {n for n in dir(Tensor) if not n.startswith("_")} - {
        "of",
        "entries",
        "functions",
        "integer",
        "shape",
    }
    internal = {"as_real", "copy", "map", "row"}
    of_stretches = {"polar", "stretch_trace", "biot_squares", "stretch_powers", "log_stretch_squares"}
    of_stretches |= {"least_value"}  # plugins/elastic/test_plates.py
    lent = {*LENT} - of_stretches  # symbolic/test_isotropic.py
    untried = [
        n
        for n in sorted((stand_ins - of_stretches) | lent | (methods - internal))
        if not re.search(rf"\.{n}\b", here)
    ]
    assert untried == []


# Values, not references -----------------------------------------------------------------------------


def names_hold_copies(x, k):
    a = x[0]
    b = a
    c = d = a
    b[0] = 10.0
    c[1] = 20.0
    d.z = 30.0
    a.xy = ti.math.vec2(b[0] * k[0], 1.0)
    return a.sum() + 2.0 * b.sum() + 3.0 * c.sum() + 4.0 * d.sum() + x[0].sum()


def names_swap(x):
    a, b = x[0], x[1]
    a, b = b, a
    a[0] += 1.0
    p, q, r = a[0], b[0], a
    r *= 2.0
    p, q = q, p * q
    return a.dot(b) + r.sum() * p - q + x[1][0] * x[0][0]


def lists_hold_copies(x):
    y = [x[0], x[1], x[0]]
    z = y
    z[0] = x[1]
    y[2][1] = 5.0
    y[1] += x[0]
    total = ti.Vector([0.0, 0.0, 0.0])
    for p in ti.static(y):
        total += p
    return total.dot(z[0]) + x[0][1] * z[2][1] + y[1].norm()


def components_are_written(x, k):
    A = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
    v = ti.Vector([0.0, 0.0, 0.0])
    for i in ti.static(range(2)):
        for j in ti.static(range(2)):
            A[i, j] += x[i][j] * (1.0 + i)
    for i, j in ti.static(ti.ndrange(2, 2)):
        A[i, j] *= x[1][2] + j
    for i in ti.static(range(3)):
        v[i] = x[0][i] ** 2
        v[i] -= k[0]
        v[i] /= 1.5
    B = A
    B[0, 0] = 7.0
    v.fill(v[2])
    return A.determinant() + B.sum() * v.x


def loops_rebind(x):
    s, f = 1.0, x[0][0]
    for i in ti.static(range(4)):
        f = f * x[1][0] + i
        s = s + f
        s, f = f, 0.1 * s
    for p, q in ti.static(zip(x, [x[1], x[0]], strict=True)):
        s += p.dot(q) * s
    for i, p in ti.static(enumerate(x)):
        s -= p[i]
    return s + sum([f, s]) if ti.static(len(x) == 2) else 0.0


def shadowed(x, k):
    x0 = x[0]
    x0 = x0 * 2.0
    k0 = k[0]
    k0 += x0[0]
    e = x0.norm()
    n0 = e * k0
    t = n0 + x[0][1]
    w = 0.5
    w = 2
    z = w
    z += t  # a copy of a real name is real, whatever number the name was given last
    return t * z


@ti.func
def scaled(v, factor, offset=0.5):
    """Writes to its own copy of v; has a default."""
    v *= factor
    v[0] += offset
    return v


@ti.func
def typed(v: vec3, n: ti.i32, factor: ti.f64) -> ti.f64:
    return v.sum() * n + factor


@ti.func
def whole(a) -> ti.i32:
    return 7.9 * a


@ti.func
def both(a, b):
    return a + b, a * b


@ti.func
def first_of(y):
    y[0][0] = 50.0
    return y[0].sum()


@ti.func
def power(b: ti.template(), n: ti.template()):
    """Recursion over numbers that are known when it is compiled."""
    out = b
    if ti.static(n > 1):
        out = b * power(b, n - 1)
    return out


def functions_are_called_by_value(x, k):
    a = x[0]
    u = (
        scaled(a, k[0]).sum()
        + scaled(a, factor=2.0, offset=a[1]).sum()
        + a.sum()
        + scaled(offset=1.5, v=a, factor=a[2])[0]
    )
    s, p = both(x[0][1], x[1][2])
    return (
        u
        + typed(a, 2.7, 3)
        + typed(x[1], ti.cast(3.9 * a[0], ti.i32), s)
        + p * first_of(x)
        + x[0][0]
        + power(s, 3)
        + whole(a[1]) * a[2]
    )


def closures_and_constants(x):
    w = (WEIGHTS @ x[0].xy).sum()
    for i, j in ti.static(POINTS):
        w += x[0][i] * x[1][j] * FACTOR + math.pi + POINTS[0][1] + np.float64(2.0)
    return w + taichi.sin(x[0][0])


def branches_assign(x, k):
    u, v = 0.0, x[0]
    if x[0][0] > 0.0:
        u = x[0][1] * k[0]
        v[1] = x[1][0] * x[1][0]
        if x[1][1] > x[0][1]:
            v = x[1] * u
        else:
            u += v[1]
    elif x[1][0] > 0.3:
        v[0], v[2] = v[2], v[0]
        u -= v.x
    else:
        v = -x[1]
    return u * v.sum() + v[0] * v[1]


@pytest.mark.parametrize(
    "function",
    [
        *(names_hold_copies, names_swap, lists_hold_copies, components_are_written, loops_rebind, shadowed),
        *(functions_are_called_by_value, closures_and_constants, branches_assign),
    ],
)
def test_names_have_values(function: Callable) -> None:
    assert_understood(function)


def early_return(x):
    if x[0][0] > 0.0:
        if x[1][0] > 0.0:
            return x[0][0] * x[1][0]
        return x[0][0]
    return -(x[0][1] ** 2)


def assert_is_skipped(x):
    """A docstring, an assert, a pass, a name given in an expression."""
    assert x[0][0] > 1e9
    ti.static_assert(True)
    pass
    if (r := x[0][0] * x[1][0]) > 0.0:
        r += 1.0
    y: ti.f64 = r
    z: vec3 = x[0]
    z[0] = 2.0
    return (y * y if (s := r + 1.0) > 0.0 else s) + z.sum() + x[0][0]


def nested_in_a_closure() -> Callable:
    stiffness, exponent = 3.5, 4

    @ti.func
    def bent(v):
        return stiffness * v**exponent

    def closure(x):
        return bent(x[0][0]) + stiffness * bent(v=x[1][1])

    return closure


@pytest.mark.parametrize("function", [early_return, assert_is_skipped, nested_in_a_closure()])
def test_python_that_taichi_alone_would_refuse_in_part(function: Callable) -> None:
    assert_understood(function, compiles=False)


def test_a_name_of_the_module_that_is_not_called_does_no_harm() -> None:
    """`trace` here is a function of minusgrad's with statements that an energy cannot contain."""
    assert trace.__module__ == "minusgrad.codegen.tracing"
    assert_understood(uses_trace)


def uses_trace(x):
    A = ti.Matrix([[x[0][0], 1.0], [2.0, x[1][0]]])
    return A.trace()


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


# Every name that Taichi has --------------------------------------------------------------------------


def names_of(owner: object) -> list[str]:
    """The public names, without the combinations of letters that choose components."""
    letters = [set(swizzle) for swizzle in ("xyzw", "rgba", "stpq")]
    names = [n for n in dir(owner) if n.isidentifier() and not n.startswith("_")]
    return [n for n in names if not isinstance(owner, type) or not any(set(n) <= s for s in letters)]


def sayings() -> Iterator[str]:
    """How an energy would say each name that Taichi has, and the engine has not."""
    known = Symbolic(Graph())
    for text, owner, stand_in in (
        ("ti", taichi, known),
        ("ti.math", taichi.math, known),
        ("ti.types", taichi.types, known.types),
        ("ti.Matrix", taichi.Matrix, known.Matrix),
        ("ti.Vector", taichi.Vector, known.Vector),
        ("x[0]", taichi.Matrix, Tensor),
    ):
        provided = {*dir(stand_in), *(LENT if stand_in is known else ())}
        provided |= METHODS if stand_in is known.Matrix else set()
        yield from (f"{text}.{n}" for n in names_of(owner) if n not in provided)


@pytest.fixture(scope="module")
def saying(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Callable]:
    """An energy that says something, from a file."""
    folder = tmp_path_factory.mktemp("sayings")

    def made(text: str) -> Callable:
        path = folder / f"says_{re.sub(r'[^a-zA-Z0-9]+', '_', text)}.py"
        path.write_text(f"from minusgrad import ti\n\n\ndef energy(x):\n    return {text}\n")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.energy

    return made


@pytest.mark.parametrize("text", [*sayings()])
def test_every_other_name_of_taichi_is_refused_with_file_line_and_cure(text: str, saying: Callable) -> None:
    energy = saying(text)
    with pytest.raises(TraceError) as caught:
        trace(energy_of(energy), None, 2)
    message, name = str(caught.value), text.rpartition(".")[2]
    assert message.startswith(f"{energy.__code__.co_filename}:5: "), message
    assert name in message
    cures = [cure.partition("; ")[2] for cure in CURES]
    cures += [CURE, "read its entries: v[0], A[0, 1]", f"it makes a matrix: ti.Matrix.{name}(...)"]
    cures += ["arrays are arguments of the energy: a Node, Datum, Parameter or Table"]
    assert "" not in cures
    assert message.endswith(tuple(f"; {cure}" for cure in cures)) or re.search(
        "; did you mean '.+'[?]$", message
    )


@pytest.mark.parametrize("name", ["normalized", "norm_sqr", "sum"])
def test_a_method_of_vectors_may_be_called_as_a_function(name: str, saying: Callable) -> None:
    after = ".sum()" if name == "normalized" else ""
    values = []
    for text in (f"ti.Vector.{name}(x[0]){after}", f"x[0].{name}(){after}"):
        values.append(str(trace(energy_of(saying(text)), None, 2).value))
    assert values[0] == values[1]


only_taichi = pytest.mark.skipif(runtime.engine_name() != "taichi", reason="cures are for Taichi's names")


@only_taichi
@pytest.mark.parametrize("owner", [taichi, taichi.math], ids=lambda owner: owner.__name__)
def test_every_other_function_of_taichi_has_a_cure_of_its_own(owner: ModuleType) -> None:
    """A new function fails here: it needs a meaning in the stand-ins for `ti`, or a row in CURES."""
    cured = {name for names in CURES.values() for name in names.split()}
    functions = {n for n in names_of(owner) if isinstance(getattr(owner, n), FunctionType)}
    assert functions - {*dir(Symbolic(Graph())), *LENT} - cured == set()


@only_taichi
def test_cures_are_for_names_that_exist_and_have_no_meaning_here() -> None:
    names = {name for names in CURES.values() for name in names.split()}
    places = (taichi, taichi.math, taichi.Matrix)
    assert [n for n in names if not any(hasattr(p, n.rpartition(".")[2]) for p in places)] == []
    assert names & {*dir(Symbolic(Graph())), *LENT} == set()


def test_a_function_that_is_refused_says_what_to_write(saying: Callable) -> None:
    with pytest.raises(TraceError, match=r"ti\.random: differs at every call; .* pass it as a Datum$"):
        trace(energy_of(saying("ti.random(ti.f64)")), None, 2)
    with pytest.raises(TraceError, match=r"ti\.svd: takes other steps near equal .* in invariants"):
        trace(energy_of(saying("ti.svd(x[0].outer_product(x[1]))")), None, 2)
    with pytest.raises(TraceError, match=r": tensor: has no 'to_numpy'; read its entries: v\[0\]"):
        trace(energy_of(saying("x[0].to_numpy()[0]")), None, 2)


# Branches -------------------------------------------------------------------------------------------


def six_branches(x):
    u = 0.0
    for i in ti.static(range(6)):
        if x[i % 2][i % 3] > 0.1 * i:
            u += x[0][i % 3] * (i + 1.0)
        else:
            u -= x[1][0] * x[0][i % 3]
    return u


def seven_branches(x):
    u = 0.0
    for i in ti.static(range(7)):
        if x[0][0] > 0.1 * i:  # HERE
            u += x[0][0] * i
    return u


def the_same_branch_again(x):
    """One condition asked a hundred times is two ways, not more."""
    u = 0.0
    for _ in ti.static(range(100)):
        if x[0][0] > 0.0:
            u += x[0][0]
        else:
            u += x[0][1]
    return u


def test_branches_up_to_64_ways() -> None:
    assert_understood(six_branches)


def test_a_condition_that_is_asked_again_is_no_new_way() -> None:
    """Taichi's own reverse mode ends the process here: its stack has 32 places."""
    assert_understood(the_same_branch_again, compiles=False)


def test_more_than_64_ways_are_refused_with_the_line() -> None:
    with pytest.raises(TraceError) as caught:
        trace(energy_of(seven_branches), None, 2)
    lines, first = inspect.getsourcelines(seven_branches)
    line = first + next(k for k, source in enumerate(lines) if "# HERE" in source)
    what = "branches: at most 64 ways lead through an energy, got more; use ti.select"
    assert str(caught.value) == f"{__file__}:{line}: {what}"


# Functions without a `def` in a file ----------------------------------------------------------------


def test_a_lambda_is_refused() -> None:
    energy = local_energy("short", over="nodes", x=X)(lambda x: x[0][0])
    with pytest.raises(
        TraceError, match=r"test_tracing.py:\d+: energy: must be a function that begins with `def`"
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
    with pytest.raises(TraceError, match=rf"test_tracing.py:\d+: .*{text}"):
        local_energy("pair", over="pairs", x=X)(function)
