"""Runs as functions of tensors, and scenes as layers of networks."""

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torch
from minusgrad import build, run
from minusgrad.errors import EnergyError, NonFiniteError, TensorError
from minusgrad.torch import Layer, energy, rollout
from tests.support.command import SCENES

NET = SCENES / "spring_stiffness.toml"
FEW = {"state.n": 5, "runtime.precision": "f64"}
"""Of the sphere of stars."""


def of_names(function: Any, names: tuple[str, ...]) -> tuple[Any, tuple[torch.Tensor, ...]]:
    """The function of tensors in this order, and these as they start."""

    def of(*values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(function(dict(zip(names, values, strict=True))).values())

    return of, tuple(function.start(name).requires_grad_() for name in names)


# Runs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("observe", [None, [0, 2, 5], [4]])
@pytest.mark.parametrize("stepper", ["leapfrog", "yoshida4"])
def test_the_gradient_of_a_run_by_everything(stepper: str, observe: list[int] | None) -> None:
    stars = rollout(SCENES / "plummer.toml", 5, observe=observe, overrides=FEW | {"stepper.kind": stepper})
    of, given = of_names(stars, ("x", "v", "m", "gravity.G", "gravity.softening"))
    assert torch.autograd.gradcheck(of, given)


def test_the_gradient_of_an_implicit_run() -> None:
    stars = rollout(SCENES / "plummer.toml", 3, observe=[3], overrides=FEW | {"stepper.kind": "bdf2"})
    of, given = of_names(stars, ("x", "v", "m", "gravity.softening"))
    assert torch.autograd.gradcheck(of, given)


def test_the_gradient_of_a_run_along_its_substeps() -> None:
    radau = {"stepper.kind": "gauss_radau", "stepper.dt": 0.5, "state.n": 3}
    stars = rollout(SCENES / "plummer.toml", 2, observe=[1, 2], overrides=FEW | radau)
    of, given = of_names(stars, ("x", "v", "m", "gravity.G"))
    assert torch.autograd.gradcheck(of, given)


def test_the_gradient_of_a_run_by_lengths_at_rest() -> None:
    """Data that are differentiable, one of each element."""
    of, given = of_names(rollout(NET, 4), ("spring.rest", "spring.stiffness"))
    assert given[0].shape == (50,)
    assert torch.autograd.gradcheck(of, given)


def test_a_run_begins_with_the_data_of_the_scene() -> None:
    net = rollout(NET, 10)
    before = net()["x"]
    assert not torch.equal(net({"spring.rest": 1.1 * net.start("spring.rest")})["x"], before)
    assert torch.equal(net()["x"], before)


def test_a_net_learns_the_lengths_at_rest_that_it_hangs_with() -> None:
    """Learn the rest lengths from node positions at some moments."""
    looks = [10, 20, 30, 40]
    truth = rollout(NET, observe=looks)
    rest = truth.start("spring.rest")
    longer = rest * (1.0 + 0.05 * torch.sin(torch.arange(50.0, dtype=rest.dtype)))
    seen = truth({"spring.rest": longer})["x"]
    layer = Layer(NET, ["spring.rest"], steps=40, observe=looks)
    optimiser = torch.optim.LBFGS(layer.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def missed() -> torch.Tensor:
        optimiser.zero_grad()
        loss = 1e6 * (layer()["x"] - seen).square().sum()
        loss.backward()
        return loss

    begin = optimiser.step(missed).item()
    assert missed().item() < 1e-6 * begin
    torch.testing.assert_close(layer.spring.rest.detach(), longer, rtol=2e-3, atol=0.0)


def test_what_is_held_and_rubbed_goes_back_too() -> None:
    beam = rollout(SCENES / "cantilever_damped.toml", 3)
    of, given = of_names(beam, ("x", "v", "m", "neo_hookean.youngs_modulus", "mass_damping.rate"))

    def loss(*some: torch.Tensor) -> torch.Tensor:
        return sum((state * state).sum() for state in of(*some))

    found = torch.autograd.grad(loss(*given), given)
    free = beam.start("x") > 1e-6 * beam.start("x").max()  # what is held stays
    generator = torch.Generator().manual_seed(0)
    for k, (one, slope) in enumerate(zip(given, found, strict=True)):
        size = one.detach().abs().max().clamp(min=1e-2)
        along = size * torch.randn(one.shape, dtype=one.dtype, generator=generator)
        along = along * free[:, :1] if one.shape == free.shape else along
        ends = []
        for h in (1e-7, -1e-7):
            moved = [g.detach() + h * along if j == k else g.detach() for j, g in enumerate(given)]
            ends.append(loss(*moved).item())
        assert ends[0] - ends[1] == pytest.approx(2e-7 * (slope * along).sum().item(), rel=1e-5)


def test_its_states_are_those_of_the_run_bit_for_bit(tmp_path: Path) -> None:
    done = run(NET, {"run.steps": 40}, tmp_path / "run")
    states = rollout(NET, observe=[0, 20, 40], overrides={"run.steps": 40})()
    np.testing.assert_array_equal(states["x"].numpy(), done.series("particles/all/position").value)
    last = rollout(NET, 40)()
    assert torch.equal(last["x"], states["x"][-1])
    assert last["v"].shape == states["v"].shape[1:]


def test_its_gradient_within_a_small_budget_is_the_same() -> None:
    """States are kept for some of the steps, and the others are computed again."""
    found = []
    for memory in (1 << 30, 12_000):
        net = rollout(NET, 60, memory=memory)
        k = net.start("spring.stiffness").requires_grad_()
        found += torch.autograd.grad(net({"spring.stiffness": k})["x"].square().sum(), k)
    assert torch.equal(*found)
    with pytest.raises(EnergyError, match="budget"):
        rollout(NET, 60, memory=100)


def test_two_runs_in_one_graph_and_backward_twice() -> None:
    net = rollout(NET, 10)
    k = net.start("spring.stiffness").requires_grad_()
    soft, stiff = (net({"spring.stiffness": c * k})["x"].sum() for c in (0.5, 2.0))
    alone = [torch.autograd.grad(one, k, retain_graph=True)[0] for one in (soft, stiff)]
    (together,) = torch.autograd.grad(soft + stiff, k, retain_graph=True)
    torch.testing.assert_close(together, sum(alone), rtol=1e-13, atol=0.0)
    assert torch.equal(together, *torch.autograd.grad(soft + stiff, k))


def test_the_start_is_copied_and_not_moved() -> None:
    net = rollout(NET, 10)
    x = net.start("x").requires_grad_()
    before = x.detach().clone()
    first = net(x=x)["x"]
    assert torch.equal(x, before)
    assert torch.equal(net(x=x)["x"], first)
    assert torch.equal(net()["x"], first)
    moved = 1.0 * x
    last = net(x=moved)["x"].sum()
    moved.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        last.backward()


def test_a_part_of_the_states_is_enough() -> None:
    """No slope of what the loss does not look at."""
    net = rollout(NET, 3)
    v = net.start("v").requires_grad_()
    (slope,) = torch.autograd.grad(net(v=v)["x"].sum(), v)
    free = torch.ones(len(v), dtype=torch.bool)
    free[[0, 4]] = False
    assert (slope[free].abs().max() > 0.0) & (slope[~free] == 0.0).all()


def test_two_runs_of_one_scene_do_not_meddle() -> None:
    scene = build(NET)
    one, other = rollout(scene, 10), rollout(scene, 5)
    before = other()["x"]
    one({"spring.stiffness": 3.0 * one.start("spring.stiffness")})
    scene.potential.set_parameter("spring.stiffness", 7.0)
    assert torch.equal(other()["x"], before)


@pytest.mark.parametrize("name", ["x", "v"])
def test_what_the_scene_holds_is_given_where_it_is_held(name: str) -> None:
    """Elsewhere it would be put back, and its derivative be a zero that nobody expects."""
    net = rollout(NET, 3)
    values = net.start(name)
    values[4, 1] += 0.5
    with pytest.raises(TensorError, match=f"'{name}': node 4 is held by the scene"):
        net({name: values})
    free = net.start(name)
    free[7, 1] = torch.nan
    with pytest.raises(NonFiniteError, match="the run: step"):
        net({name: free})


def test_checkpoints_of_torch_and_copies_work() -> None:
    """Saved tensors are looked at once; functions have no state that copies could part with."""
    net, u = rollout(NET, 3), energy(NET)
    for of in (lambda x: net(x=x)["v"].square().sum(), lambda x: u(x=x)):
        x = u.start("x").requires_grad_()
        (expected,) = torch.autograd.grad(of(x), x)
        kept = torch.utils.checkpoint.checkpoint(of, x, use_reentrant=False)
        assert torch.equal(*torch.autograd.grad(kept, x), expected)
    assert copy.deepcopy(net) is net
    twin = copy.deepcopy(build(NET).potential.fields["x"].array)
    twin.lend(np.zeros((23, 2)))
    twin.leave()
    assert twin.address == twin.own.ctypes.data


def test_what_is_learnt_may_be_made_of_something_else() -> None:
    """The cure for what must stay positive."""
    layer = Layer(NET, ["spring.stiffness"], steps=3)
    before = layer()["x"]
    torch.nn.utils.parametrize.register_parametrization(layer.spring, "stiffness", torch.nn.Softplus())
    layer()["x"].sum().backward()
    assert layer.spring.parametrizations.stiffness.original.grad.abs().max() > 0.0
    torch.testing.assert_close(layer()["x"], before)


def test_a_run_that_explodes_says_where() -> None:
    net = rollout(NET, 400)
    with pytest.raises(NonFiniteError, match=r"the run: step \d+"):
        net({"spring.stiffness": 1e12 * net.start("spring.stiffness")})
    assert torch.isfinite(net()["x"]).all()


REFUSED = {
    "observe: needs increasing steps, each once, got [2, 2]": lambda: rollout(NET, 3, observe=[2, 2]),
    "observe: needs increasing steps, each once, got [2, 1]": lambda: rollout(NET, 3, observe=[2, 1]),
    "no input named 'spring.stifness'; did you mean 'spring.stiffness'? (there are: x, v, m,"
    " spring.stiffness, spring.rest, weight.acceleration)": lambda: rollout(NET, 3)({"spring.stifness": 1.0}),
    "'spring.stiffness': needs shape [50], got [3]": lambda: rollout(NET, 3)(
        {"spring.stiffness": torch.ones(3, dtype=torch.float64)}
    ),
    "observe: steps must be whole numbers of at least 0, got 2.5": lambda: rollout(NET, 2.5),
    "observe: steps must be whole numbers of at least 0, got 1.5": lambda: rollout(NET, 3, observe=[1.5]),
    "learn: needs a list of names, got 'x'; give [\"x\"]": lambda: Layer(NET, "x"),
    "observe: needs `steps`; without them the layer is an energy": lambda: Layer(NET, observe=[1]),
    "no input named 'spring.k'; did you mean 'spring.rest'? (there are: ": lambda: Layer(NET, ["spring.k"]),
    "'x': is learnt by the layer; leave it out, here or of `learn`": lambda: Layer(NET, ["x"])(
        x=torch.zeros(1)
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises(TensorError) as message:
        REFUSED[text]()
    assert str(message.value).startswith(text)


def test_a_step_beyond_the_run_and_steppers_without_derivatives_are_refused() -> None:
    with pytest.raises(EnergyError, match="its steps must be within 0 to 3, got 9"):
        rollout(NET, 3, observe=[9])
    with pytest.raises(EnergyError) as refused:
        rollout(SCENES / "warm_crystal.toml", 3)
    assert str(refused.value) == "stepper 'langevin': a run in a heat bath has no derivative; use leapfrog"
    with pytest.raises(EnergyError) as refused:
        rollout(SCENES / "stretch.toml", 3)
    assert str(refused.value) == (
        "stepper 'lbfgs': searches for a minimum, so a run of it has no derivative; use a splitting scheme,"
        ' such as leapfrog, or [fit] of = "equilibrium"'
    )


def test_a_second_derivative_is_refused() -> None:
    net = rollout(NET, 3)
    x = net.start("x").requires_grad_()
    (slope,) = torch.autograd.grad(net(x=x)["x"].sum(), x, create_graph=True)
    with pytest.raises(TensorError, match="no second ones"):
        slope.sum().backward()


# Layers ---------------------------------------------------------------------------------------------


def test_a_layer_learns_what_it_is_told_to() -> None:
    """The weight that let the net fall as it fell, by an optimiser of PyTorch's."""
    true = rollout(NET, 60)
    aim = true()["x"]
    layer = Layer(NET, ["weight.acceleration"], steps=60)
    with torch.no_grad():
        layer.weight.acceleration.copy_(torch.tensor([3.0, 0.0]))
    optimiser = torch.optim.LBFGS(layer.parameters(), max_iter=50, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        missed = 1e6 * (layer()["x"] - aim).square().sum()
        missed.backward()
        return missed

    first = loss().item()
    optimiser.step(loss)
    assert loss().item() < 1e-12 * first
    torch.testing.assert_close(layer.weight.acceleration.detach(), true.start("weight.acceleration"))


def test_the_state_dict_has_the_names_of_the_scene() -> None:
    layer = Layer(NET, ["x", "spring.stiffness"])
    assert list(layer.state_dict()) == ["x", "spring.stiffness"]
    assert [name for name, _ in layer.named_parameters()] == ["x", "spring.stiffness"]
    assert "x [23, 2], spring.stiffness [50]" in repr(layer)
    other = Layer(NET, ["x", "spring.stiffness"])
    with torch.no_grad():
        layer.x.mul_(1.1)
        layer.spring.stiffness.mul_(1.5)
    assert other().item() != layer().item()
    other.load_state_dict(layer.state_dict())
    assert other().item() == layer().item()


def test_a_layer_is_the_energy_or_the_run_of_its_scene() -> None:
    assert Layer(NET)().item() == energy(NET)().item() == build(NET).potential.value()
    x = energy(NET).start("x")
    x[5:] *= 1.01
    states = Layer(NET, ["spring.stiffness"], steps=5, observe=[5])(x=x)
    assert torch.equal(states["x"][0], rollout(NET, 5)(x=x)["x"])


def test_layers_of_two_sizes_and_copies_live_together() -> None:
    small = Layer(SCENES / "plummer.toml", ["x"], overrides=FEW)
    large = Layer(SCENES / "plummer.toml", ["x"], overrides=FEW | {"state.n": 50})
    twin = copy.deepcopy(small)
    with torch.no_grad():
        twin.x.mul_(2.0)
    model = torch.nn.ModuleList([small, large, twin])
    sum(layer() for layer in model).backward()
    for layer in model:
        alone = torch.autograd.grad(layer(), layer.x)[0]
        assert torch.equal(layer.x.grad, alone)
    assert not torch.equal(small.x.grad, twin.x.grad)


def test_a_layer_is_saved_by_its_state_and_says_so() -> None:
    with pytest.raises(TensorError, match=re.escape("save the layer's state_dict()")):
        pickle.dumps(Layer(NET))


def test_a_layer_of_another_precision_is_told_at_its_call() -> None:
    layer = Layer(NET, ["x"]).float()
    with pytest.raises(TensorError, match=r"'x': needs the scene's precision f64, got torch\.float32"):
        layer()


def test_a_name_that_modules_have_is_refused() -> None:
    with pytest.raises(TensorError, match=r"is an attribute of torch\.nn\.Module; rename it"):
        Layer(NET, ["forward.stiffness"], overrides=['energy.0.name="forward"'])
