"""Optimality criteria against a minimum on paper; bounds, moves, the same bits however cut, refusals."""

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy
from minusgrad.adjoint.equilibria.mean_constraint import MeanConstraint
from minusgrad.errors import EnergyError
from minusgrad.steppers.minimisers.optimality_criteria import OptimalityCriteria
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown

C = np.array([1.0, 4.0, 9.0, 0.25])


@local_energy("bars", over="nodes", a=Node("1", bounds=(0.0, np.inf)), c=Parameter())
def bars(a, c):
    """The compliance of bars side by side, c / a, of cross section a."""
    return c / a[0]


class Bars:
    """The compliance with a limit of the mean section; what a minimiser asks of it goes to the potential."""

    def __init__(self, mean: float, factor: float = 1.0):
        self.fields = Fields({"a": np.full(4, 0.5)})
        self._potential = Potential(self.fields, [bind(bars, self.fields, parameters={"c": factor * C})])
        self._limit = MeanConstraint(self._potential, "a", mean)

    def constraint(self) -> float:
        return self._limit.value()

    def constraint_slopes(self) -> dict[str, np.ndarray]:
        return {"a": self._limit.slope("a")}

    def __getattr__(self, name: str):
        return getattr(self._potential, name)


def search(mean: float = 0.5, factor: float = 1.0, **bounds: float) -> OptimalityCriteria:
    unknown = Unknown("a", lower=bounds.get("lower", 1e-3), upper=bounds.get("upper", 10.0))
    return OptimalityCriteria(Bars(mean, factor), [unknown], Tolerances(change=1e-10), move=0.2)


def test_sections_grow_with_the_root_of_the_load() -> None:
    """sum c / a under a mean of 1/2: a = 2 sqrt(c) / sum sqrt(c)."""
    one = search()
    one.advance(100)
    assert one.outcome == "settled"
    a = one.objective.fields["a"].values
    np.testing.assert_allclose(a, 2.0 * np.sqrt(C) / np.sqrt(C).sum(), rtol=1e-9)
    assert a.mean() == pytest.approx(0.5, rel=1e-11)


def test_a_component_at_its_bound_leaves_the_others_the_rest() -> None:
    one = search(upper=0.8)
    one.advance(200)
    free = np.array([1.0, 2.0, 0.5])
    expected = free * (2.0 - 0.8) / free.sum()
    np.testing.assert_allclose(one.objective.fields["a"].values[[0, 1, 3]], expected, rtol=1e-8)
    assert one.objective.fields["a"].values[2] == 0.8


def test_no_step_is_longer_than_the_move() -> None:
    one = search()
    before = one.objective.fields["a"].values.copy()
    one.advance(1)
    assert np.abs(one.objective.fields["a"].values - before).max() == pytest.approx(0.2, rel=1e-12)


def test_a_limit_that_is_not_reached_leaves_the_bounds() -> None:
    one = search(mean=20.0, upper=1.0)
    one.advance(20)
    np.testing.assert_array_equal(one.objective.fields["a"].values, 1.0)


def test_the_same_bits_however_it_is_cut() -> None:
    whole, later = search(), search()
    whole.advance(4)
    later.objective.fields["a"].set(whole.objective.fields["a"].values)
    later.restore(whole.state())
    for one in (whole, later):
        one.advance(6)
    assert len({one.objective.fields["a"].values.tobytes() for one in (whole, later)}) == 1


def test_an_energy_that_rises_sends_components_to_their_lower_bound() -> None:
    one = search(factor=-1.0)
    one.advance(5)
    assert one.outcome == "stuck"


def test_refused() -> None:
    class Falling(Bars):
        def constraint_slopes(self) -> dict[str, np.ndarray]:
            return {"a": np.array([0.25, 0.25, 0.0, 0.25])}

    with pytest.raises(EnergyError) as message:
        OptimalityCriteria(Falling(0.5), [Unknown("a")])
    assert str(message.value) == (
        "optimality_criteria: its constraint must rise with every unknown, and does not with 1 of 4; leave"
        " those out"
    )
    fields = Fields({"v": np.zeros((3, 2))})
    with pytest.raises(EnergyError, match=r"'v': a mean needs numbers, got values of shape \[2\]"):
        MeanConstraint(Potential(fields, []), "v", 1.0)
