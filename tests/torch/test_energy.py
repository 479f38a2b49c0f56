"""Potentials as functions of tensors: every derivative, shared memory, and refusals."""

import gc
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minusgrad.torch
import torch
from minusgrad import Fields, Node, Parameter, Potential, Time, bind, build, local_energy, ti
from minusgrad.energies.pairs.far import Far
from minusgrad.engine import runtime, storage
from minusgrad.engine.kernels import BoundKernel
from minusgrad.errors import EnergyError, SceneError, TensorError, pip_line
from minusgrad.plugin import Cutoff
from minusgrad.scene.document import load
from minusgrad.torch import energy
from minusgrad.torch import tensors as guests
from minusgrad_molecular.lennard_jones import lennard_jones
from tests.support import networks
from tests.support.clumping import clumping
from tests.support.command import SCENES, own_files
from tests.support.engine import resident, restarted
from tests.support.far_energies import attraction
from tests.support.instances import CANONICAL, MAPS, of_each_class
from tests.support.short_scenes import CONSTRAINED, shortened
from tests.support.tiers import sampled

INSTANCES = CANONICAL | MAPS
FEW = ("gravity", "neo_hookean", "trap", "kinds", "flags", "electron_density", "splines")
"""Pairs, tuples, nodes, integers, flags; a map to nodes and one to a grid."""
CLASSES = of_each_class(INSTANCES, FEW)
"""Functions of tensors see terms, elements and roles; what u is, `codegen` asks of every energy."""


@local_energy(
    "well", over="nodes", x=Node("m", ("d",)), m=Node("kg"), k=Parameter("s^-2", default=2.0), t=Time()
)
def well(x, m, k, t):
    """A quartic well that opens with time."""
    r = x[0].norm_sqr()
    return 0.5 * m[0] * k * r * (1.0 + t * r)


def a_potential(n: int = 5, precision: str = "f64") -> Potential:
    rng = np.random.default_rng(n)
    values = {"x": rng.normal(size=(n, 2)), "m": rng.uniform(1.0, 2.0, n)}
    fields = Fields(values, {"x": "m", "m": "kg"}, precision=precision)
    return Potential(fields, [bind(well, fields)])


def test_far_pairs_with_kept_trees_are_refused() -> None:
    """A second derivative might meet another tree than the first."""
    fields = Fields({"x": np.random.default_rng(0).normal(size=(40, 2)), "m": np.ones(40)})
    of = {"parameters": {"G": 1.0, "softening": 0.1}, "far": Far(opening_angle=0.5, skin=0.1)}
    message = r"attraction\.far\.skin: functions of tensors need the tree of each call's positions"
    with pytest.raises(EnergyError, match=message):
        energy(Potential(fields, [bind(attraction, fields, **of)]))


def tensors(function: Any, names: list[str] | None = None) -> dict[str, torch.Tensor]:
    """All that it takes, as it starts, each to be differentiated by."""
    return {name: function.start(name).requires_grad_() for name in names or function.guests}


# Derivatives ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sampled(CLASSES, FEW))
def test_first_and_second_derivatives_of_energies_and_maps(name: str) -> None:
    """In all that it takes at once: fields, parameters, differentiable data, the time.

    Every entry of one energy of each kind; of all others along random directions, since all entries of an
    energy of cells take minutes.
    """
    instance = INSTANCES[name]
    u = energy(instance.potential(np.random.default_rng(1), instance.dimensions[-1]))
    given = tensors(u)

    def of(*values: torch.Tensor) -> torch.Tensor:
        return u(dict(zip(given, values, strict=True)))

    fast = name in MAPS or name not in FEW
    assert torch.autograd.gradcheck(of, tuple(given.values()), fast_mode=fast)
    assert torch.autograd.gradgradcheck(of, tuple(given.values()), fast_mode=fast)


@pytest.mark.parametrize("name", sampled(CLASSES, [n for n in FEW if n not in ("gravity", "splines")]))
def test_each_input_alone_has_the_derivatives_that_it_has_among_all(name: str) -> None:
    """With its own `requires_grad` and without the others', and the other way round."""
    instance = INSTANCES[name]
    u = energy(instance.potential(np.random.default_rng(2), instance.dimensions[-1]))
    first, _ = both(u, list(u.guests))
    for one in u.guests:
        for some in ([one], [n for n in u.guests if n != one]):
            if some:
                slopes, changes = both(u, some)
                assert slopes.keys() == set(some)
                for n in some:
                    torch.testing.assert_close(slopes[n], first[n], rtol=1e-12, atol=1e-12)
                if len(some) == 1:
                    torch.testing.assert_close(changes[some[0]], block(u, some[0]), rtol=1e-12, atol=1e-12)


