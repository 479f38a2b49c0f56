"""Derivatives of buckling loads: closed forms of trusses and a leaning bar, differences, what is refused."""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.errors import EnergyError
from minusgrad.potential.argument_values import argument_values, set_argument_values
from minusgrad.potential.hessians.mode_curvature import ModeCurvature
from minusgrad.steppers.stability.buckling import CriticalPoint
from minusgrad.steppers.stability.critical_slopes import CriticalSlopes, critical_slopes
from minusgrad.steppers.stability.loaded_body import LoadedBody, LoadedEquilibrium
from tests.steppers.test_buckling import column, critical, leaning, truss


class Buckled:
    """A body with its state without load and its first critical point."""

    def __init__(self, body: LoadedBody):
        rest, found = body.equilibrium(0.0, body.x), critical(body)
        assert rest is not None
        assert found is not None
        self.body, self.rest, self.point = body, rest, found

    body: LoadedBody
    rest: LoadedEquilibrium
    point: CriticalPoint

    def slopes(self, *names: str) -> CriticalSlopes:
        return critical_slopes(self.body, self.rest, self.point, names)


def slopes_of(body: LoadedBody, *names: str) -> CriticalSlopes:
    return Buckled(body).slopes(*names)


def slope_by_differences(buckled: Buckled, name: str, way: np.ndarray) -> float:
    """d(factor)/dh of p + h way, of sixth order."""
    potential = buckled.body.potential
    values = argument_values(potential, name)

    def factor(h: float) -> float:
        set_argument_values(potential, name, values + h * way)
        found = buckled.slopes().factor
        set_argument_values(potential, name, values)
        return found

    h = 1e-3
    slopes = [(factor(k * h) - factor(-k * h)) / (2.0 * k * h) for k in (1, 2, 3)]
    return (15.0 * slopes[0] - 6.0 * slopes[1] + slopes[2]) / 10.0


@pytest.mark.parametrize(
    ("make", "name", "way"),
    [
        (lambda: truss(0.5), "bars.stiffness", np.array(1300.0)),
        (lambda: truss(0.5), "bars.rest", np.array([1.0, 0.6])),
        (lambda: truss(4.0), "bars.stiffness", np.array(700.0)),
        (lambda: leaning(0.05), "side.rest", np.array(0.03)),
        (lambda: leaning(0.05), "bar.stiffness", np.array(900.0)),
        (lambda: leaning(0.0), "side.k", np.array(1.2)),
        (lambda: leaning(0.0), "bar.stiffness", np.array(900.0)),
    ],
)
def test_slopes_are_those_of_differences(make: Callable, name: str, way: np.ndarray) -> None:
    """Limit points and bifurcations, to 1e-8; the bar's stiffness acts through the state before buckling."""
    buckled = Buckled(make())
    exact = float(np.sum(buckled.slopes(name).slopes[name] * way))
    assert abs(exact / slope_by_differences(buckled, name, way) - 1.0) < 1e-8


def test_the_perfect_bar() -> None:
    """N = k (1 - l) at k l = 1 / side: P = c k / (c + k) of both stiffnesses."""
    found = slopes_of(leaning(0.0), "side.k", "bar.stiffness")
    k = 1e3
    assert abs(found.factor - k / (1.0 + k)) < 1e-12
    assert abs(found.slopes["side.k"] - (k / (1.0 + k)) ** 2) < 1e-9
    assert abs(found.slopes["bar.stiffness"] - 1.0 / (1.0 + k) ** 2) < 1e-12


def test_what_has_no_slope_is_refused() -> None:
    """An imperfection, a name of nothing, and what moves itself."""
    for name, cure in (
        ("side.rest", "there is no derivative; follow the path of the imperfect body"),
        ("side.rust", "did you mean 'side.rest'"),
        ("x", "name a parameter, data, or a field"),
    ):
        with pytest.raises(EnergyError, match=cure):
            slopes_of(leaning(0.0), name)


def test_a_column_of_a_mesh() -> None:
    """By Young's modulus the load is in proportion; energies Linear in positions, too."""
    body = column(2, 1.0)
    found = slopes_of(body, "neo_hookean.youngs_modulus")
    young = body.potential.parameter("neo_hookean.youngs_modulus")
    assert abs(float(found.slopes["neo_hookean.youngs_modulus"] * young) / found.factor - 1.0) < 1e-8


@local_energy("well", over="pairs", x=Node("m", ("d",)), m=Node("kg"), a=Parameter("J"), b=Parameter("m"))
def well(x, m, a, b):
    """A pair energy with a branch."""
    r = (x[0] - x[1]).norm()
    return m[0] * m[1] * a * ti.select(r < 1.2, (r / b - 1.0) ** 4 + ti.exp(-r), ti.exp(-r / b))


def test_curvature_of_pairs() -> None:
    """phi . H phi and its derivatives by positions, masses and parameters, beside differences of H."""
    rng = np.random.default_rng(3)
    of = Fields({"x": rng.uniform(0.0, 2.0, (6, 2)), "m": rng.uniform(0.5, 1.5, 6)})
    made = Potential(of, [bind(well, of, parameters={"a": 1.3, "b": 0.7})])
    curved = ModeCurvature(made.terms, ["x"], {})
    phi = rng.normal(size=(6, 2))
    found = curved.derivatives({"x": phi}, ["x", "m", "well.a", "well.b"], 0.0)

    def curvature() -> float:
        return float(np.sum(phi * made.product({"x": phi}, "x")))

    assert abs(curved.value({"x": phi}, 0.0) / curvature() - 1.0) < 1e-12
    for name, slope in found.items():
        values = of[name].values.copy() if name in of else made.parameter(name)
        way = rng.normal(size=values.shape)

        def moved(h: float, name: str = name, values: np.ndarray = values, way: np.ndarray = way) -> float:
            if name in of:
                of[name].set(values + h * way)
            else:
                made.set_parameter(name, values + h * way)
            return curvature()

        h = 1e-3
        slopes = [(moved(k * h) - moved(-k * h)) / (2.0 * k * h) for k in (1, 2, 3)]
        moved(0.0)
        by_differences = (15.0 * slopes[0] - 6.0 * slopes[1] + slopes[2]) / 10.0
        assert abs(np.sum(slope * way) / by_differences - 1.0) < 1e-9, name
