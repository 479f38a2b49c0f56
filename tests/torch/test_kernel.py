"""Kernels of Taichi as functions of tensors: the seed's bridge, and what else a kernel may be."""

import gc
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import torch
from minusgrad import Between, Datum, Stage, staged_energy, ti
from minusgrad.errors import EnergyError, TensorError
from minusgrad.torch import kernel, rollout, staged
from tests.support.clumping import CELLS, CLUMPING, clumping
from tests.support.command import SCENES
from tests.support.engine import resident

SPEC = importlib.util.spec_from_file_location("mesh", SCENES / "torch" / "mesh.py")
assert SPEC is not None
assert SPEC.loader is not None
mesh = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mesh)
A = ti.types.ndarray


@kernel(after="x")
@ti.kernel
def componentwise(x: A(ndim=2), after: A(ndim=2)):
    for i in range(x.shape[0]):
        after[i, 0] = x[i, 0] * x[i, 0]
        after[i, 1] = ti.exp(x[i, 1])
        after[i, 2] = ti.sin(x[i, 2])


def by_torch(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x[:, 0] ** 2, x[:, 1].exp(), x[:, 2].sin()], dim=1)


@pytest.fixture
def vertices() -> torch.Tensor:
    return mesh.vertices(mesh.MESH)


def test_the_seeds_mesh(vertices: torch.Tensor) -> None:
    """x^2, exp y, sin z of the vertices of an OBJ file, and the L1 loss: torch's own gradient to 1e-12."""
    loss = torch.nn.L1Loss(reduction="sum")
    (expected,) = torch.autograd.grad(loss(by_torch(vertices), vertices), vertices)
    for mapped in (componentwise, mesh.calculate):
        after = mapped(vertices)
        torch.testing.assert_close(after, by_torch(vertices), rtol=1e-12, atol=1e-12)
        (found,) = torch.autograd.grad(loss(after, vertices), vertices)
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_any_number_of_calls_of_any_size_in_one_graph(vertices: torch.Tensor) -> None:
    """The seed kept its fields on `self`: the last call's were everybody's."""
    small, large = vertices[:2], torch.cat([vertices, 0.5 * vertices])
    once, twice = componentwise(componentwise(small)), componentwise(large)
    total = once.square().sum() * twice.sum()
    expected = by_torch(by_torch(small)).square().sum() * by_torch(large).sum()
    found, own = (torch.autograd.grad(one, vertices, retain_graph=True)[0] for one in (total, expected))
    torch.testing.assert_close(found, own, rtol=1e-12, atol=1e-12)
    assert torch.equal(found, torch.autograd.grad(total, vertices)[0])


def test_gradcheck_in_both_precisions(vertices: torch.Tensor) -> None:
    assert torch.autograd.gradcheck(componentwise, (vertices,))
    single = vertices.detach().float().requires_grad_()
    (found,) = torch.autograd.grad(componentwise(single).sum(), single)
    assert found.dtype is torch.float32
    (expected,) = torch.autograd.grad(by_torch(single).sum(), single)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@kernel(y="x", total=())
@ti.kernel
def scaled(x: A(ndim=1), place: A(ndim=1), factor: ti.f64, y: A(ndim=1), total: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        y[i] = factor * x[place[i]] ** 2
        total[None] += x[i] * factor


def test_several_outputs_whole_numbers_and_constants() -> None:
    x = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    place = torch.tensor([2, 2, 0])
    weights = torch.arange(3.0, dtype=torch.float64)
    for factor in (3.0, -1.0):
        y, total = scaled(x, place, factor=factor)
        expected = factor * x[place] ** 2
        torch.testing.assert_close(y, expected)
        torch.testing.assert_close(total, factor * x.sum())
        found = torch.autograd.grad((y * weights).sum() + total**2, x)
        own = torch.autograd.grad((expected * weights).sum() + (factor * x.sum()) ** 2, x)
        torch.testing.assert_close(found, own)
        y, _ = scaled(x, place, factor)  # one output alone
        own = torch.autograd.grad((factor * x[place] ** 2).sum(), x)
        torch.testing.assert_close(torch.autograd.grad(y.sum(), x), own)


def test_stages_are_a_function_of_all_their_inputs() -> None:
    term = clumping()
    outputs = staged(CLUMPING, cells=CELLS)
    names = ("x", "k", "w", "t")
    values = [term.fields["x"].values, term.parameter("k"), term.inputs["w"], 0.3]
    given = tuple(torch.tensor(np.array(v), requires_grad=True) for v in values)

    def of(*some: torch.Tensor) -> torch.Tensor:
        return outputs(dict(zip(names, some, strict=True)))

    assert of(*given).item() == term.value(0.3)
    assert torch.autograd.gradcheck(of, given)
    with pytest.raises(TensorError, match="no second ones"):
        torch.autograd.grad(of(*given), given, create_graph=True)[0].sum().backward()


@ti.kernel
def in_place(x: A(ndim=1), y: A(ndim=1)):
    for i in range(x.shape[0]):
        y[i] = x[i]
        y[i] *= y[i]


@ti.kernel
def reader(x: A(ndim=1), y: A(ndim=1)):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
        x[i] = 0.0


def test_what_taichi_would_reverse_wrongly_is_refused() -> None:
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    for wrong in (in_place, reader):
        with pytest.raises(EnergyError):
            kernel(y="x")(wrong)(x)


@ti.kernel
def plain(x: A(ndim=1), y: A(ndim=1)):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]