def both(u: Any, some: list[str]) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The gradient by some of the inputs, and how it changes along a direction of ones in these."""
    given = {n: u.start(n).requires_grad_(n in some) for n in u.guests}
    wanted = [given[n] for n in some]
    slopes = torch.autograd.grad(u(given), wanted, create_graph=True)
    along = sum(slope.sum() for slope in slopes)
    changes = torch.autograd.grad(along, wanted, allow_unused=True, materialize_grads=True)
    assert all(tensor.grad is None for tensor in given.values())
    return dict(zip(some, (s.detach() for s in slopes), strict=True)), dict(zip(some, changes, strict=True))


def block(u: Any, name: str) -> torch.Tensor:
    """The same change of one input's own gradient, from the potential, without PyTorch."""
    potential = u._potential
    tangent = np.ones(u.guests[name].shape) if u.guests[name].shape else 1.0
    return torch.as_tensor(potential.product({name: tangent}, name)).to(u.guests[name].dtype)


def test_a_part_of_what_is_asked_costs_no_other_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    u = energy(a_potential())
    asked = []
    swept = u._potential._sweep_without_box
    monkeypatch.setattr(
        u._potential, "_sweep_without_box", lambda wanted, *more: asked.append(wanted) or swept(wanted, *more)
    )
    x, m = u.start("x").requires_grad_(), u.start("m")
    u(x=x, m=m).backward()
    assert [(set(one.gradient), one.slopes) for one in asked] == [({"x"}, ())]
    with torch.no_grad():
        u(x=x)
    u(x=x.detach(), m=m)
    assert len(asked) == 1


OF_ENERGIES = sorted(path.stem for path in SCENES.glob("*.toml") if load(path).data.get("energy"))


OF_EACH_KIND = ("crossed_fields", "laser_image", "liquid", "two_body", "volume_renderer", "walker")
"""Pairs, tuples, a map to a grid, rays, slopes, terms that depend on time; two in single precision."""
AT_REST = ("elastica", "inflated_tube", "twisted_bar")
"""Solids that begin without load, where all numbers are rounding."""


@pytest.mark.parametrize("scene", sampled(sorted({*OF_ENERGIES[::3], *OF_EACH_KIND, *AT_REST}), OF_EACH_KIND))
def test_scenes_have_the_gradient_of_their_potential(scene: str) -> None:
    short = CONSTRAINED.get(scene) or shortened(scene)
    simulation = build(SCENES / f"{scene}.toml", short, plugins=own_files(scene))
    if scene in AT_REST:
        simulation.fields["x"].set(1.01 * simulation.fields["x"].values)
    u, potential = energy(simulation), simulation.potential
    given = tensors(u, [n for n in u.guests if n in potential.reads])
    value = u(given)
    rounding = 1e4 * float(np.finfo(potential.fields.dtype).eps)  # its kernel has other sums beside it
    assert abs(value.item() - potential.value()) <= rounding * potential.magnitude()
    value.backward()
    for name, tensor in given.items():
        expected = potential.gradient(name)
        np.testing.assert_allclose(
            tensor.grad.numpy(), expected, rtol=0.0, atol=rounding * np.abs(expected).max()
        )


def test_staged_kernels_have_first_derivatives_and_say_so() -> None:
    term = clumping()
    fields = term.fields["x"]
    potential = Potential(Fields({"x": fields.values}), [])
    potential = Potential(potential.fields, [term.twin(potential.fields)])
    u = energy(potential)
    x = u.start("x").requires_grad_()
    assert torch.autograd.gradcheck(lambda x: u(x=x), (x,))
    np.testing.assert_array_equal(
        *(a.numpy() for a in torch.autograd.grad(u(x=x), x)), potential.gradient("x")
    )
    (slope,) = torch.autograd.grad(u(x=x), x, create_graph=True)
    with pytest.raises(EnergyError, match="a staged energy has first derivatives only"):
        slope.sum().backward()


