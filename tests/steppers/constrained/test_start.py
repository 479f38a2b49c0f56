"""Starts with constraints: dependent ones, violations, projections, and what cannot move."""

import re
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Hold, Potential, UserError, bind
from minusgrad.errors import TermError
from minusgrad.plugin import Constraints
from minusgrad.steppers.minimisers.constrained_newton import ConstrainedNewton
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.systems.system import System
from minusgrad_elastic.rods import rod
from minusgrad_elastic.springs import spring
from tests.support.mechanisms import mechanism, state, violation

LINE = np.array([[0.0] * 3, [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
REST, ONES = 0.0 * LINE, np.ones(3)


def rods(*pairs: tuple[int, int], length: Any) -> list:
    return [(rod, {"tuples": [list(p) for p in pairs], "data": {"length": length}})]


def combined(element: str, *others: str) -> str:
    listed = "; ".join(f"constraint 'rod', {other}" for other in others)
    return f"constraint 'rod', {element}: its gradient is a combination of those of others ({listed})"


IN_LINE = combined("element 2 (nodes 0, 2)", "element 0 (nodes 0, 1)", "element 1 (nodes 1, 2)")
TWICE = combined("element 2 (nodes 1, 0)", "element 0 (nodes 0, 1)")
FIRST, SECOND = "constraint 'rod', element 0 (nodes 0, 1)", "constraint 'rod', element 1 (nodes 1, 2)"
BAD: list[tuple[Any, dict, str]] = [
    (
        rods((0, 1), (1, 2), (0, 2), length=[1.0, 1.0, 2.0]),
        {},
        f"{IN_LINE} at the start, which is a singular configuration, as of rods in line; start elsewhere",
    ),
    (rods((0, 1), (1, 2), (1, 0), length=1.0), {}, f"{TWICE}: it is redundant; leave one of them out"),
    (
        rods((0, 1), (1, 2), (1, 0), length=[1.0, 1.0, 1.2]),
        {},
        f"{TWICE}: they contradict each other; correct the data of one of them",
    ),
    (
        rods((0, 1), (1, 2), length=[1.0, 1.1]),
        {},
        f"{SECOND}: is violated at the start, got g = -0.21, a distance of 0.037 of the largest coordinate;"
        " correct the start, or move it there by project_start = true",
    ),
    (
        rods((0, 1), (1, 1), length=1.0),
        {},
        "constraint 'rod', element 1 (nodes 1, 1): its gradient is zero at the start, so that no force can",
    ),
    (
        rods((0, 1), (1, 2), length=1.0),
        {"x": LINE[[0, 0, 1]], "projected": ["rod"]},  # atoms at one place have no direction
        f"{FIRST}: its gradient is zero at the start, so that no force can keep it; write g with a gradient",
    ),
    (
        rods((0, 1), length=1.0),
        {"v": LINE},
        f"{FIRST}: velocities violate it at the start, got dg/dt = 2; correct the start, or move it",
    ),
    (
        rods((0, 1), length=1.0),
        {"holds": [Hold("both", "x", np.array([0, 1]))]},
        f"{FIRST}: all that it binds is held, got nothing that may move; leave it out",
    ),
    (rods((0, 1), length=1.0), {"m": np.array([1.0, 0.0, 1.0])}, "'x' moves with inertia 0 at node 1"),
    (
        rods((0, 1), (1, 2), (0, 2), length=[1.0, 1.0, 3.0]),
        {"x": LINE + np.array([[0.0] * 3, [0.0, 0.2, 0.0], [0.0] * 3]), "projected": ["rod"]},
        "no projection reaches it, got g = ",
    ),
]


@pytest.mark.parametrize(("kept", "changes", "message"), BAD)
def test_what_is_refused(kept: Any, changes: dict, message: str) -> None:
    given = {"x": LINE, "v": REST, "m": ONES, **changes}
    with pytest.raises(UserError, match=re.escape(message)):
        mechanism(given.pop("x"), given.pop("v"), given.pop("m"), kept, 0.1, **given)


def test_the_state_is_not_changed_by_the_search_for_a_singular_configuration() -> None:
    kept = rods((0, 1), (1, 2), length=1.0)
    one = mechanism(LINE, REST, ONES, kept, 0.1)
    np.testing.assert_array_equal(state(one), (LINE, REST))


def test_a_start_is_projected_by_the_shortest_way() -> None:
    """In the metric of masses: the centre of mass stays, and so does momentum."""
    masses = np.array([1.0, 2.0, 4.0])
    v = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    kept = rods((0, 1), (1, 2), length=[1.0, 1.1])
    one = mechanism(LINE, v, masses, kept, 0.1, projected=["rod"])
    x, w = state(one)
    assert violation(one) < 1e-14
    np.testing.assert_allclose(masses @ x, masses @ LINE, atol=1e-14)
    np.testing.assert_allclose(masses @ w, masses @ v, atol=1e-14)
    r = np.diff(x, axis=0)
    np.testing.assert_allclose((r * np.diff(w, axis=0)).sum(axis=1), 0.0, atol=1e-15)
    assert (w[:, 1:] == v[:, 1:]).all()


def test_held_nodes_are_not_projected() -> None:
    held = Hold("end", "x", np.array([0]))
    one = mechanism(LINE, REST, ONES, rods((0, 1), length=1.5), 0.1, holds=[held], projected=["rod"])
    np.testing.assert_allclose(state(one)[0][:2], [[0.0] * 3, [1.5, 0.0, 0.0]], atol=1e-15)


def test_rounding_of_a_start_is_projected_without_a_word() -> None:
    x = LINE + 1e-9 * np.random.default_rng(0).normal(size=LINE.shape)
    one = mechanism(x, REST, ONES, rods((0, 1), (1, 2), length=1.0), 0.1)
    assert 0.0 < np.abs(state(one)[0] - x).max() < 1e-8
    assert violation(one) < 1e-15


def folded(count: int) -> tuple[np.ndarray, np.ndarray]:
    """A slack line of nodes between two supports, a little out of line, and the sizes of its parts."""
    s = np.linspace(0.0, 1.0, count + 1)
    x = np.stack([2.0 * s, -6.0 * s * (1.0 - s)], 1)
    x += 0.05 / count * np.random.default_rng(0).normal(size=x.shape)
    return x, np.linalg.norm(np.diff(x, axis=0), axis=1)


def test_a_chain_that_begins_far_too_long() -> None:
    """Rods that are to be shorter by a quarter: Newton's steps alone lead nowhere."""
    x, length = folded(50)
    ends = Hold("ends", "x", np.array([0, 50]))
    kept = rods(*((i, i + 1) for i in range(50)), length=length / 1.3)
    one = mechanism(x, 0.0 * x, np.ones(51), kept, 0.01, holds=[ends], projected=["rod"])
    assert violation(one) < 1e-15
    with pytest.raises(UserError, match="the start is so far from them that no single projection reaches"):
        one.give_back_start()


def test_motions_and_searches_judge_alike() -> None:
    """The same words, whatever the masses: those of starts are the same for both."""
    kept = [bind(rod, fields := Fields({"x": LINE}), tuples=[[0, 1], [1, 2], [1, 0]], data={"length": 1.0})]
    springs = bind(spring, fields, tuples=[[0, 2]], data={"rest": 1.0}, parameters={"stiffness": 1.0})
    with pytest.raises(TermError) as search:
        ConstrainedNewton(
            System(Potential(fields, [springs]), constraints=Constraints(fields, kept)), [Unknown("x")]
        )
    with pytest.raises(TermError) as motion:
        mechanism(LINE, REST, [1.0, 1e-9, 4.0], rods((0, 1), (1, 2), (1, 0), length=1.0), 0.1)
    assert str(search.value) == str(motion.value)


@pytest.mark.parametrize(("bent", "singular"), [(1e-7, True), (1e-4, False)])
def test_the_threshold_of_dependence(bent: float, singular: bool) -> None:
    """Two rods and their sum, out of line by an angle: the least singular value is about that angle."""
    x = LINE + np.array([[0.0] * 3, [0.0, bent, 0.0], [0.0] * 3])
    each = [np.linalg.norm(x[a] - x[b]) for a, b in ((0, 1), (1, 2), (0, 2))]
    kept = rods((0, 1), (1, 2), (0, 2), length=each)
    if not singular:
        mechanism(x, REST, ONES, kept, 0.1)
        return
    with pytest.raises(TermError, match="a singular configuration, as of rods in line; start elsewhere"):
        mechanism(x, REST, ONES, kept, 0.1)
