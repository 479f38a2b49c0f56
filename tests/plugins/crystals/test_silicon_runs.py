"""Runs of warm silicon (Stillinger and Weber): their gradients, fits, layers and checks, on lists of triples.

All lists change on the way. References are difference quotients, second derivatives of the potential, and the
parameters that made the data of a fit.
"""

from pathlib import Path

import numpy as np
import pytest

import torch
from minusgrad import Fields, Motion, Potential, bind
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.engine import kernels
from minusgrad.plugin import Cutoff
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad.torch import Layer, rollout
from minusgrad_crystals.lattices import LATTICES
from minusgrad_crystals.stillinger_weber import stillinger_weber_pair, stillinger_weber_triple
from tests.support.periodic_sums import slope
from tests.support.warm_crystals import SCENE, aim, along, assert_a_function_of_tensors, refitted

TRIPLE = "stillinger_weber_triple"


def silicon(precision: str = "f64") -> Potential:
    """Eight atoms of mass 1 in units of epsilon and sigma."""
    x, box = LATTICES["diamond"].crystal(2.5922, [1, 1, 1])
    rng = np.random.default_rng(1)
    x, v = x + 0.04 * rng.normal(size=x.shape), 0.22 * rng.normal(size=x.shape)
    values = {"x": x, "v": v - v.mean(axis=0), "m": np.ones(8), "box": box[None]}
    fields = Fields(values, {"x": "m", "v": "m s^-1", "m": "kg", "box": "m"}, precision)
    cutoff = Cutoff(1.8, sharp=True, skin=0.1, images=True)
    both = stillinger_weber_pair, stillinger_weber_triple
    one = {"epsilon": 1.0, "sigma": 1.0}
    return Potential(fields, [bind(u, fields, parameters=one, cutoff=cutoff) for u in both])


def integrator(potential: Potential) -> Integrator:
    return Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], 0.02)


def test_gradients_through_time_across_new_lists() -> None:
    potential = silicon()
    fields, elements = potential.fields, potential.terms[TRIPLE].elements
    loss = Loss(Potential(fields, [bind(aim, fields)]), (30,))
    run_of_it = Rollout(integrator(potential), [loss], 30)
    names = ["v", f"{TRIPLE}.stiffness"]
    value, found = run_of_it.evaluate(names)
    before, compiled = elements.version, kernels.compiled_count()
    assert run_of_it.evaluate(names)[0] == value
    assert elements.version >= before + 5
    assert potential.terms[TRIPLE].elements is elements
    assert kernels.compiled_count() == compiled
    v, d = fields["v"].values.copy(), np.random.default_rng(2).normal(size=(8, 3))
    wanted = slope(along(fields["v"].set, v, d, run_of_it.value), 1e-4)
    assert (found["v"] * d).sum() == pytest.approx(wanted, rel=1e-8)
    of_stiffness = along(lambda k: potential.set_parameter(names[1], k), np.array(21.0), 1.0, run_of_it.value)
    assert found[names[1]] == pytest.approx(slope(of_stiffness, 1e-2), rel=1e-7)
    single = silicon("f32")
    aimed = Loss(Potential(single.fields, [bind(aim, single.fields)]), (30,))
    close, slopes = Rollout(integrator(single), [aimed], 30).evaluate(names)
    assert close == pytest.approx(value, rel=1e-6)
    assert slopes[names[1]] == pytest.approx(found[names[1]], rel=1e-4)
    np.testing.assert_allclose(slopes["v"], found["v"], atol=1e-4 * np.abs(found["v"]).max())


def test_a_twin_has_lists_of_its_own() -> None:
    potential = silicon()
    twin = potential.twin()
    value = potential.value()
    twin.fields["x"].set(twin.fields["x"].values * 0.9)
    assert twin.value() != value
    assert potential.value() == value
    twin.fields["x"].set(potential.fields["x"].values)
    assert twin.value() == pytest.approx(value, rel=1e-14)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("silicon.toml").write_text(SCENE)
    return "silicon.toml"


def test_a_fit_finds_the_stiffness_that_made_the_data(scene: str) -> None:
    assert refitted(scene, f"{TRIPLE}.stiffness", 19.0) == pytest.approx([21.0], rel=1e-9)


def test_energies_and_runs_as_functions_of_tensors(scene: str) -> None:
    assert_a_function_of_tensors(scene)
    moved = rollout(scene, 8)
    name = f"{TRIPLE}.stiffness"
    v, k = moved.start("v").requires_grad_(), moved.start(name).requires_grad_()

    def last(v: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return moved({"v": v, name: k})["x"].square().sum()

    found = torch.autograd.grad(last(v, k), (v, k))
    d = torch.randn(v.shape, dtype=v.dtype, generator=torch.Generator().manual_seed(0))
    of_v = slope(lambda h: last(v.detach() + h * d, k.detach()).item(), 1e-2)
    of_k = slope(lambda h: last(v.detach(), k.detach() + h).item(), 1e-1)
    assert (found[0] * d).sum().item() == pytest.approx(of_v, rel=1e-8)
    assert found[1].item() == pytest.approx(of_k, rel=1e-6)
    layer = Layer(scene, [name], steps=8)
    layer()["x"].square().sum().backward()
    assert next(layer.parameters()).grad.item() == found[1].item()
