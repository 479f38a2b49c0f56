"""Outputs of maps as functions of tensors: against derivatives by PyTorch, in graphs, and what is refused."""

import numpy as np
import pytest

import torch
from minusgrad import Fields, Grid, Node, Output, Parameter, Potential, Spacing, bind, local_map, ti
from minusgrad.errors import TensorError
from minusgrad.torch import outputs

SHAPE = (4, 5)


@local_map(
    "bent",
    over="cells",
    edges="periodic",
    gives={"wave": Output(), "slope": Output(shape=(2,))},
    q=Node(),
    k=Parameter(),
    s=Spacing(),
)
def bent(q, k, s):
    """Not linear in field and parameter."""
    d = ti.Vector([q[0, 1] - q[0, -1], q[1, 0] - q[-1, 0]]) / s
    return ti.sin(k * q[0, 0]) + q[1, 0] * q[0, 1], k * d * q[0, 0]


@local_map("sum", gives="z", over="nodes", wave=Node())
def added(wave):
    """Of a map's output."""
    return wave[0] * wave[0]


def in_torch(q: torch.Tensor, k: torch.Tensor) -> dict[str, torch.Tensor]:
    at = q.reshape(SHAPE)
    east, west, north, south = (at.roll(s, a) for s, a in ((-1, 1), (1, 1), (-1, 0), (1, 0)))
    wave = torch.sin(k * at) + north * east
    slope = torch.stack([east - west, north - south], dim=-1) / 0.5 * (k * at)[..., None]
    return {"wave": wave.reshape(-1), "slope": slope.reshape(-1, 2), "z": (wave * wave).reshape(-1)}


def potential(precision: str = "f64") -> Potential:
    of = Fields({"q": np.random.default_rng(0).normal(size=20)}, precision=precision)
    maps = [bind(bent, of, parameters={"k": 1.3}, grid=Grid(SHAPE, 0.5))]
    return Potential(of, [], [*maps, bind(added, of)])


def test_values_and_gradients_are_those_of_torch() -> None:
    f = outputs(potential())
    assert f.names == ("wave", "slope", "z")
    q, k = f.start("q").requires_grad_(), f.start("bent.k").requires_grad_()
    found, expected = f({"q": q, "bent.k": k}), in_torch(q, k)
    for some in (("wave",), ("slope", "z"), ("wave", "slope", "z")):
        rng = np.random.default_rng(len(some))
        weights = {n: torch.tensor(rng.normal(size=found[n].shape)) for n in some}
        pair = [sum((y[n] * w).sum() for n, w in weights.items()) for y in (found, expected)]
        gradients = [torch.autograd.grad(loss, [q, k], retain_graph=True) for loss in pair]
        for mine, theirs in zip(*gradients, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-12)
    for name, y in found.items():
        torch.testing.assert_close(y, expected[name], rtol=1e-13, atol=1e-13)


def test_calls_of_one_graph_are_independent() -> None:
    """The second input is the first output; the potential itself stays as it is."""
    u = potential()
    u.refresh()
    before = u.fields["z"].values.copy()
    f = outputs(u, ["z"])
    q = f.start("q").requires_grad_()
    torch.sin(f(q=f(q=q)["z"])["z"]).sum().backward()
    other = q.detach().clone().requires_grad_()
    k = torch.tensor(1.3, dtype=torch.float64)
    torch.sin(in_torch(in_torch(other, k)["z"], k)["z"]).sum().backward()
    torch.testing.assert_close(q.grad, other.grad, rtol=1e-10, atol=1e-10)
    assert u.fields["z"].values.tolist() == before.tolist()


def test_without_a_gradient_nothing_is_kept() -> None:
    f = outputs(potential("f32"), ["slope"])
    found = f(q=f.start("q"))["slope"]
    assert (found.dtype, found.shape, found.requires_grad) == (torch.float32, (20, 2), False)


def test_what_is_refused() -> None:
    with pytest.raises(TensorError, match=r"^no output named 'waves'; did you mean 'wave'\?"):
        outputs(potential(), ["waves"])
    of = Fields({"q": np.zeros(3)})
    with pytest.raises(TensorError, match=r"^outputs: there is no map, got energies alone; use minusgrad"):
        outputs(Potential(of, []))
    f = outputs(potential())
    with pytest.raises(TensorError, match="no input named 'p'"):
        f(p=f.start("q"))
    q = f.start("q").requires_grad_()
    (first,) = torch.autograd.grad(f(q=q)["z"].sum(), q, create_graph=True)
    with pytest.raises(TensorError, match="outputs of maps have first derivatives here, and no second ones"):
        first.sum().backward()
