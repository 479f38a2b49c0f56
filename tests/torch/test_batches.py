"""Batches: inputs with one dimension more, rows with the bits of single calls, sums in a fixed order."""

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

import torch
from minusgrad import Fields, Node, Parameter, Potential, Time, bind, local_energy
from minusgrad.errors import NonFiniteError, TensorError
from minusgrad.torch import Layer, energy, equilibrium, outputs, rollout
from tests.support.command import SCENES

NET = SCENES / "spring_stiffness.toml"
STARS = {"state.n": 4, "runtime.precision": "f64"}


@local_energy(
    "well", over="nodes", x=Node("m", ("d",)), m=Node("kg"), k=Parameter("s^-2", default=2.0), t=Time()
)
def well(x, m, k, t):
    """A quartic well that opens with time."""
    r = x[0].norm_sqr()
    return 0.5 * m[0] * k * r * (1.0 + t * r)


@pytest.fixture(scope="module")
def u() -> Any:
    rng = np.random.default_rng(5)
    values = {"x": rng.normal(size=(5, 2)), "m": rng.uniform(1.0, 2.0, 5)}
    fields = Fields(values, {"x": "m", "m": "kg"})
    return energy(Potential(fields, [bind(well, fields)]))


def spread(start: torch.Tensor, count: int, seed: int = 0, size: float = 0.1) -> torch.Tensor:
    """Values for `count` members, relative normal deviations about one start."""
    noise = torch.randn(
        (count, *start.shape), dtype=start.dtype, generator=torch.Generator().manual_seed(seed)
    )
    return (start * (1.0 + size * noise)).requires_grad_()


def own(given: dict[str, torch.Tensor], stacked: set[str], k: int) -> dict[str, torch.Tensor]:
    """The inputs of member k alone."""
    return {n: (v[k] if n in stacked else v).detach().requires_grad_() for n, v in given.items()}


def in_order(rows: list[torch.Tensor]) -> torch.Tensor:
    return reduce(add, rows)


# Energies -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("stacked", [{"x"}, {"well.k", "t"}, {"x", "m", "well.k", "t"}])
def test_rows_have_the_bits_of_single_calls_and_shared_gradients_are_sums(
    u: Any, count: int, stacked
) -> None:
    given = {n: u.start(n).requires_grad_() for n in u.guests} | {"t": torch.tensor(0.3, dtype=torch.float64)}
    given |= {n: spread(given[n].detach(), count, len(n)) for n in stacked}
    given["t"].requires_grad_()
    weights = torch.linspace(0.5, 2.0, count, dtype=torch.float64)
    values = u(given, batch=count)
    assert values.shape == (count,)
    slopes = dict(zip(given, torch.autograd.grad(values @ weights, [*given.values()]), strict=True))
    alone = [own(given, stacked, k) for k in range(count)]
    single = [u(one) for one in alone]
    assert torch.equal(values, torch.stack(single))
    found = [
        torch.autograd.grad(w * v, [*one.values()]) for w, v, one in zip(weights, single, alone, strict=True)
    ]
    for place, name in enumerate(given):
        rows = [one[place] for one in found]
        assert torch.equal(slopes[name], torch.stack(rows) if name in stacked else in_order(rows)), name


def test_second_derivatives_are_those_of_the_rows(u: Any) -> None:
    given = {"x": spread(u.start("x"), 3), "m": u.start("m").requires_grad_()}
    given |= {"well.k": spread(u.start("well.k"), 3), "t": torch.tensor(0.3, dtype=torch.float64)}
    given["t"].requires_grad_()

    def change(given: dict[str, torch.Tensor], **more: int) -> Any:
        (slope,) = torch.autograd.grad(u(given, **more).sum(), given["x"], create_graph=True)
        return torch.autograd.grad(slope.sin().sum(), [*given.values()])

    together = change(given, batch=3)
    alone = [change(own(given, {"x", "well.k"}, k)) for k in range(3)]
    for place, name in enumerate(given):
        rows = [one[place] for one in alone]
        assert torch.equal(together[place], in_order(rows) if name in ("m", "t") else torch.stack(rows)), name


def test_first_and_second_derivatives_of_a_mixed_batch(u: Any) -> None:
    given = (spread(u.start("x"), 2), u.start("m").requires_grad_(), spread(u.start("well.k"), 2))

    def of(*some: torch.Tensor) -> torch.Tensor:
        x, m, k = some
        return u({"x": x, "m": m, "well.k": k, "t": 0.2}, batch=2)

    assert torch.autograd.gradcheck(of, given)
    assert torch.autograd.gradgradcheck(of, given)


