"""`check` finds gradients that are wrong, and says nothing against those that are right."""

import json
from pathlib import Path

import numpy as np
import pytest

from minusgrad import Datum, Fields, Node, Parameter, Potential, Time, bind, check, local_energy, ti
from minusgrad.door import build
from minusgrad_gravity.gravity import gravity

SCENES = Path(__file__).parent.parent / "scenes"
X = Node("m", ("d",))


@local_energy("pixel", over="nodes", x=X, k=Parameter(default=1.0))
def pixel(x, k):
    """A trap: the coordinate is cast to an integer, as in the seed's laser path."""
    p = ti.cast(3.0 * x[0][0], ti.i32)
    return k * p * p + x[0].norm_sqr()


@local_energy("bilinear", over="nodes", x=X)
def bilinear(x):
    """Its twin: the offset within the pixel is kept, so the value moves with the coordinate."""
    cell = ti.floor(3.0 * x[0][0])
    offset = 3.0 * x[0][0] - cell
    return (1.0 - offset) * cell * cell + offset * (cell + 1.0) * (cell + 1.0)


@local_energy("floor", over="nodes", x=X, k=Parameter(default=1.0))
def hinge(x, k):
    """A floor as a penalty: zero above, and not dead."""
    depth = ti.max(0.2 - x[0][0], 0.0)
    return k * depth * depth * depth


@local_energy("driven", over=2, x=X, rest=Datum("m", differentiable=True), k=Parameter(default=2.0), t=Time())
def driven(x, rest, k, t):
    """A spring whose stiffness swings, with a differentiable rest length for each."""
    stretch = (x[0] - x[1]).norm() - rest
    return 0.5 * k * (1.0 + 0.3 * ti.sin(t)) * stretch * stretch


@local_energy("cusp", over="nodes", x=X)
def undefined(x):
    """Not a number wherever the coordinate is negative."""
    return ti.log(x[0][0])


def failed(findings) -> set[tuple[str, str]]:
    return {(f.argument, f.question) for f in findings if not f.passed}


@pytest.mark.parametrize("energy", [gravity, bilinear, hinge, driven], ids=lambda e: e.name)
def test_right_gradients_are_left_in_peace(energy) -> None:
    for seed in range(3):
        findings = list(check.of_energy(energy, seed=seed))
        assert failed(findings) == set()
        assert {f.argument for f in findings} == {"", *energy.differentiable}
        assert {f.question for f in findings} == {"value", "taylor", "path"}


def test_orders_are_fitted_and_not_assumed() -> None:
    orders = [f.figure for f in check.of_energy(driven) if f.question == "taylor" and f.argument == "x"]
    assert len(orders) == 4
    assert all(1.9 < order < 2.1 for order in orders)


def test_a_cast_coordinate_is_seen_by_the_path_alone() -> None:
    findings = list(check.of_energy(pixel))
    assert failed(findings) == {("x", "path")}
    text = next(f.text for f in findings if not f.passed)
    assert text.startswith("U changes by ")
    assert "its gradient accounts for" in text
    assert "cast, cut off or frozen" in text


@pytest.mark.parametrize("argument", ["x", "rest", "k", "t"])
def test_a_wrong_gradient_is_seen_by_both(monkeypatch: pytest.MonkeyPatch, argument: str) -> None:
    """One per cent too much, for each argument in turn."""
    right = Potential.gradient

    def wrong(self, wrt, t=0.0):
        return right(self, wrt, t) * (1.01 if wrt.split(".")[-1] == argument else 1.0)

    monkeypatch.setattr(Potential, "gradient", wrong)
    assert failed(check.of_energy(driven)) == {(argument, "taylor"), (argument, "path")}


def test_a_miscompiled_value_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Potential.by_term
    monkeypatch.setattr(
        Potential, "by_term", lambda self, t=0.0: {n: 1.001 * v for n, v in right(self, t).items()}
    )
    assert ("", "value") in failed(check.of_energy(driven))


def test_a_state_without_a_finite_energy_is_named() -> None:
    findings = [f for f in check.of_energy(undefined) if not f.passed]
    assert findings
    assert all(f.text.startswith("U is not finite at ") for f in findings if f.figure is None)


def test_a_scene_is_left_as_it_was_and_every_term_is_asked() -> None:
    simulation = build(SCENES / "two_body.toml")
    before = {n: f.values.copy() for n, f in simulation.fields.items()}
    findings = list(check.of_potential(simulation.potential))
    assert failed(findings) == set()
    assert {f.term for f in findings} == {"gravity"}
    assert all(np.array_equal(before[n], f.values) for n, f in simulation.fields.items())
    json.dumps([f.as_dict() for f in findings])


def test_a_parameter_at_its_bound_is_turned_inwards() -> None:
    fields = Fields({"x": np.random.default_rng(0).normal(size=(4, 3)), "m": np.ones(4)})
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0, "softening": 0.0})])
    assert failed(check.of_potential(potential)) == set()


def test_many_elements_are_judged_by_a_part() -> None:
    rng = np.random.default_rng(0)
    fields = Fields({"x": rng.normal(size=(3000, 3)), "m": np.ones(3000)})
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0, "softening": 0.1})])
    assert failed(check.of_potential(potential)) == set()


@local_energy("unguarded", over=2, x=X)
def unguarded(x):
    """Its gradient is 0 / 0 where the nodes coincide."""
    return (x[0] - x[1]).norm()


def test_an_unguarded_root_is_named_as_such() -> None:
    fields = Fields({"x": np.zeros((2, 3))})
    findings = list(check.of_potential(Potential(fields, [bind(unguarded, fields, tuples=[[0, 1]])])))
    assert {(f.argument, f.question) for f in findings if not f.passed} == {("x", "taylor")}
    assert "a root or norm of zero without a guard" in next(f.text for f in findings if not f.passed)


@local_energy("elastic_band", over=2, x=X, k=Parameter(default=1.3))
def band(x, k):
    """A force that does not weaken with the length: U has a cusp where the nodes meet, and there no force."""
    square = (x[0] - x[1]).norm_sqr()
    return k * ti.select(square > 0.0, ti.sqrt(square), 0.0) + 0.1 * x[1].norm_sqr()


def test_a_kink_at_the_very_state_is_no_wrong_gradient(monkeypatch) -> None:
    """The second edge has no length: U grows like |h| to both sides of it."""
    fields = Fields({"x": [[0.0, 0.1], [1.0, 0.3], [1.0, 0.3], [0.4, 2.0]]})
    potential = Potential(fields, [bind(band, fields, tuples=[[0, 1], [1, 2], [2, 3]])])
    found = list(check.of_potential(potential))
    assert failed(found) == set()
    here = next(f for f in found if (f.argument, f.question) == ("x", "taylor"))
    assert here.text == "a kink here: the gradient is the mean of both sides at the given state"
    right = check.Potential.gradient
    monkeypatch.setattr(check.Potential, "gradient", lambda *args: 1.001 * right(*args))
    assert ("x", "taylor") in failed(f for f in check.of_potential(potential) if "given state" in f.text)
