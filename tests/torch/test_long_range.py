"""Particle-mesh Ewald as a function of tensors, through time, and in fits: its transform is a linear map."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
import minusgrad.torch
import torch
from tests.support.propanone import PROPANONE, pdb

SYSTEM = (
    PROPANONE.replace('<A x="3"', '<A x="1.6"')
    .replace('<B x="0.5" y="4"', '<B x="0.2" y="1.5"')
    .replace('z="5"/>', 'z="1.7"/>')
)
"""Four charged atoms in a small box that is not rectangular."""
START = [-0.4, 0.4, 0.05, -0.05]
"""Charges that the run does not have."""
SCENE = """
[units]
system = "molecular"

[runtime]
precision = "PRECISION"

[state]
kind = "molecule"
system = "a.xml"
positions = "a.pdb"
temperature = "300 K"

[[energy]]
kind = "harmonic_bond"
tuples = "bonds"

[[compound]]
kind = "pme"
cutoff = "7 angstrom"
skin = "0.2 angstrom"
alpha = "0.4 angstrom^-1"
mesh = [6, 6, 7]
exclude = [[0, 1]]

[stepper]
kind = "leapfrog"
dt = "1 fs"

[run]
steps = 12

[[observe]]
kind = "frames"
every = 6
unwrapped = true
"""
FIT = """
[fit]
method = "gauss_newton"
iterations = 6

[fit.parameters.charge]
start = [-0.4, 0.4, 0.05, -0.05]

[[fit.loss]]
kind = "misfit"
field = "x"
sigma = "0.001 angstrom"
data = "DATA"
"""


def scene(folder: Path, precision: str = "f64", more: str = "") -> Path:
    (folder / "a.xml").write_text(SYSTEM)
    (folder / "a.pdb").write_text(pdb())
    path = folder / "charged.toml"
    path.write_text(SCENE.replace("PRECISION", precision) + more)
    return path


@pytest.mark.parametrize(
    ("precision", "names"),
    [
        ("f64", ("x", "charge")),
        pytest.param("f64", ("x", "charge", "box"), marks=pytest.mark.long),
        pytest.param("f32", ("x", "charge", "box"), marks=pytest.mark.long),
    ],
)
def test_backward_and_double_backward(precision: str, names: tuple[str, ...], tmp_path: Path) -> None:
    """The products of the engine, and differences of the gradient (f64)."""
    bound, count = {"f64": 1e-6, "f32": 1e-3}[precision], len(names)
    potential = minusgrad.build(scene(tmp_path, precision)).potential
    energy = minusgrad.torch.energy(potential)
    rng = np.random.default_rng(1)
    along = {n: rng.normal(size=energy.start(n).shape) for n in names}

    def gradient(step: float) -> tuple[torch.Tensor, ...]:
        moved = [(energy.start(n) + step * torch.tensor(along[n])).to(energy.start(n)) for n in names]
        inputs = [one.requires_grad_() for one in moved]
        slopes = torch.autograd.grad(energy(dict(zip(names, inputs, strict=True))), inputs, create_graph=True)
        if step:
            return slopes
        turned = sum((s * torch.tensor(along[n]).to(s)).sum() for n, s in zip(names, slopes, strict=True))
        return (*slopes, *torch.autograd.grad(turned, inputs))

    found = [one.detach().numpy() for one in gradient(0.0)]
    for n, slope, product in zip(names, found[:count], found[count:], strict=True):
        np.testing.assert_allclose(slope, potential.gradient(n), rtol=bound, atol=bound)
        expected = potential.product(along, n)
        assert np.abs(product - expected).max() <= bound * np.abs(expected).max(), n
    if precision == "f64":
        ahead, behind = gradient(1e-5), gradient(-1e-5)
        for n, up, down, product in zip(names, ahead, behind, found[count:], strict=True):
            differences = (up - down).detach().numpy() / 2e-5
            assert np.abs(differences - product).max() <= 1e-6 * np.abs(product).max(), n


def test_a_rollout_by_charges_and_positions(tmp_path: Path) -> None:
    run = minusgrad.torch.rollout(scene(tmp_path), 12)
    start = minusgrad.build(scene(tmp_path)).fields
    rng = np.random.default_rng(2)
    values = {"charge": np.array(START), "x": start["x"].values.copy()}
    along = {n: rng.normal(size=v.shape) for n, v in values.items()}
    seen = torch.tensor(rng.normal(size=values["x"].shape))

    def loss(step: float) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        given = {n: torch.tensor(v + step * along[n], requires_grad=True) for n, v in values.items()}
        return (run(given)["x"] * seen).sum(), given

    value, given = loss(0.0)
    value.backward()
    slope = sum(float((one.grad.numpy() * along[n]).sum()) for n, one in given.items())
    differences = (loss(1e-5)[0] - loss(-1e-5)[0]).item() / 2e-5
    assert differences == pytest.approx(slope, rel=1e-7)
    assert np.abs(given["charge"].grad.numpy()).min() > 1e-6


@pytest.mark.parametrize("precision", ["f64", pytest.param("f32", marks=pytest.mark.long)])
def test_a_fit_finds_the_charges_of_a_run(precision: str, tmp_path: Path) -> None:
    minusgrad.run(scene(tmp_path, precision), out=tmp_path / "run")
    *_, frames = sorted((tmp_path / "run" / "traj").glob("*.h5"))
    data = frames.relative_to(tmp_path).as_posix()
    fit = minusgrad.fit(scene(tmp_path, precision, FIT.replace("DATA", data)), out=tmp_path / "fit")
    (charge,) = (one for one in fit.estimates.parameters if one.name == "charge")
    np.testing.assert_allclose(
        charge.values, [-0.5, 0.5, 0.0, 0.0], atol={"f64": 1e-7, "f32": 1e-3}[precision]
    )
    assert charge.unit == "e"
