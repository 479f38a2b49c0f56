"""Copies: equal blocks of nodes that share weights, as the samples of a batch; derivatives and refusals."""

from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Node, Potential, bind, local_energy
from minusgrad.check import term_check
from minusgrad.elements.node_tuples import AllCombinations
from minusgrad.energies.fields import Body
from minusgrad.energies.values.drawn_values import DrawnValues
from minusgrad.errors import EnergyError
from minusgrad.plugin import Evolution
from minusgrad.steppers.systems.system import System
from tests.support.layouts import in_lanes
from tests.support.networks import HIDDEN, INPUTS, aim, drift, fire, weigh

COPIES = 3
AT = ("weigh.w", "fire.b", "s")


def batch(precision: str = "f64", **given: Any) -> tuple[Potential, dict[str, np.ndarray]]:
    """A layer for three samples of five inputs, and the distance of its neurons from their goals."""
    rng = np.random.default_rng(4)
    shapes = {"w": (HIDDEN, INPUTS), "b": (HIDDEN,), "s": (COPIES, INPUTS), "goal": (COPIES, HIDDEN)}
    at = {name: rng.normal(size=shape).astype(np.float32).astype(float) for name, shape in shapes.items()}
    fields = Fields({"s": at["s"].ravel(), "goal": at["goal"].ravel()}, precision=precision)
    layer = [
        bind(
            weigh,
            fields,
            parameters={"w": given.get("w", at["w"])},
            sizes={"hidden": HIDDEN},
            copies=COPIES,
        ),
        bind(fire, fields, parameters={"b": given.get("b", at["b"])}, copies=COPIES),
    ]
    return Potential(fields, [bind(aim, fields, renamed={"y": "h"})], layer), at


def by_hand(w: Any, b: Any, s: Any, goal: Any) -> tuple[Any, dict[str, Any]]:
    """The loss of the batch, and its gradients."""
    h = np.tanh(s @ w.T + b)
    left = h - goal
    back = left * (1.0 - h * h)
    gradients = {"weigh.w": back.T @ s, "fire.b": back.sum(axis=0), "s": (back @ w).ravel()}
    return 0.5 * (left * left).sum(), gradients