def test_a_third_derivative_is_refused() -> None:
    u = energy(a_potential())
    x = u.start("x").requires_grad_()
    (slope,) = torch.autograd.grad(u(x=x), x, create_graph=True)
    (change,) = torch.autograd.grad(slope.square().sum(), x, create_graph=True)
    with pytest.raises(TensorError, match="no third ones"):
        change.sum().backward()


def test_single_precision() -> None:
    double, single = energy(a_potential()), energy(a_potential(precision="f32"))
    for u in (double, single):
        given = tensors(u)
        u(given).backward()
        grads = {n: t.grad for n, t in given.items()}
        assert {g.dtype for g in grads.values()} == {given["x"].dtype}
        if u is double:
            expected = grads
    for name, found in grads.items():
        torch.testing.assert_close(found.double(), expected[name], rtol=1e-5, atol=1e-5)


# A function, and no more ----------------------------------------------------------------------------


def test_what_is_not_given_is_as_it_was_when_the_function_was_made() -> None:
    potential = a_potential()
    u, before = energy(potential), potential.value()
    x = 2.0 * u.start("x")
    k = torch.tensor(5.0, dtype=torch.float64)
    twice, stiff = u(x=x).item(), u({"well.k": k}).item()
    assert stiff == pytest.approx(2.5 * before, rel=1e-14)
    assert twice != before
    assert u().item() == before
    potential.fields["x"].set(0.0 * potential.fields["x"].values)
    potential.set_parameter("well.k", 7.0)
    assert u().item() == before
    assert (potential.value(), float(potential.parameter("well.k"))) == (0.0, 7.0)
    assert u(x=x).item() == twice


def test_layers_are_those_of_torch() -> None:
    """A perceptron of maps, with weights as matrices, and the same in torch."""
    potential, at = networks.perceptron()
    u = energy(potential)
    given = tensors(u, list(networks.PLACES.values()))
    w1, b1, w2, b2, s = given.values()
    h = torch.tanh(w1 @ s + b1)
    left = torch.tanh(w2 @ h + b2) - torch.tensor(at["goal"])
    found, expected = u(given), 0.5 * left @ left
    assert found.item() == pytest.approx(expected.item(), rel=1e-14)
    ours, theirs = (torch.autograd.grad(one, [*given.values()]) for one in (found, expected))
    for name, one, other in zip(given, ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0.0, atol=1e-14, msg=name)


def test_plain_numbers_stand_for_scalars() -> None:
    u = energy(a_potential())
    k = torch.tensor(3.0, dtype=torch.float64)
    assert (
        u({"well.k": 3.0}, t=1).item() == u({"well.k": k, "t": torch.tensor(1.0, dtype=torch.float64)}).item()
    )


def test_two_inputs_may_share_memory() -> None:
    """Nothing is written into what is given, so that it is no mistake."""

    @local_energy("gap", over="nodes", a=Node(), b=Node())
    def gap(a, b):
        return a[0] * a[0] * b[0]

    fields = Fields({"a": np.arange(1.0, 4.0), "b": np.arange(1.0, 4.0)})
    u = energy(Potential(fields, [bind(gap, fields)]))
    a = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    u(a=a, b=a).backward()
    torch.testing.assert_close(a.grad, 3.0 * a.detach() ** 2, rtol=1e-14, atol=0.0)


def test_on_a_gpu_kernels_wait_for_torch_and_torch_for_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's current stream ends before a launch, and the engine's work before PyTorch goes on."""
    seen: list[str] = []
    stream = SimpleNamespace(synchronize=lambda: seen.append("torch"))
    launch = BoundKernel.__call__
    fields = Fields({"x": [[1.0], [-2.0], [0.5]], "m": [1.0, 2.0, 3.0]})
    u = energy(Potential(fields, [bind(well, fields)]))
    x = torch.tensor([[1.0], [-2.0], [0.5]], dtype=torch.float64, requires_grad=True)
    u(x=x).backward()  # compiles
    monkeypatch.setattr(
        guests, "runtime", SimpleNamespace(arch=lambda: "cuda", sync=lambda: seen.append("engine"))
    )
    monkeypatch.setattr(guests, "device", lambda: "cpu")
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: stream)
    monkeypatch.setattr(
        BoundKernel, "__call__", lambda self, *s: (seen.append("kernel"), launch(self, *s))[1]
    )
    paper, x.grad = x.grad, None
    value = u(x=x)
    forward = [*seen]
    value.backward()
    torch.testing.assert_close(x.grad, paper, rtol=0.0, atol=0.0)
    for some in (forward, seen):
        assert re.fullmatch(r"(torch( kernel)* engine ?)+", " ".join(some)), some
    assert "kernel" in forward


def test_two_calls_in_one_graph_keep_apart() -> None:
    """Taichi's issue 8534: the second call overwrote what the first had left for its way back."""
    u = energy(a_potential())
    x = u.start("x").requires_grad_()
    (alone,) = torch.autograd.grad(u(x=x) ** 2, x)
    (shifted,) = torch.autograd.grad(3.0 * u(x=2.0 * x), x)
    (both,) = torch.autograd.grad(u(x=x) ** 2 + 3.0 * u(x=2.0 * x), x)
    torch.testing.assert_close(both, alone + shifted, rtol=1e-14, atol=0.0)


