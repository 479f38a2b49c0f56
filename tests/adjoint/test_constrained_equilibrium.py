"""Sensitivities of equilibria under constraints, against differences of sixth order."""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.adjoint.equilibria.equilibrium import Equilibrium
from minusgrad.errors import SingularSystemError
from minusgrad.plugin import Constraints
from minusgrad.steppers.minimisers.constrained_newton import ConstrainedNewton
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.systems.system import System
from tests.support.hanging_chains import chain, rod, tie, weight

RODS = 5
WEIGHTS = np.random.default_rng(2).normal(size=(RODS + 1, 2))


def hanging(kind=ConstrainedNewton, force: float = 1e-13) -> Equilibrium:
    """A chain of rods with a spring between its ends' neighbours."""
    return Equilibrium(chain(RODS, kind, tolerances=Tolerances(force=force), more=[tie]), [], 2000)


def value(one: Equilibrium) -> float:
    assert one.find(), one.trouble
    return float((WEIGHTS * one.potential.fields["x"].values).sum())


def slope(f: Callable[[float], float], h: float) -> float:
    weights = {1: 0.75, 2: -0.15, 3: 1.0 / 60.0}
    return sum(w * (f(k * h) - f(-k * h)) for k, w in weights.items()) / h


def put(one: Equilibrium, name: str, values: np.ndarray) -> None:
    if name in one.potential.fields:
        one.set_input(name, values)
    elif name == "rod.length":
        one.owner(name).parts["rod"].set_datum("length", values)
    else:
        one.owner(name).set_parameter(name, values)


START = {"rod.length": np.full(RODS, 2.6 / RODS), "weight.g": np.array(9.81), "tie.k": np.array(0.7)}
NAMES = ["rod.length", "weight.g", "tie.k", "x"]


def ways(one: Equilibrium) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The values of the inputs, and a direction of each; of x that of the supports."""
    rng, found = np.random.default_rng(3), dict(START) | {"x": one.potential.fields["x"].values.copy()}
    along = {n: rng.uniform(0.5, 1.0, v.shape) * np.abs(v) for n, v in found.items()}
    along["x"] = np.where(one.inputs_of("x"), rng.normal(size=along["x"].shape), 0.0)
    return {n: (found[n], along[n]) for n in NAMES}


@pytest.mark.parametrize("kind", [ConstrainedNewton, LBFGS], ids=lambda kind: kind.__name__)
def test_gradients(kind) -> None:
    one = hanging(kind, 1e-13 if kind is ConstrainedNewton else 1e-11)
    assert set(one.inputs) == {*NAMES, "weight.m"}
    value(one)
    gradients = one.pulled_back({"x": WEIGHTS}, NAMES)
    for name, (values, along) in ways(one).items():

        def shifted(s: float, name=name, values=values, along=along) -> float:
            put(one, name, values + s * along)
            return value(one)

        expected = slope(shifted, 4e-3)
        put(one, name, values)
        found = float((gradients[name] * along).sum())
        assert found == pytest.approx(expected, rel=1e-9 if kind is ConstrainedNewton else 1e-7), name


def test_tangents_are_the_transpose() -> None:
    one = hanging()
    value(one)
    gradients = one.pulled_back({"x": WEIGHTS}, NAMES)
    every = {name: along for name, (_, along) in ways(one).items()}
    moved = one.tangent(every)
    forward = (WEIGHTS * moved["x"]).sum()
    backward = sum((gradients[n] * d).sum() for n, d in every.items())
    assert forward == pytest.approx(backward, rel=1e-12)
    assert one.kept is not None
    jacobian = one.kept.manifold.whole
    lengths = 2.0 * START["rod.length"] * every["rod.length"]
    np.testing.assert_allclose(jacobian @ moved["x"].ravel(), lengths, atol=1e-12)


def test_a_chain_beside_a_held_one_is_singular() -> None:
    """Its multipliers are known, and where it hangs is not."""
    x = np.array([[0.0, 0.0], [0.3, -0.4], [0.6, 0.0], [2.0, 0.0], [2.5, 0.0]])
    fields = Fields({"x": x})
    free = np.ones((5, 2), bool)
    free[[0, 2]] = False
    terms = [bind(weight, fields, parameters={"m": [1.0, 1.0, 1.0, 0.0, 0.0], "g": 9.81})]
    pairs = [[0, 1], [1, 2], [3, 4]]
    kept = Constraints(fields, [bind(rod, fields, tuples=pairs, data={"length": np.full(3, 0.5)})])
    search = ConstrainedNewton(
        System(Potential(fields, terms), constraints=kept),
        [Unknown("x")],
        Tolerances(force=1e-9),
        free={"x": free},
    )
    one = Equilibrium(search, [], 20)
    assert one.find()
    with pytest.raises(SingularSystemError, match="the Hessian is singular"):
        one.pulled_back({"x": np.ones((5, 2))}, ["weight.g"])