X = torch.ones(3, dtype=torch.float64)
square = kernel(y="x")(plain)
MISTAKES: dict[str, Callable[[], Any]] = {
    "kernel: needs a Taichi kernel; put the decorator above @ti.kernel": lambda: kernel(y="x")(len),
    'plain: name its outputs, each with an input of its shape: kernel(after="x")': lambda: kernel()(plain),
    "plain: no argument 'z' (it takes x, y)": lambda: kernel(z="x")(plain),
    "plain: 'y' needs the shape of an input, got 'z'": lambda: kernel(y="z")(plain),
    "plain: missing a required argument: 'x' (it takes x)": lambda: square(),
    "plain: too many positional arguments (it takes x)": lambda: square(X, X),
    "'x': needs a tensor, got ndarray; use torch.as_tensor(...)": lambda: square(X.numpy()),
    "'x': needs float32, float64, int32 or int64, got torch.float16": lambda: square(X.half()),
    "'x': needs device cpu, the engine's, got meta; use .to(\"cpu\")": lambda: square(X.to("meta")),
    "inputs: need one precision, got x torch.float32, w torch.float64; use .double()": lambda: staged(
        staged_energy("e", stages=[Stage(plain, ("y",)), Stage(weigh, ("U",))], between=LIKE, x=D, w=D)
    )(x=X.float(), w=X),
    "'x': is empty; give at least one value": lambda: square(X[:0]),
    "'x': all its values must be finite": lambda: square(torch.tensor([1.0, torch.nan])),
    "'place': all its values must be whole and below 2^31": lambda: scaled(
        X, torch.tensor([0, 1, 2**32]), 1.0
    ),
    "'factor': needs a plain number, got a tensor; use .item()": lambda: scaled(X, X.int(), X[0]),
    "'x': needs f64, got torch.float32; use .double()": lambda: exact(X.float()),
    "'x': must be a ti.types.ndarray to take a tensor, got a ti.template(), which takes fields; write x:"
    " ti.types.ndarray(dtype=ti.f32, ndim=1)": lambda: of_fields(X),
    "clumping: 'w' is missing (it takes x, k, w, t)": lambda: staged(CLUMPING)(x=X, k=X[0]),
    "no input named 'q' (there are: x, k, w, t)": lambda: staged(CLUMPING)(q=X),
}


@kernel(y="x")
@ti.kernel
def of_fields(x: ti.template(), y: A(ndim=1)):
    for i in x:
        y[i] = x[i]


@kernel(y="x")
@ti.kernel
def exact(x: A(dtype=ti.f64, ndim=1), y: A(dtype=ti.f64, ndim=1)):
    for i in range(x.shape[0]):
        y[i] = x[i]


@kernel(y="x")
@ti.kernel
def divided(x: A(ndim=1), a: ti.f64, y: A(ndim=1)):
    for i in range(x.shape[0]):
        y[i] = x[i] / a


def test_zero_and_minus_zero_are_two_constants() -> None:
    assert (divided(X, 0.0) == torch.inf).all()
    assert (divided(X, -0.0) == -torch.inf).all()


@ti.kernel
def weigh(y: A(ndim=1), w: A(ndim=1), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(y.shape[0]):
        U[None] += y[i] * w[i]


D = Datum(shape=("k",), differentiable=True)
LIKE = {"y": Between(("k",))}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_told_in_one_sentence(text: str) -> None:
    with pytest.raises(TensorError) as message:
        MISTAKES[text]()
    assert str(message.value) == text


def test_a_second_derivative_of_a_kernel_is_refused() -> None:
    x = X.clone().requires_grad_()
    (slope,) = torch.autograd.grad(square(x).sum(), x, create_graph=True)
    with pytest.raises(TensorError, match="Taichi reverses it once"):
        slope.sum().backward()


def test_a_kernel_keeps_its_name_and_many_shapes_come_and_go() -> None:
    assert square.__name__ == "plain"
    for n in [*range(1, 30), 1, 2, 3]:
        x = torch.arange(float(n), dtype=torch.float64).requires_grad_()
        assert torch.equal(*torch.autograd.grad(square(x).sum(), x), 2.0 * x.detach())
    assert len(square._made) <= 8
    doubled = staged(staged_energy("e", stages=[Stage(plain, ("y",))], between=LIKE, outputs=("y",), x=D))
    for n in [*range(1, 20), 1]:
        assert torch.equal(doubled(x=torch.ones(n)), torch.ones(n))
    assert len(doubled._bound) <= 8


@pytest.mark.exam
def test_calls_of_kernels_and_runs_leave_nothing_behind() -> None:
    """Of vectors, too: Taichi's `fill` compiles a kernel of them at each call."""
    pc = mesh.vertices(mesh.MESH)
    x = X.clone().requires_grad_()
    net = rollout(SCENES / "spring_stiffness.toml", 3)
    k = net.start("spring.stiffness").requires_grad_()

    def call(times: int) -> None:
        for _ in range(times):
            (mesh.calculate(pc).sum() + square(x).sum()).backward()
            net({"spring.stiffness": k})["x"].sum().backward()
        gc.collect()

    call(100)
    before = resident()
    call(1000)
    assert resident() < 1.02 * before
