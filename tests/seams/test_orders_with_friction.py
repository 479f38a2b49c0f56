"""The order of steps with friction: where it is lower than that of the scheme, this is said.

x'' = -x - c x' has a closed form. Slopes of errors are measured, and compared with what is said.
"""

import re
import warnings
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Node, Parameter, local_energy

C, T = 0.4, 2.0


@local_energy("harmonic", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def harmonic(x, k):
    return 0.5 * k * x[0].norm_sqr()


@local_energy("viscous", over="nodes", v=Node("m s^-1", ("d",)), c=Parameter("kg/s"))
def viscous(v, c):
    return 0.5 * c * v[0].norm_sqr()


def exact(friction: bool) -> float:
    """x(T) from rest at 1."""
    half = 0.5 * C * friction
    w = np.sqrt(1.0 - half**2)
    return np.exp(-half * T) * (np.cos(w * T) + half / w * np.sin(w * T))


def system(kind: str, n: int, friction: bool, **stepper: Any) -> mg.Simulation:
    return mg.Simulation(
        fields={"x": np.array([[1.0, 0.0]]), "m": np.ones(1)},
        energies=[harmonic(k=1.0)],
        dissipations=[viscous(c=C)] if friction else [],
        stepper=mg.stepper(kind, dt=T / n, **stepper),
        units="dimensionless",
    )


def order(kind: str, friction: bool, n: int) -> float:
    errors = []
    for m in (n, 2 * n):
        sim = system(kind, m, friction)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sim.step(m)
        errors.append(abs(sim.fields["x"].values[0, 0] - exact(friction)))
    return float(np.log2(errors[0] / errors[1]))


HIGH = {"yoshida4": 4, "yoshida6": 6, "kahan_li8": 8, "blanes_moan4": 4, "blanes_moan_rkn6": 6}


@pytest.mark.parametrize(
    "kind",
    [k if k in ("yoshida4", "blanes_moan_rkn6") else pytest.param(k, marks=pytest.mark.long) for k in HIGH],
)
def test_a_lower_order_is_said_at_the_first_step(kind: str) -> None:
    assert order(kind, True, 20) == pytest.approx(2.0, abs=0.1)
    assert order(kind, False, 4 if HIGH[kind] > 6 else 8) > HIGH[kind] - 0.7
    sim = system(kind, 20, True)
    said = f"'{kind}': with friction .* of order 2 in dt, got a scheme of order {HIGH[kind]}; leapfrog has"
    with pytest.warns(UserWarning, match=said):
        sim.step(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.step(1)
        system(kind, 20, False).step(1)


@pytest.mark.parametrize("kind", ["leapfrog", "gauss_radau", "implicit_midpoint", "bdf2"])
def test_an_order_that_is_kept_needs_no_word(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        system(kind, 20, True).step(1)
    if kind != "gauss_radau":
        assert order(kind, True, 20) == pytest.approx(2.0, abs=0.2)


def test_a_run_says_it_at_its_start(tmp_path, capsys) -> None:
    path = tmp_path / "damped.toml"
    path.write_text(
        """
[units]
system = "dimensionless"
[state]
kind = "network"
nodes = [[0.0, 0.0], [1.0, 0.0]]
springs = [[0, 1]]
mass = 1.0
[[energy]]
kind = "spring"
stiffness = 1.0
rest = 0.5
[[dissipation]]
kind = "mass_damping"
rate = 0.1
[stepper]
kind = "yoshida6"
dt = 0.1
[run]
steps = 2
[[observe]]
kind = "energies"
every = 1
"""
    )
    found = mg.run(path, out=tmp_path / "run")
    assert any(re.search("'yoshida6': with friction .* of order 2 in dt", text) for text in found.remarks)


def test_the_list_of_steppers_says_it(capsys) -> None:
    from minusgrad.app import cli

    assert cli.main(["steppers", "--json"]) in (0, None)
    text = capsys.readouterr().out
    for n in (4, 6, 8):
        assert f"order {n}, with friction 2" in text
