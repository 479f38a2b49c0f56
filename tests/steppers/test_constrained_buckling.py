"""Buckling of bodies of rigid rods against closed forms: Hencky's strut, a bar held aside.

A strut of n rods of length l between pins, one of which slides along it, with torsion springs c at joints:

    P_k = (2 c / l) (1 - cos(k pi / n))        k = 1 .. n - 1      (Hencky 1920, Eisenbau 11, 437)
"""

from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import minusgrad
from minusgrad import Body, Fields, Hold, Node, Parameter, Potential, bind, local_energy
from minusgrad.app.buckling import buckling
from minusgrad.errors import EnergyError
from minusgrad.plugin import Constraints
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.stability.buckling import critical_point, linearised
from minusgrad.steppers.stability.constrained_body import ConstrainedBody
from minusgrad_elastic.angles import angle
from minusgrad_elastic.loads import load
from minusgrad_elastic.rods import rod

C, LENGTH = 3.0, 0.7


@local_energy("side", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"), rest=Parameter("m"))
def side(x, k, rest):
    """A spring that stays horizontal."""
    return 0.5 * k * (x[0][0] - rest) * (x[0][0] - rest)


def hencky(count: int) -> np.ndarray:
    return 2.0 * C / LENGTH * (1.0 - np.cos(np.arange(1, count) * np.pi / count))


def strut(count: int, more: tuple = ()) -> ConstrainedBody:
    x = np.stack([LENGTH * np.arange(count + 1.0), np.zeros(count + 1)], axis=1)
    of, ends = Fields({"x": x}), np.stack([np.arange(count), np.arange(1, count + 1)], axis=1)
    joints = [[k, k + 1, k + 2] for k in range(count - 1)]
    springs = bind(angle, of, tuples=joints, data={"rest": np.pi}, parameters={"stiffness": C}, name="joints")
    push = bind(load, of, bodies=[Body("tip", [count])], parameters={"force": [-1.0, 0.0]}, name="push")
    kept = Constraints(of, [bind(rod, of, tuples=[*ends, *more], data={"length": LENGTH})])
    holds = (Hold("foot", "x", np.array([0])), Hold("tip", "x", np.array([count]), axes=(1,)))
    return ConstrainedBody(Potential(of, [springs, push]), ["x"], Holds(of, holds), ["push"], kept)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_strut_of_rods_and_torsion_springs(count: int) -> None:
    body = strut(count)
    rest = body.equilibrium(0.0, body.x)
    assert rest is not None
    loaded = body.follow(rest, 0.1)
    assert loaded is not None
    factors, modes = linearised(rest, loaded, count - 1)
    np.testing.assert_allclose(factors, hencky(count), rtol=1e-9)
    assert np.abs(rest.jacobian @ modes).max() < 1e-12
    found = critical_point(body, rest, float(factors[0]))
    assert found is not None
    assert found.kind == "bifurcation"
    assert found.factor == pytest.approx(hencky(count)[0], rel=1e-6)
    across = body.free.by_field(found.shape)["x"][:, 1]
    wave = np.sin(np.pi * np.arange(count + 1) / count)
    assert abs(across @ wave) == pytest.approx(np.linalg.norm(wave) * np.linalg.norm(found.shape), rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("lean", [0.01, 0.1])
def test_a_rigid_bar_that_leans_reaches_a_limit_point(lean: float) -> None:
    """P = (1 - sin lean / sin a) cos a is largest where sin^3 a = sin lean: (1 - sin^(2/3) lean)^(3/2)."""
    of = Fields({"x": np.array([[0.0, 0.0], [np.sin(lean), np.cos(lean)]])})
    top = [Body("top", [1])]
    terms = [
        bind(side, of, bodies=top, parameters={"k": 1.0, "rest": float(np.sin(lean))}),
        bind(load, of, bodies=top, parameters={"force": [0.0, -1.0]}, name="weight"),
    ]
    kept = Constraints(of, [bind(rod, of, tuples=[[0, 1]], data={"length": 1.0})])
    holds = Holds(of, (Hold("foot", "x", np.array([0])),))
    body = ConstrainedBody(Potential(of, terms), ["x"], holds, ["weight"], kept)
    rest = body.equilibrium(0.0, body.x)
    assert rest is not None
    loaded = body.follow(rest, 0.01)
    assert loaded is not None
    found = critical_point(body, rest, float(linearised(rest, loaded, 1)[0][0]))
    assert found is not None
    assert found.kind == "limit point"
    assert found.factor == pytest.approx((1.0 - np.sin(lean) ** (2.0 / 3.0)) ** 1.5, rel=1e-6)


def test_what_is_refused() -> None:
    body = strut(3, more=((1, 0),))
    with pytest.raises(EnergyError, match="buckling: the constraints are dependent at a state"):
        body.equilibrium(0.0, body.x)


SCENE = """
    [state]
    kind = "network"
    nodes = [[0.0, 0.0], [0.7, 0.0], [1.4, 0.0], [2.1, 0.0]]
    springs = [[0, 1], [1, 2], [2, 3]]
    mass = [1.0, 1.0, 1.0, 1.0]
    bodies = { foot = [0], tip = [3] }
    [[constraint]]
    kind = "rod"
    [[energy]]
    kind = "angle"
    tuples = [[0, 1, 2], [1, 2, 3]]
    rest = "180 deg"
    stiffness = 3.0
    [[energy]]
    kind = "load"
    body = "tip"
    force = [-1.0, 0.0]
    [[hold]]
    body = "foot"
    [[hold]]
    body = "tip"
    axes = "y"
    [stepper]
    kind = "newton"
    [run]
    steps = 5
    """


def test_a_scene(tmp_path: Path) -> None:
    scene = tmp_path / "strut.toml"
    scene.write_text(dedent(SCENE))
    minusgrad.run(scene, out=tmp_path / "run")
    found = buckling(tmp_path / "run", count=2)
    np.testing.assert_allclose(found.factors, hencky(3), rtol=1e-9)
    assert found.critical is not None
    assert found.critical.kind == "bifurcation"
