"""Runs of warm copper (Sutton and Chen): gradients through time, fits and layers of a map over listed pairs.

All lists change on the way. References are difference quotients, second derivatives of the potential, and the
parameter that made the data of a fit.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import torch
from minusgrad import Fields, Motion, Potential, bind, build, fit, run
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.plugin import Cutoff
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.torch import energy, rollout
from minusgrad_crystals.lattices import LATTICES
from minusgrad_crystals.sutton_chen import (
    sutton_chen_density,
    sutton_chen_embedding,
    sutton_chen_repulsion,
)
from tests.plugins.crystals.test_silicon_runs import FIT, SCENE, aim, along
from tests.support.periodic_sums import slope

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
    of_run = Rollout(Integrator(potential, [Motion("x", "v", "m")], SCHEMES["leapfrog"], 0.02), [loss], 30)
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
    run(scene, {}, "truth")
    Path("truth.h5").write_bytes(max(Path("truth/traj").glob("*.h5")).read_bytes())
    wanted = FIT.replace("stillinger_weber_triple.stiffness", "sutton_chen_density.m").replace("19.0", "5.9")
    Path(scene).write_text(WARM + wanted)
    fit(scene, {}, "fitted")
    found = json.loads(Path("fitted/fit.json").read_text())["parameters"]["sutton_chen_density.m"]
    assert found["values"] == pytest.approx([6.0], rel=1e-8)


@pytest.mark.long
def test_energies_and_runs_as_functions_of_tensors(scene: str) -> None:
    potential, u = build(scene).potential, energy(scene)
    given = {n: u.start(n).requires_grad_() for n in ("x", "box")}
    slopes = torch.autograd.grad(u(**given), [*given.values()], create_graph=True)
    bent = torch.autograd.grad(sum((one**2).sum() for one in slopes), [*given.values()])
    along_slopes = {n: 2.0 * one.detach().numpy() for n, one in zip(given, slopes, strict=True)}
    for name, found in zip(given, bent, strict=True):
        second = potential.product(along_slopes, name)
        np.testing.assert_allclose(found.numpy(), second, atol=1e-12 * np.abs(second).max())
    moved = rollout(scene, 8)
    m = moved.start("sutton_chen_density.m").requires_grad_()

    def last(m: torch.Tensor) -> torch.Tensor:
        return moved({"sutton_chen_density.m": m})["x"].square().sum()

    (found,) = torch.autograd.grad(last(m), (m,))
    assert found.item() == pytest.approx(slope(lambda h: last(m.detach() + h).item(), 1e-3), rel=1e-6)