def test_a_third_derivative_of_a_batch_is_refused(u: Any) -> None:
    x = spread(u.start("x"), 2)
    (slope,) = torch.autograd.grad(u(x=x, batch=2).sum(), x, create_graph=True)
    (change,) = torch.autograd.grad(slope.square().sum(), x, create_graph=True)
    with pytest.raises(TensorError, match="no third ones"):
        change.sum().backward()


def test_a_shared_gradient_has_the_same_bits_on_any_number_of_threads(u: Any) -> None:
    x, k, threads = spread(u.start("x"), 300), u.start("well.k").requires_grad_(), torch.get_num_threads()
    found = []
    try:
        for number in (1, 2, 5):
            torch.set_num_threads(number)
            found += torch.autograd.grad(u({"x": x, "well.k": k}, batch=300).sum(), k)
    finally:
        torch.set_num_threads(threads)
    assert found[0].item() == found[1].item() == found[2].item()
    rows = [torch.autograd.grad(u({"x": x[j].detach(), "well.k": k}), k)[0] for j in range(300)]
    assert found[0].item() == in_order(rows).item()


def test_pairs_within_a_cutoff_are_those_of_each_member() -> None:
    """Lists of neighbours that one member needs are not left to the next."""
    u = energy(SCENES / "warm_crystal.toml")
    x = spread(u.start("x"), 3, size=0.05)
    values = u(x=x, batch=3)
    (slope,) = torch.autograd.grad(values.sum(), x)
    for k in (2, 0, 1):
        one = x[k].detach().requires_grad_()
        assert u(x=one).item() == values[k].item()
        assert torch.equal(torch.autograd.grad(u(x=one), one)[0], slope[k])


