"""Runs of warm copper (Sutton and Chen): gradients through time, fits and layers of a map over listed pairs.

All lists change on the way. References are difference quotients, second derivatives of the potential, and the
parameter that made the data of a fit.
"""

from pathlib import Path

import numpy as np
import pytest

import torch
from minusgrad import Fields, Motion, Potential, bind
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.plugin import Cutoff
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad.torch import rollout
from minusgrad_crystals.lattices import LATTICES
from minusgrad_crystals.sutton_chen import (
    sutton_chen_density,
    sutton_chen_embedding,
    sutton_chen_repulsion,
)
from tests.support.periodic_sums import slope
from tests.support.warm_crystals import SCENE, aim, along, assert_a_function_of_tensors, refitted

CUT = """
cutoff = "5.5 angstrom"
skin = "0.05 angstrom"
images = true
"""
ENERGIES = f"""
[[map]]
kind = "sutton_chen_density"
a = "3.61 angstrom"
m = 6.0
{CUT}
[[energy]]
kind = "sutton_chen_repulsion"
epsilon = "1.2382e-2 eV"
a = "3.61 angstrom"
n = 9.0
{CUT}
[[energy]]
kind = "sutton_chen_embedding"
epsilon = "1.2382e-2 eV"
c = 39.432
"""
HEAD = SCENE[: SCENE.index("[[energy]]")].replace("diamond", "fcc").replace("5.431", "3.61")
WARM = HEAD.replace("28.0855", "63.546") + ENERGIES + SCENE[SCENE.index("[stepper]") :]


def copper() -> Potential:
    """Four atoms in a cell, of mass 1, in units of a and of epsilon 1/100."""
    x, box = LATTICES["fcc"].crystal(1.0, [1, 1, 1])
    rng = np.random.default_rng(1)
    x, v = x + 0.03 * rng.normal(size=x.shape), 0.2 * rng.normal(size=x.shape)
    values = {"x": x, "v": v - v.mean(axis=0), "m": np.ones(len(x)), "box": box[None]}
    fields = Fields(values, {"x": "m", "v": "m s^-1", "m": "kg", "box": "m"})
    cut = {"cutoff": Cutoff(1.5, skin=0.02, images=True)}
    rho = bind(sutton_chen_density, fields, parameters={"a": 1.0, "m": 6.0}, **cut)
    pairs = bind(sutton_chen_repulsion, fields, parameters={"epsilon": 0.01, "a": 1.0, "n": 9.0}, **cut)
    embedded = bind(sutton_chen_embedding, fields, parameters={"epsilon": 0.01, "c": 39.432})
    return Potential(fields, [pairs, embedded], [rho])


def test_gradients_through_time_across_new_lists() -> None:
    potential = copper()
    fields, elements = potential.fields, potential.maps["sutton_chen_density"].elements
    loss = Loss(Potential(fields, [bind(aim, fields)]), (30,))
    of_run = Rollout(
        Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], 0.02), [loss], 30
    )
    names = ["v", "sutton_chen_density.m", "sutton_chen_embedding.c"]
    value, found = of_run.evaluate(names)
    before = elements.version
    assert of_run.evaluate(names)[0] == value
    assert elements.version >= before + 3
    v, d = fields["v"].values.copy(), np.random.default_rng(2).normal(size=fields["v"].shape)
    wanted = slope(along(fields["v"].set, v, d, of_run.value), 1e-4)
    assert (found["v"] * d).sum() == pytest.approx(wanted, rel=1e-7)
    for name, at in (("sutton_chen_density.m", 6.0), ("sutton_chen_embedding.c", 39.432)):
        of_one = along(lambda k, n=name: potential.set_parameter(n, k), np.array(at), 1.0, of_run.value)
        assert found[name] == pytest.approx(slope(of_one, 1e-4), rel=1e-6), name


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("copper.toml").write_text(WARM)
    return "copper.toml"


@pytest.mark.long
def test_a_fit_finds_the_number_that_made_the_data(scene: str) -> None:
    assert refitted(scene, "sutton_chen_density.m", 5.9) == pytest.approx([6.0], rel=1e-8)


@pytest.mark.long
def test_energies_and_runs_as_functions_of_tensors(scene: str) -> None:
    assert_a_function_of_tensors(scene)
    moved = rollout(scene, 8)
    m = moved.start("sutton_chen_density.m").requires_grad_()

    def last(m: torch.Tensor) -> torch.Tensor:
        return moved({"sutton_chen_density.m": m})["x"].square().sum()

    (found,) = torch.autograd.grad(last(m), (m,))
    assert found.item() == pytest.approx(slope(lambda h: last(m.detach() + h).item(), 1e-3), rel=1e-6)
