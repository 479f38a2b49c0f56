"""Warm crystals whose lists of neighbours change on the way: a scene, its fit, and functions of tensors."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

import torch
from minusgrad import Node, build, fit, local_energy, run
from minusgrad.torch import energy

ENERGY = """
[[energy]]
kind = "stillinger_weber_{}"
epsilon = "50 kcal/mol"
sigma = "2.0951 angstrom"
cutoff = "3.77118 angstrom"
switch = "none"
skin = "0.02 angstrom"
images = true
"""
SCENE = f"""
[units]
length = "angstrom"
mass = "u"
time = "ps"

[state]
kind = "crystal"
lattice = "diamond"
cells = [1, 1, 1]
a = "5.431 angstrom"
mass = "28.0855 u"
displacement = "0.08 angstrom"
temperature = "1500 K"
{ENERGY.format("pair")}{ENERGY.format("triple")}
[stepper]
kind = "leapfrog"
dt = "1 fs"

[run]
steps = 12

[[observe]]
kind = "frames"
every = 4
unwrapped = true
"""
FIT = """
[fit]
method = "gauss_newton"
iterations = 8

[fit.parameters."{name}"]
start = {start}

[[fit.loss]]
kind = "misfit"
field = "x"
sigma = "0.001 angstrom"
data = "truth.h5"
"""


@local_energy("aim", over="nodes", x=Node("m", ("d",)))
def aim(x):
    """A loss: squared distance from the origin."""
    return x[0].dot(x[0])


def along(put: Callable[[np.ndarray], None], start: np.ndarray, d: np.ndarray, of: Callable[[], float]):
    """A function of h: its value where a variable has moved h d from its start."""

    def value(h: float) -> float:
        put(start + h * d)
        found = of()
        put(start)
        return found

    return value


def refitted(scene: str, name: str, start: float) -> list[float]:
    """The values of a parameter that a fit finds from another start, by the frames of a run of the scene.

    It works in the folder in which the process stands.
    """
    run(scene, {}, "truth")
    Path("truth.h5").write_bytes(max(Path("truth/traj").glob("*.h5")).read_bytes())
    Path(scene).write_text(Path(scene).read_text() + FIT.format(name=name, start=start))
    fit(scene, {}, "fitted")
    return json.loads(Path("fitted/fit.json").read_text())["parameters"][name]["values"]


def assert_a_function_of_tensors(scene: str) -> None:
    """Of the energy second derivatives, too: gradients of a norm of the gradient."""
    potential, u = build(scene).potential, energy(scene)
    given = {n: u.start(n).requires_grad_() for n in ("x", "box")}
    slopes = torch.autograd.grad(u(**given), [*given.values()], create_graph=True)
    bent = torch.autograd.grad(sum((one**2).sum() for one in slopes), [*given.values()])
    along_slopes = {n: 2.0 * one.detach().numpy() for n, one in zip(given, slopes, strict=True)}
    for name, slope_of_u, found in zip(given, slopes, bent, strict=True):
        first, second = potential.gradient(name), potential.product(along_slopes, name)
        np.testing.assert_allclose(slope_of_u.detach().numpy(), first, atol=1e-12 * np.abs(first).max())
        np.testing.assert_allclose(found.numpy(), second, atol=1e-12 * np.abs(second).max())