def test_backward_twice_does_not_double() -> None:
    """Taichi's issue 8101: adjoints that nobody cleared."""
    u = energy(a_potential())
    x = u.start("x").requires_grad_()
    value = u(x=x)
    (first,) = torch.autograd.grad(value, x, retain_graph=True)
    (second,) = torch.autograd.grad(value, x, retain_graph=True)
    assert torch.equal(first, second)
    value.backward()
    value_again = u(x=x)
    value_again.backward()
    assert torch.equal(x.grad, 2.0 * first)  # PyTorch adds up, and the engine does not


def test_second_derivatives_twice_and_along_any_tensor() -> None:
    """Cotangents come as PyTorch has them: expanded from one number, or turned."""
    u = energy(a_potential(2))
    x = u.start("x").requires_grad_()
    value = u(x=x)
    for _ in range(2):
        (slope,) = torch.autograd.grad(value, x, create_graph=True)
        for along in (
            torch.ones((), dtype=x.dtype).expand(2, 2),
            torch.arange(4.0, dtype=x.dtype).view(2, 2).T,
        ):
            (change,) = torch.autograd.grad(slope, x, along, retain_graph=True)
            expected = u._potential.product({"x": along.numpy()}, "x")
            np.testing.assert_allclose(change.numpy(), expected, rtol=1e-14)


def test_two_sizes_are_alive_at_once() -> None:
    small, large = (energy(a_potential(n)) for n in (3, 40))
    a, b = small.start("x").requires_grad_(), large.start("x").requires_grad_()
    total = small(x=a) * large(x=b)
    found = torch.autograd.grad(total, (a, b))
    (of_a,), (of_b,) = torch.autograd.grad(small(x=a), a), torch.autograd.grad(large(x=b), b)
    torch.testing.assert_close(found[0], of_a * large(x=b).item(), rtol=1e-14, atol=0.0)
    torch.testing.assert_close(found[1], of_b * small(x=a).item(), rtol=1e-14, atol=0.0)


def test_a_state_that_was_overwritten_is_refused_as_torch_does() -> None:
    u = energy(a_potential())
    x = u.start("x").requires_grad_()
    moved = 1.0 * x
    value = u(x=moved)
    moved.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


def test_another_call_between_forward_and_backward_changes_nothing() -> None:
    u = energy(a_potential())
    x, k = u.start("x").requires_grad_(), torch.tensor(2.5, dtype=torch.float64, requires_grad=True)
    names = {"x": x, "well.k": k}
    wanted = torch.autograd.grad(u(names), (x, k), create_graph=True)
    u({"x": -3.0 * x.detach(), "well.k": 9.0})
    changed = torch.autograd.grad(sum(w.sum() for w in wanted), (x, k))
    quiet = torch.autograd.grad(u(names), (x, k), create_graph=True)
    for one, other in zip(changed, torch.autograd.grad(sum(w.sum() for w in quiet), (x, k)), strict=True):
        assert torch.equal(one, other)


def test_an_engine_that_began_anew_changes_nothing() -> None:
    u = energy(a_potential())
    x = u.start("x").requires_grad_()
    (before,) = torch.autograd.grad(u(x=x), x)
    value = u(x=x)
    restarted()
    assert torch.equal(*torch.autograd.grad(value, x), before)
    assert torch.equal(*torch.autograd.grad(u(x=x), x), before)


