"""Buckling loads against Euler's column and trusses of two bars, whose critical loads are closed forms.

Truss: bars of stiffness k from (-b, 0) and (b, 0) to an apex at height h, pressed down. At height y, with
bars of length l (rest l0), F = 2 k (l0 - l) y / l. It snaps through where dF/dy = 0, l^3 = l0 b^2, and sways
where the stiffness across is zero, l0 / l = 1 + b^2 / y^2.
"""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq, minimize_scalar

from minusgrad import Body, Fields, Hold, Node, Parameter, Potential, bind, local_energy
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.stability import buckling
from minusgrad.steppers.stability.buckling import CriticalPoint, critical_point, linearised
from minusgrad.steppers.stability.loaded_body import LoadedBody, dead_loads
from minusgrad_elastic import generators
from minusgrad_elastic.hyperelastic import neo_hookean
from minusgrad_elastic.loads import load, traction
from minusgrad_elastic.springs import spring
from tests.support.laws import fitted_order

K, B = 1000.0, 1.3
STIFF = 1e3
YOUNG, HEIGHT, DEPTH = 1e6, 1.0, 0.05
EULER = np.pi**2 * YOUNG * DEPTH**3 / 12.0 / (4.0 * HEIGHT**2)


@local_energy("pull", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def pull(x, k):
    """A force outward that grows with the distance from the axis."""
    return -0.5 * k * x[0][0] * x[0][0]


def truss(h: float) -> LoadedBody:
    of = Fields({"x": np.array([[-B, 0.0], [B, 0.0], [0.0, h]])})
    rest, bars = float(np.hypot(B, h)), [[0, 2], [1, 2]]
    springs = bind(spring, of, tuples=bars, data={"rest": rest}, parameters={"stiffness": K}, name="bars")
    push = bind(load, of, bodies=[Body("apex", [2])], parameters={"force": [0.0, -1.0]}, name="weight")
    whole = Potential(of, [springs, push])
    assert dead_loads(whole, ["x"]) == ["weight"]
    return LoadedBody(whole, ["x"], Holds(of, (Hold("ends", "x", np.array([0, 1])),)), ["weight"])


def force(y: float, h: float) -> float:
    length = np.hypot(B, y)
    return 2.0 * K * (np.hypot(B, h) - length) * y / length


def critical(body: LoadedBody) -> CriticalPoint | None:
    rest = body.equilibrium(0.0, body.x)
    assert rest is not None
    loaded = body.follow(rest, 0.01)
    assert loaded is not None
    factors, _ = linearised(rest, loaded, 1)
    return critical_point(body, rest, float(factors[0]) if len(factors) else None)


@pytest.mark.parametrize("h", [0.1, 0.5, 1.0])
def test_a_shallow_truss_snaps_through(h: float) -> None:
    found = critical(truss(h))
    assert found is not None
    assert found.kind == "limit point"
    length = (np.hypot(B, h) * B**2) ** (1.0 / 3.0)
    assert found.factor == pytest.approx(force(np.sqrt(length**2 - B**2), h), rel=1e-6)
    assert np.abs(found.shape) == pytest.approx([0.0, 1.0], abs=1e-6)


@local_energy("side", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"), rest=Parameter("m"))
def side(x, k, rest):
    """A spring that stays horizontal."""
    return 0.5 * k * (x[0][0] - rest) * (x[0][0] - rest)


def leaning(lean: float) -> LoadedBody:
    """A bar of length 1 that leans by an angle, held at its top by a horizontal spring of stiffness 1."""
    of = Fields({"x": np.array([[0.0, 0.0], [np.sin(lean), np.cos(lean)]])})
    bar = bind(spring, of, tuples=[[0, 1]], data={"rest": 1.0}, parameters={"stiffness": STIFF}, name="bar")
    top = [Body("top", [1])]
    held = bind(side, of, bodies=top, parameters={"k": 1.0, "rest": float(np.sin(lean))})
    push = bind(load, of, bodies=top, parameters={"force": [0.0, -1.0]}, name="weight")
    return LoadedBody(
        Potential(of, [bar, held, push]), ["x"], Holds(of, (Hold("foot", "x", np.array([0])),)), ["weight"]
    )


@pytest.mark.parametrize("lean", [1e-3, 0.01, 0.1])
def test_an_imperfect_bar_reaches_a_limit_point(lean: float) -> None:
    """At angle a its length is l = (k + c) / (k + 1), c = sin lean / sin a, and P = (l - c) cos a.

    For a rigid bar P is largest where sin^3 a = sin lean: (1 - sin^(2/3) lean)^(3/2); the perfect one
    bifurcates at P = 1 (Thompson and Hunt 1973, A General Theory of Elastic Stability).
    """

    def press(a: float) -> float:
        c = np.sin(lean) / np.sin(a)
        return ((STIFF + c) / (STIFF + 1.0) - c) * np.cos(a)

    best = minimize_scalar(
        lambda a: -press(a), bounds=(lean, 1.5), method="bounded", options={"xatol": 1e-10}
    )
    assert press(best.x) == pytest.approx((1.0 - np.sin(lean) ** (2.0 / 3.0)) ** 1.5, rel=2.0 / STIFF)
    found = critical(leaning(lean))
    assert found is not None
    assert found.kind == "limit point"
    assert found.factor == pytest.approx(press(best.x), rel=1e-6)


def test_the_perfect_bar_bifurcates() -> None:
    """Where N = l, with N = k (1 - l)."""
    found = critical(leaning(0.0))
    assert found is not None
    assert found.kind == "bifurcation"
    assert found.factor == pytest.approx(STIFF / (1.0 + STIFF), rel=1e-6)


@pytest.mark.parametrize("h", [4.0, 6.0])
def test_a_steep_truss_sways(h: float) -> None:
    """It sways before it would snap through, and the apex then moves across."""
    found = critical(truss(h))
    assert found is not None
    assert found.kind == "bifurcation"
    y = brentq(lambda y: np.hypot(B, h) / np.hypot(B, y) - 1.0 - (B / y) ** 2, 0.6 * h, h)
    length = (np.hypot(B, h) * B**2) ** (1.0 / 3.0)
    assert force(y, h) < force(np.sqrt(length**2 - B**2), h)
    assert found.factor == pytest.approx(force(y, h), rel=2e-7)
    assert found.lower <= force(y, h) <= found.upper
    assert found.shape == pytest.approx([1.0, 0.0], abs=1e-6)


def column(layers: int, stress: float) -> LoadedBody:
    """A column, clamped below, its top pressed by a stress."""
    mesh = generators.rectangle((DEPTH, HEIGHT), (layers, 20 * layers))
    of, facets = Fields({"x": mesh.points}), mesh.boundary()
    top = facets[(mesh.points[facets, 1] > HEIGHT - 1e-9).all(axis=1)]
    lengths = np.abs(np.ptp(mesh.points[top, 0], axis=1))
    data = {"gradients": mesh.gradients(), "volume": mesh.volumes()}
    given = {"youngs_modulus": YOUNG, "poissons_ratio": 0.0}
    solid = bind(neo_hookean, of, tuples=mesh.cells, data=data, parameters=given)
    press = {"traction": [0.0, -stress]}
    of_facets = {"area": lengths, "shares": np.full(top.shape, 0.5)}
    push = bind(traction, of, tuples=top, data=of_facets, parameters=press)
    holds = Holds(of, (Hold("below", "x", mesh.bodies["bottom"]),))
    return LoadedBody(Potential(of, [solid, push]), ["x"], holds, ["traction"])


def test_eulers_column_under_refinement() -> None:
    """Order 2; what the meshes extrapolate to is Euler's load within 1e-3: a slender column of 1 : 20."""
    layers, loads = (2, 4, 8), []
    for n in layers:
        found = critical(column(n, 1.0 / DEPTH))
        assert found is not None
        assert found.kind == "bifurcation"
        loads.append(found.factor)
    limit = loads[2] - (loads[1] - loads[2]) ** 2 / (loads[0] - 2.0 * loads[1] + loads[2])
    assert fitted_order(np.array(loads) / limit - 1.0, layers) == pytest.approx(2.0, abs=0.05)
    assert limit == pytest.approx(EULER, rel=1e-3)
    assert loads[2] / EULER == pytest.approx(1.054, abs=1e-3)


def test_linearised_factors() -> None:
    """By LAPACK from K at the two states; of a small load the columns of n = 1, 3, 5 quarter waves."""
    body = column(4, 1.0)
    rest = body.equilibrium(0.0, body.x)
    loaded = body.follow(rest, 1.0)
    factors, modes = linearised(rest, loaded, 3)
    assert len(rest.x) > buckling.DENSE
    of_rest, of_loaded = rest.stiffness.toarray(), loaded.stiffness.toarray()
    inverse = eigh(of_rest - of_loaded, of_rest, eigvals_only=True)[::-1][:3]
    assert factors == pytest.approx(1.0 / inverse, rel=1e-8)
    assert factors / factors[0] == pytest.approx([1.0, 9.0, 25.0], rel=0.02)
    assert np.linalg.norm(modes, axis=0) == pytest.approx(1.0)
    found = critical_point(body, rest, float(factors[0]))
    assert found.factor == pytest.approx(factors[0], rel=3e-3)


def test_a_factor_that_the_method_misses_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.sparse.linalg import eigsh

    body, asked = column(4, 1.0), []
    rest = body.equilibrium(0.0, body.x)
    loaded = body.follow(rest, 1.0)
    expected, _ = linearised(rest, loaded, 2)

    def forgetful(matrix, k, **how):
        values, vectors = eigsh(matrix, k + 1, **how)
        asked.append(k)
        kept = np.delete(np.argsort(values), -1 if len(asked) == 1 else 0)
        return values[kept], vectors[:, kept]

    monkeypatch.setattr("scipy.sparse.linalg.eigsh", forgetful)
    factors, _ = linearised(rest, loaded, 2)
    assert factors == pytest.approx(expected, rel=1e-9)
    assert len(asked) == 2


def test_a_pulled_column_does_not_buckle() -> None:
    """Linearised, its material would have no stiffness at a strain of 1."""
    body = column(2, -1e4)
    rest = body.equilibrium(0.0, body.x)
    factors, _ = linearised(rest, body.follow(rest, 1.0), 3)
    assert factors == pytest.approx(YOUNG / 1e4, rel=0.02)
    assert critical_point(body, rest, 1.0) is None


def test_a_load_with_a_stiffness_of_its_own() -> None:
    """A node on a spring that is pushed in proportion to its place: it gives way where the two are equal."""
    of = Fields({"x": np.array([[0.0, 0.0], [1.0, 0.0]])})
    bar = bind(spring, of, tuples=[[0, 1]], data={"rest": 1.0}, parameters={"stiffness": K})
    away = bind(pull, of, bodies=[Body("end", [1])], parameters={"k": 1.0})
    whole = Potential(of, [bar, away])
    assert dead_loads(whole, ["x"]) == []
    ends = (Hold("start", "x", np.array([0])), Hold("line", "x", np.array([1]), axes=(1,)))
    body = LoadedBody(whole, ["x"], Holds(of, ends), ["pull"])
    found = critical(body)
    assert found is not None
    assert found.factor == pytest.approx(K, rel=1e-6)
