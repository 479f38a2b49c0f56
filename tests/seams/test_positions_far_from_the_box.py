"""Positions are not wrapped: in f32 they lose digits with the boxes that they are away, which is said."""

import warnings

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Fields, Node, Potential, bind, local_energy
from minusgrad.plugin import Cutoff


@local_energy("lj", over="pairs", x=Node("m", ("d",)))
def lj(x):
    s = 1.0 / (x[0] - x[1]).norm_sqr()
    return 4.0 * (s**6 - s**3)


EDGE = 6.0
X = np.array([*np.ndindex(5, 5, 5)], float) * 1.2 + 0.05 * np.random.default_rng(0).normal(size=(125, 3))


def potential(offset, precision="f32"):
    fields = Fields({"x": X + offset, "box": EDGE * np.eye(3)[None]}, {"x": "m", "box": "m"}, precision)
    return Potential(fields, [bind(lj, fields, cutoff=Cutoff(2.5, skin=0.3))])


@pytest.fixture
def right():
    return potential(0.0, "f64").gradient("x")


def error(p, right):
    return np.abs(p.gradient("x") - right).max() / np.abs(right).max()


def test_the_warning_has_the_number(right):
    with pytest.warns(UserWarning, match=r"'x', node \d+: is 10\d boxes away.* are 6.1e-05 apart.*f64"):
        p = potential(100 * EDGE)
    assert 1e-5 < error(p, right) < 1e-2  # what the warning is about


@pytest.mark.parametrize(("offset", "precision"), [(0.0, "f32"), (5 * EDGE, "f32"), (1e4 * EDGE, "f64")])
def test_no_warning_where_digits_are_there(right, offset, precision):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = potential(offset, precision)
        assert error(p, right) < (1e-4 if precision == "f32" else 1e-9)


def test_positions_that_are_set_later():
    p = potential(0.0)
    p.value()
    p.fields["x"].set(X + 50 * EDGE)
    with pytest.warns(UserWarning, match="boxes away"):
        p.value()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p.fields["x"].set(X + 51 * EDGE)
        p.value()
    p.fields["x"].set(X + 1000 * EDGE)
    with pytest.warns(UserWarning, match="boxes away"):
        p.value()


def simulation(v):
    return mg.Simulation(
        fields={"x": X, "v": np.full(X.shape, v), "m": np.ones(len(X))},
        energies=[lj(cutoff=2.5, skin=0.3)],
        box=[EDGE] * 3,
        units="dimensionless",
        stepper=mg.Leapfrog(dt=0.002),
        runtime={"precision": "f32"},
    )


def test_a_run_that_drifts_away(tmp_path):
    with pytest.warns(UserWarning, match="boxes away"):
        simulation(3000.0).run(steps=20, out=tmp_path / "run")


def test_tensors():
    pytest.importorskip("torch")
    import minusgrad.torch

    u = minusgrad.torch.energy(simulation(0.0))
    with pytest.warns(UserWarning, match="boxes away"):
        u(x=u.start("x") + 100 * EDGE)