def test_threads_wait_for_each_other() -> None:
    u = energy(a_potential(300))
    x = u.start("x")
    expected = [u(x=k * x).item() for k in range(4)]
    wrong = []

    def ask(k: int) -> None:
        wrong.extend(k for _ in range(50) if u(x=k * x).item() != expected[k])

    several = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    assert wrong == []


# Memory ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(
    runtime.engine_name() != "taichi", reason="each engine shows arrays through its own class"
)
def test_kernels_read_and_write_the_memory_of_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """By pointer: the array of the state, that of the gradient, and nobody's copy."""
    context = ti._lib.core.KernelLaunchContext
    show, shown = context.set_arg_external_array_with_shape, []

    def showing(self: Any, place: Any, address: int, *more: Any) -> None:
        shown.append(address)
        show(self, place, address, *more)

    monkeypatch.setattr(context, "set_arg_external_array_with_shape", showing)
    made, guests = [], minusgrad.torch.tensors
    for name in ("empty_tensor", "new_in"):
        make = getattr(guests, name)
        monkeypatch.setattr(guests, name, lambda *a, make=make: made.append(make(*a)) or made[-1])
    u = energy(a_potential())
    several = [u.start("x").requires_grad_() for _ in range(3)]
    for x in several:  # all alive, so that no two have one place
        shown.clear()
        (slope,) = torch.autograd.grad(u(x=x), x, create_graph=True)
        assert {x.data_ptr(), made[-1].data_ptr()} <= set(shown)
        shown.clear()
        torch.autograd.grad(slope.sum(), x)
        assert {x.data_ptr(), made[-1].data_ptr()} <= set(shown)
    own = u._seats["x"]
    assert own.at is own.own


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_a_tensor_that_is_changed_in_place_is_read_again(precision: str) -> None:
    """Kernels are kept from call to call, and no numbers of a call before."""
    u, x = energy(a_potential(precision=precision)), energy(a_potential(precision=precision)).start("x")
    slopes = []
    for shift in (0.0, 0.5, 0.25):
        x += shift
        given, fresh = x.detach().requires_grad_(), x.clone().requires_grad_()
        value, new = u(x=given), energy(a_potential(precision=precision))(x=fresh)
        assert value.item() == new.item()
        assert (value.dtype, value.shape) == (x.dtype, ())
        value.backward()
        new.backward()
        assert torch.equal(given.grad, fresh.grad)
        slopes.append(given.grad)
    given.data = torch.zeros_like(x)  # other memory
    other = torch.zeros_like(x).requires_grad_()
    assert u(x=given).item() == energy(a_potential(precision=precision))(x=other).item()
    assert not torch.equal(slopes[0], slopes[1]), "gradients of a call are not those of the call before"


def test_gradients_of_calls_share_no_memory() -> None:
    u = energy(a_potential())
    x = u.start("x").requires_grad_()
    first, second = u(x=x), u(x=x)
    (one,) = torch.autograd.grad(first, x, retain_graph=True)
    kept = one.clone()
    one.zero_()
    (again,) = torch.autograd.grad(first, x)
    (other,) = torch.autograd.grad(second, x)
    assert torch.equal(again, kept)
    assert torch.equal(other, kept)


def test_tensors_of_numpy_memory_are_read_where_they_lie() -> None:
    u, values = energy(a_potential()), np.ones((5, 2))
    x = torch.from_numpy(values)
    before = u(x=x).item()
    values *= 2.0
    assert u(x=x).item() == pytest.approx(4.0 * before, rel=1e-14)


def test_as_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields in the engine's own memory, and kernels that are given the tensors themselves."""
    expected = both(energy(a_potential()), ["x", "m", "well.k"])

    def on_device(values: np.ndarray) -> Any:
        array = ti.ndarray(getattr(ti, storage.ENGINE_DTYPES[values.dtype.name]), values.shape)
        array.from_numpy(np.ascontiguousarray(values))
        return array

    monkeypatch.setattr(storage, "allocate", on_device)
    monkeypatch.setattr(
        storage, "vacant", lambda shape, dtype: storage.ArraySlot(on_device(np.zeros(shape, dtype)))
    )
    found = both(energy(a_potential()), ["x", "m", "well.k"])
    for one, other in zip(found, expected, strict=True):
        for name, value in one.items():
            assert torch.equal(value, other[name]), name