MISTAKES: dict[str, Callable[[Any, torch.Tensor], Any]] = {
    "'x': needs shape [5, 2], got [4, 5, 2]; for 4 members, call with batch=4":
        lambda u, x: u(x=x),
    "'x': needs shape [5, 2], shared by all, or [3, 5, 2], one for each of 3 members, got [4, 5, 2]":
        lambda u, x: u(x=x, batch=3),
    "'m': needs shape [5], shared by all, or [4, 5], one for each of 4 members, got [4]":
        lambda u, x: u(x=x, m=x[:, 0, 0], batch=4),
    "batch = 4: no input has a dimension more than one member's; stack the members' values,"
    " torch.stack([...]), or leave `batch` out":
        lambda u, x: u(x=x[0], batch=4),
    "batch: needs a whole number of at least 1, got 0; give len(x)":
        lambda u, x: u(x=x[:0], batch=0),
    "batch: needs a whole number of at least 1, got 2.5; give len(x)":
        lambda u, x: u(x=x, batch=2.5),
    "batch: needs a whole number of at least 1, got True; give len(x)":
        lambda u, x: u(x=x, batch=True),
    "batch: is the number of members, got a tensor; give an input of this name in the mapping,"
    ' f({"batch": ...})':
        lambda u, x: u(x=x, batch=x),
    "member 2: 'well.k': needs finite values; check how it was computed":
        lambda u, x: u({"well.k": torch.tensor([1.0, 2.0, torch.nan], dtype=x.dtype)}, batch=3),
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_a_batch_is_said_in_one_sentence(u: Any, text: str) -> None:
    before = u().item()
    with pytest.raises(TensorError) as message:
        MISTAKES[text](u, spread(u.start("x"), 4).detach())
    assert str(message.value) == text
    assert u().item() == before


# Runs, equilibria, outputs --------------------------------------------------------------------------------


def test_runs_of_a_batch_are_those_of_its_rows() -> None:
    net = rollout(NET, 6, observe=[0, 3, 6])
    given = {
        "v": spread(net.start("v") + 0.01, 3)
        * torch.ones(23, 1).double().index_fill(0, torch.tensor([0, 4]), 0.0),
        "spring.stiffness": spread(net.start("spring.stiffness"), 3),
        "spring.rest": net.start("spring.rest").requires_grad_(),
    }
    given["v"] = given["v"].detach().requires_grad_()
    states = net(given, batch=3)
    assert states["x"].shape == (3, 3, 23, 2)
    assert torch.equal(rollout(NET, 6)(given, batch=3)["x"], states["x"][:, -1])
    slopes = torch.autograd.grad(states["x"].square().sum() + states["v"].sum(), [*given.values()])
    alone = []
    for k in range(3):
        one = own(given, {"v", "spring.stiffness"}, k)
        found = net(one)
        assert torch.equal(found["x"], states["x"][k])
        alone.append(torch.autograd.grad(found["x"].square().sum() + found["v"].sum(), [*one.values()]))
    for place, name in enumerate(given):
        rows = [one[place] for one in alone]
        assert torch.equal(slopes[place], in_order(rows) if name == "spring.rest" else torch.stack(rows)), (
            name
        )


def test_the_gradient_of_a_batch_of_runs_by_everything() -> None:
    stars = rollout(SCENES / "plummer.toml", 3, observe=[1, 3], overrides=STARS)
    names = ("x", "v", "m", "gravity.G", "gravity.softening")
    given = [stars.start(n).requires_grad_() for n in names]
    given[0], given[3] = spread(given[0].detach(), 2), spread(given[3].detach(), 2)

    def of(*some: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(stars(dict(zip(names, some, strict=True)), batch=2).values())

    assert torch.autograd.gradcheck(of, tuple(given), fast_mode=True)
    (slope,) = torch.autograd.grad(of(*given)[0].sum(), given[0], create_graph=True)
    with pytest.raises(TensorError, match="no second ones"):
        slope.sum().backward()


def test_a_member_that_explodes_is_named() -> None:
    net = rollout(NET, 400)
    k = net.start("spring.stiffness")
    with pytest.raises(NonFiniteError, match=r"^member 1: the run: step \d+"):
        net({"spring.stiffness": torch.stack([k, 1e12 * k])}, batch=2)
    assert torch.isfinite(net()["x"]).all()


def test_equilibria_of_a_batch_are_those_of_its_rows() -> None:
    hanging = equilibrium(SCENES / "stiffness_from_shape.toml", overrides={"state.cells": [2, 2]})
    name = "neo_hookean.youngs_modulus"
    given = {name: spread(hanging.start(name), 3), "x": hanging.start("x").requires_grad_()}
    found = hanging(given, batch=3)["x"]
    slopes = torch.autograd.grad(found.square().sum(), [*given.values()])
    alone = []
    for k in range(3):
        one = own(given, {name}, k)
        x = hanging(one)["x"]
        assert torch.equal(x, found[k])
        alone.append(torch.autograd.grad(x.square().sum(), [*one.values()]))
    assert torch.equal(slopes[0], torch.stack([one[0] for one in alone]))
    assert torch.equal(slopes[1], in_order([one[1] for one in alone]))


def test_outputs_of_a_batch_are_those_of_its_rows() -> None:
    from tests.torch.test_outputs import potential

    f = outputs(potential(), ["z"])
    q = spread(f.start("q"), 3)
    found = f(q=q, batch=3)["z"]
    (slope,) = torch.autograd.grad(torch.sin(found).sum(), q)
    for k in range(3):
        one = q[k].detach().requires_grad_()
        z = f(q=one)["z"]
        assert torch.equal(z, found[k])
        assert torch.equal(torch.autograd.grad(torch.sin(z).sum(), one)[0], slope[k])


# Layers ---------------------------------------------------------------------------------------------------


def test_a_layer_learns_from_a_batch_what_its_members_share() -> None:
    layer = Layer(NET, ["spring.stiffness"], steps=4)
    v = torch.zeros(3, 23, 2, dtype=torch.float64)
    v[:, 7, 0] = torch.tensor([0.1, 0.2, 0.3])
    layer(v=v, batch=3)["x"].square().sum().backward()
    found, layer.spring.stiffness.grad = layer.spring.stiffness.grad, None
    rows = []
    for k in range(3):
        rows += torch.autograd.grad(layer(v=v[k])["x"].square().sum(), layer.spring.stiffness)
    assert torch.equal(found, in_order(rows))


def test_each_member_of_a_layer_learns_its_own() -> None:
    layer = Layer(NET, ["weight.acceleration"], each=["spring.stiffness"], batch=2, steps=4)
    assert {n: list(p.shape) for n, p in layer.named_parameters()} == {
        "weight.acceleration": [2],
        "spring.stiffness": [2, 50],
    }
    with torch.no_grad():
        layer.spring.stiffness[1] *= 1.5
    x = layer()["x"]
    single = Layer(NET, steps=4)
    for k in range(2):
        assert torch.equal(single({"spring.stiffness": layer.spring.stiffness[k].detach()})["x"], x[k])
    x[0].sum().backward()
    assert layer.spring.stiffness.grad[0].abs().max() > 0.0
    assert not layer.spring.stiffness.grad[1].any()
    for text, wrong in {
        "each: needs the number of members, got no batch; give batch=..., or learn=": {"each": ["x"]},
        "'x': is in `learn` and in `each`; leave it out of one of them": {
            "learn": ["x"],
            "each": ["x"],
            "batch": 2,
        },
        "batch: needs a whole number of at least 1, got 0": {"batch": 0},
        "each: needs a list of names, got 'x'; give [\"x\"]": {"each": "x", "batch": 2},
    }.items():
        with pytest.raises(TensorError) as refused:
            Layer(NET, **wrong)
        assert str(refused.value).startswith(text)