@pytest.mark.parametrize("lanes", [False, True])
@pytest.mark.parametrize(("precision", "room"), [("f64", 1e-12), ("f32", 2e-5)])
def test_a_batch_against_numpy(
    precision: str, room: float, lanes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Value and gradients as above; Hessian products by a complex step of them."""
    in_lanes(monkeypatch, lanes)
    potential, at = batch(precision)
    value, gradients = by_hand(**at)
    assert potential.value() == pytest.approx(value, rel=room)
    rng = np.random.default_rng(5)
    along = {"w": rng.normal(size=(HIDDEN, INPUTS)), "b": rng.normal(size=HIDDEN)}
    along["s"] = rng.normal(size=(COPIES, INPUTS))
    moved = {name: values + 1e-30j * along.get(name, 0.0) for name, values in at.items()}
    products = by_hand(**moved)[1]
    tangents = {"weigh.w": along["w"], "fire.b": along["b"], "s": along["s"].ravel()}
    for name in AT:
        found, product = potential.gradient(name), potential.product(tangents, name)
        expected = gradients[name], products[name].imag / 1e-30
        assert found.shape == product.shape == expected[0].shape
        np.testing.assert_allclose(found, expected[0], rtol=0, atol=10 * room, err_msg=name)
        np.testing.assert_allclose(product, expected[1], rtol=0, atol=50 * room, err_msg=name)


def test_each_sample_is_combined_with_itself() -> None:
    rows = AllCombinations.of_sizes(2, 3, copies=2)
    expected = [[2 * b + i, 3 * b + j] for b in range(2) for i in range(2) for j in range(3)]
    assert rows.nodes.tolist() == expected
    assert (rows.form, rows.count, rows.copies) == ((2, 3), 12, 2)


def test_weights_are_set_and_reported_for_one_copy() -> None:
    potential, at = batch()
    np.testing.assert_array_equal(potential.parameter("weigh.w"), at["w"])
    potential.set_parameter("weigh.w", 2.0 * at["w"])
    potential.set_parameter("fire.b", at["b"][::-1])
    moved = at | {"w": 2.0 * at["w"], "b": at["b"][::-1]}
    assert potential.value() == pytest.approx(by_hand(**moved)[0], rel=1e-13)
    assert potential.twin().value() == pytest.approx(by_hand(**moved)[0], rel=1e-13)
    assert (potential.shape("weigh.w"), potential.shape("fire.b")) == ((HIDDEN, INPUTS), (HIDDEN,))


def test_drawn_weights_do_not_depend_on_the_number_of_copies() -> None:
    def drawn() -> DrawnValues:
        return DrawnValues("weigh.w", np.random.default_rng(6), 0.0, deviation=0.3)

    potential, _ = batch(w=drawn())
    fields = Fields({"s": np.ones(INPUTS)})
    alone = bind(weigh, fields, parameters={"w": drawn()}, sizes={"hidden": HIDDEN})
    np.testing.assert_array_equal(
        potential.parameter("weigh.w"), alone.parameters["w"].rows.reshape(HIDDEN, INPUTS)
    )


def test_one_value_is_for_all_copies() -> None:
    potential, at = batch(w=0.25)
    full = at | {"w": np.full((HIDDEN, INPUTS), 0.25)}
    assert potential.value() == pytest.approx(by_hand(**full)[0], rel=1e-13)
    assert potential.gradient("weigh.w") == pytest.approx(by_hand(**full)[1]["weigh.w"].sum(), rel=1e-12)


@pytest.mark.parametrize("tuples", [term_check.MOST_TUPLES, 20])
def test_check_finds_nothing(tuples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On all elements, and on a random part of them, as it takes of large terms."""
    monkeypatch.setattr(term_check, "MOST_TUPLES", tuples)
    findings = list(term_check.of_potential(batch()[0]))
    assert {"weigh.w", "fire.b"} <= {f"{one.term}.{one.argument}" for one in findings}
    assert [one for one in findings if not one.passed] == []


@local_energy("near", over="pairs", s=Node(), symmetries=("permutation",))
def near(s):
    return (s[0] - s[1]) * (s[0] - s[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"copies": 2}, "weigh.copies: 15 nodes of 'input' are not 2 equal blocks; give a divisor of 15"),
        ({"copies": 0}, "weigh.copies: needs one at least, got 0; correct it"),
        (
            {"tuples": [[0, 0]]},
            "weigh.copies: are of all nodes, or of all combinations of two sets, got 3 of other elements;"
            " leave `copies` out",
        ),
        (
            {"parameters": {"w": np.ones((7, 15))}},
            "weigh.w: needs shape [], [35] or [7, 5], got [7, 15]; reshape it",
        ),
        (
            {"sizes": {"hidden": 7, "input": 15}},
            "weigh.sizes: 'input' has 15 nodes by its fields, got 15 in each of 3 copies; correct it, or"
            " leave it out",
        ),
    ],
)
def test_unfit_copies_are_refused(change: dict[str, Any], message: str) -> None:
    fields = Fields({"s": np.ones(15)})
    given: dict[str, Any] = {"parameters": {"w": 1.0}, "sizes": {"hidden": 7}, "copies": 3}
    with pytest.raises(EnergyError) as error:
        bind(weigh, fields, **(given | change))
    assert str(error.value) == message


def test_pairs_and_bodies_have_no_copies() -> None:
    fields = Fields({"s": np.ones(6), "z": np.ones(6)})
    text = "copies: are of all nodes, or of all combinations of two sets, got 2 of other elements"
    with pytest.raises(EnergyError, match=f"near.{text}"):
        bind(near, fields, copies=2)
    with pytest.raises(EnergyError, match=f"fire.{text}"):
        bind(fire, fields, parameters={"b": 0.0}, bodies=[Body("some", [0, 1])], copies=2)
    with pytest.raises(EnergyError, match=r"fire\.copies: 6 nodes are not 4 equal blocks"):
        bind(fire, fields, parameters={"b": 0.0}, copies=4)


def test_a_program_of_copies_is_that_of_each() -> None:
    """Samples do not see each other: a batch of three steps as three programs of one."""
    rng = np.random.default_rng(8)
    x, w = rng.normal(size=(COPIES, INPUTS)), 0.3 * rng.normal(size=(INPUTS, INPUTS))

    def stepped(start: np.ndarray, copies: int) -> np.ndarray:
        fields = Fields({"x": start.ravel()})
        of_layer = {"sizes": {"hidden": INPUTS}, "parameters": {"w": w}, "copies": copies}
        layer = bind(weigh, fields, renamed={"s": "x"}, gives="v", **of_layer)  # type: ignore[arg-type]
        maps = [layer, bind(drift, fields)]
        program = Evolution(System(Potential(fields, [], maps)), {"x": "x_next"}, dt=0.1)
        program.advance(20)
        return fields["x"].values.copy()

    together = stepped(x, COPIES).reshape(x.shape)
    alone = np.array([stepped(one, 1) for one in x])
    np.testing.assert_array_equal(together, alone)