@pytest.mark.parametrize("where", ["cuda:1", "cpu"])
def test_the_engine_takes_the_first_gpu(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests.runtime, "arch", lambda: "cuda")
    message = f"'x': needs device cuda:0, the engine's, got {where}; use .to(\"cuda:0\")"
    with pytest.raises(TensorError, match=re.escape(message)):
        guests.refuse_elsewhere("x", SimpleNamespace(device=torch.device(where)))
    guests.refuse_elsewhere("x", SimpleNamespace(device=torch.device("cuda:0")))


@pytest.mark.exam
def test_ten_thousand_calls_leave_nothing_behind() -> None:
    u = energy(a_potential(1000))
    k = torch.tensor(2.5, dtype=torch.float64, requires_grad=True)

    def call(times: int) -> None:
        for number in range(times):
            x = (u.start("x") + 0.001 * number).requires_grad_()
            given = {"x": x, "well.k": k}
            value = u(given)
            if number % 10:
                value.backward()
            else:
                torch.autograd.grad(value, x, create_graph=True)[0].sum().backward()
        k.grad = None
        gc.collect()

    call(500)
    before = resident()
    call(10_000)
    assert resident() < 1.02 * before


# Arguments that have no effect -------------------------------------------------------------------------

X = torch.ones((5, 2), dtype=torch.float64)
MISTAKES: dict[str, Callable[[Any], Any]] = {
    "'x': needs the scene's precision f64, got torch.float32; use .double(), or set [runtime] precision":
        lambda u: u(x=X.float()),
    "'x': needs a dense tensor, got torch.sparse_coo; use .to_dense()":
        lambda u: u(x=X.to_sparse()),
    "'well.k': needs finite values; check how it was computed":
        lambda u: u({"well.k": float("nan")}),
    "'x': needs shape [5, 2], got [4, 2]":
        lambda u: u(x=X[:4]),
    "'x': needs a contiguous tensor, got strides [1, 5]; use .contiguous()":
        lambda u: u(x=torch.ones((2, 5), dtype=torch.float64).T),
    "'m': needs a contiguous tensor, got strides [0]; use .contiguous()":
        lambda u: u(m=torch.ones(1, dtype=torch.float64).expand(5)),
    "'x': needs device cpu, the engine's, got meta; use .to(\"cpu\"), or set [runtime] arch":
        lambda u: u(x=X.to("meta")),
    "'x': needs a tensor, got ndarray; use torch.as_tensor(...)":
        lambda u: u(x=X.numpy()),
    "'x': needs a tensor, got float; use torch.as_tensor(...)":
        lambda u: u(x=1.0),
    "no input named 'y' (there are: x, m, well.k, t)":
        lambda u: u(y=X),
    "no input named 'well.kk'; did you mean 'well.k'? (there are: x, m, well.k, t)":
        lambda u: u({"well.kk": 1.0}),
    "'x': is given twice; give it once":
        lambda u: u({"x": X}, x=X),
    'tensors: give them by name, f(x=x) or f({"spring.k": k}), got Tensor':
        lambda u: u(X),
    "no input named 'z' (there are: x, m, well.k, t)":
        lambda u: u.start("z"),
    "torch.func (vmap, grad, jacrev): cannot transform this function; give a batch as tensors with one"
    " dimension more and batch=B, or loop over it, and differentiate with backward() or torch.autograd.grad":
        lambda u: torch.vmap(lambda x: u(x=x))(torch.stack([X, X])),
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_told_in_one_sentence_and_nothing_is_lost(text: str) -> None:
    u = energy(a_potential())
    before = u().item()
    with pytest.raises(TensorError) as message:
        MISTAKES[text](u)
    assert str(message.value) == text
    assert u().item() == before


def test_jacobians_by_torch_func_are_refused_too() -> None:
    u = energy(a_potential())
    with torch.no_grad(), pytest.raises(TensorError, match=re.escape("torch.func (vmap, grad, jacrev)")):
        torch.vmap(lambda x: u(x=x))(torch.stack([X, X]))
    with pytest.raises(TensorError, match=re.escape("torch.func (vmap, grad, jacrev)")):
        torch.func.grad(lambda x: u(x=x))(X)


def test_after_a_call_that_failed_midway_nobody_sits_in_its_place() -> None:
    """What stands for many tensors has no memory of its own, and is found out after others are seated."""
    u = energy(a_potential())
    before, x = u().item(), 2.0 * u.start("x")
    with pytest.raises(TensorError, match="cannot transform this function"):
        torch.autograd.functional.hessian(lambda x: u(x=x), x, vectorize=True)
    assert u().item() == before
    with torch.no_grad(), pytest.raises(TensorError, match="cannot transform this function"):
        torch.vmap(lambda x: u(m=3.0 * u.start("m"), x=x))(torch.stack([x, x]))
    assert u().item() == before
    assert u(x=torch._neg_view(x)).item() == u(x=-x).item()
    assert u().item() == before


def test_a_seat_is_left_when_the_next_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    u = energy(a_potential())
    before, seat, calls = u().item(), minusgrad.torch.tensors.seat, []

    def failing(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        seat(*arguments)

    monkeypatch.setattr(minusgrad.torch.tensors, "seat", failing)
    with pytest.raises(KeyboardInterrupt):
        u(x=3.0 * u.start("x"), m=u.start("m"))
    monkeypatch.undo()
    assert u().item() == before


def test_a_parameter_out_of_its_bounds_is_refused_with_the_cure() -> None:
    u = energy(SCENES / "two_body.toml")
    text = "'gravity.softening': must be within [0, inf], got -1; restrict it, for example"
    with pytest.raises(TensorError, match=re.escape(text)):
        u({"gravity.softening": -1.0})
    assert np.isfinite(u().item())


def test_a_scene_with_mistakes_is_told_with_all_of_them() -> None:
    with pytest.raises(SceneError, match="did you mean"):
        energy(SCENES / "two_body.toml", {"stepper.dtt": 1.0})


def test_compiled_by_torch_it_is_left_to_python(recwarn: pytest.WarningsRecorder) -> None:
    u = energy(a_potential())
    x = u.start("x").requires_grad_()
    (expected,) = torch.autograd.grad(3.0 * u(x=2.0 * x), x)
    compiled = torch.compile(lambda x: 3.0 * u(x=2.0 * x), backend="eager")
    (found,) = torch.autograd.grad(compiled(x), x)
    assert torch.equal(found, expected)
    assert not [w for w in recwarn if "minusgrad" in str(w.message)]
    whole = torch.compile(lambda x: 3.0 * u(x=2.0 * x), backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="minusgrad's kernels are compiled already"):
        whole(x)


def test_without_pytorch_the_extra_is_named() -> None:
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from minusgrad.errors import UserError\n"
        "try:\n    import minusgrad.torch\nexcept ImportError as e:\n"
        "    print(e, e.name, isinstance(e, UserError), isinstance(e, ModuleNotFoundError))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"PyTorch is not installed; {pip_line('torch')} torch True True\n"


def test_energies_of_listed_pairs_by_positions_and_box() -> None:
    """Lists follow the tensors, also second derivatives: gradients of a norm of the gradient."""
    box = torch.tensor([[[6.4, 0.0], [1.2, 6.4]]], dtype=torch.float64, requires_grad=True)
    s = np.stack(np.meshgrid(*[np.arange(4) / 4] * 2, indexing="ij"), -1).reshape(-1, 2)
    x = torch.tensor(s @ box[0].detach().numpy(), requires_grad=True)
    fields = Fields({"x": x.detach().numpy(), "box": box.detach().numpy()}, {"x": "m", "box": "m"})
    atoms = bind(lennard_jones, fields, parameters={"epsilon": 1.0, "sigma": 1.0}, cutoff=Cutoff(2.5))
    potential = Potential(fields, [atoms])
    of = energy(potential)

    def u(x: torch.Tensor, box: torch.Tensor) -> torch.Tensor:
        return of(x=x, box=box)

    moved = (x + 0.3 * torch.randn(x.shape, generator=torch.Generator().manual_seed(1))).detach()
    for place in (x, moved.requires_grad_()):
        assert torch.autograd.gradcheck(u, (place, box), eps=1e-6, atol=1e-4)
        slopes = torch.autograd.grad(u(place, box), (place, box), create_graph=True)
        bent = torch.autograd.grad(sum((one**2).sum() for one in slopes), (place, box))
        along = {n: 2.0 * one.detach().numpy() for n, one in zip(("x", "box"), slopes, strict=True)}
        potential.fields["x"].set(place.detach().numpy())
        for wrt, found in zip(("x", "box"), bent, strict=True):
            wanted = potential.product(along, wrt)
            assert found.numpy() == pytest.approx(wanted, rel=1e-12, abs=1e-12 * np.abs(wanted).max())
