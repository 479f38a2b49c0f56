"""What is provided inside an energy means what it means in Taichi and in plain Python."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad import ti
from minusgrad.engine import runtime
from minusgrad.symbolic.rewriting import LENT
from minusgrad.symbolic.taichi_standin import Symbolic
from minusgrad.symbolic.tensors import Tensor
from tests.support.traced import WEIGHTS, assert_understood, fraction, limited, vec3

runtime.start()
triple = ti.types.vector(3, ti.f64)
square = ti.types.matrix(2, 2, ti.f64)
REAL = ti.f64


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
    here = "".join(path.read_text() for path in Path(__file__).parent.glob("test_traced_*.py"))
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
