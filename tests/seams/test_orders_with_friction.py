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
from tests.seams.rows import sample

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
    [k if k == "yoshida4" else pytest.param(k, marks=pytest.mark.long) for k in HIGH],
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


@pytest.mark.parametrize(
    "kind", sample(["leapfrog", "gauss_radau", "implicit_midpoint", "bdf2"], ["gauss_radau"])
)
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


@pytest.mark.long
def test_variational_steps_keep_their_order() -> None:
    @mg.lagrangian("sliding", over="nodes", q=Node("m"), v=mg.Velocity("m/s"), m=Parameter("kg"))
    def sliding(q, v, m):
        return 0.5 * m * v[0] ** 2 - 0.5 * q[0] ** 2

    @local_energy("sticky", over="nodes", v=Node("m s^-1"), c=Parameter("kg/s"))
    def sticky(v, c):
        return 0.5 * c * v[0] ** 2

    errors = []
    for n in (10, 20):
        sim = mg.Simulation(
            fields={"q": np.array([1.0]), "v": np.array([0.0])},
            motions=[mg.Motion("q", "v")],
            lagrangians=[sliding(m=1.0)],
            dissipations=[sticky(c=C)],
            stepper=mg.Variational(dt=T / n, order=4),
            units="dimensionless",
        )
        sim.step(n)
        errors.append(abs(sim.fields["q"].values[0] - exact(True)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.1)
