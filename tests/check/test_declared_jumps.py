"""Maps that jump where a condition changes, as impacts do: a warning; jumps by casts: findings."""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_map, ti
from minusgrad.check import term_check
from minusgrad.check.decisions import decisions
from minusgrad.check.questions import Finding
from minusgrad.energies.local_map import LocalMap
from minusgrad.engine import runtime

runtime.start()
X, V, Y = Node("m"), Node("m/s"), np.linspace(-1.0, 1.1, 40)


def bounced(x, v, e):
    """A mass that meets the ground is thrown up."""
    return ti.select((x[0] < 0.3) & (v[0] < 0.0), -(1.0 + e) * v[0], 0.0) + 0.1 * x[0] * x[0]


def branched(x, v, e):
    """The same by a branch."""
    jump = 0.1 * x[0] * x[0]
    if x[0] < 0.3 and v[0] < 0.0:
        jump -= (1.0 + e) * v[0]
    return jump


def stepped(x, v, e):
    """Jumps without a condition, beside one."""
    return bounced(x, v, e) + ti.floor(4.0 * x[0]) * v[0]


def pushed(x, v, e):
    """Pairs of nodes that are close."""
    r = x[0] - x[1]
    return ti.select((r * r < 0.2) & (r * (v[0] - v[1]) < 0.0), e * (v[0] - v[1]), 0.0)


def asked(function: Callable, over: str = "nodes") -> tuple[LocalMap, list[Finding]]:
    made = local_map(function.__name__, gives="y", over=over, x=X, v=V, e=Parameter(default=0.5))(function)
    fields = Fields({"x": Y, "v": np.sin(7.0 * Y + 3.0)})
    return made, list(term_check.of_potential(Potential(fields, [], [bind(made, fields)])))


def wrong(findings: list[Finding]) -> set[tuple[str, str]]:
    return {(f.argument, f.question) for f in findings if not f.passed}


@pytest.mark.parametrize(("function", "over"), [(bounced, "nodes"), (branched, "nodes"), (pushed, "pairs")])
def test_a_map_that_jumps_by_a_condition_is_warned_of(function: Callable, over: str) -> None:
    made, findings = asked(function, over)
    assert wrong(findings) == set()
    warned = {f.text.strip() for f in findings if f.warning and f.question != "units"}
    text = "jumps where one of its conditions changes, as impacts do; which side is taken has no derivative"
    assert warned == {f"{made.name} {text}"}


@pytest.mark.parametrize("right", [True, False])
def test_a_state_on_a_condition_is_a_warning(right: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One mass lies where the condition changes; a wrong gradient of the others is found there."""
    gradient = Potential.gradient
    monkeypatch.setattr(Potential, "gradient", lambda *args: (1.0 if right else 1.01) * gradient(*args))
    made = local_map("bounced", gives="y", over="nodes", x=X, v=V, e=Parameter(default=0.5))(bounced)
    x, v = Y.copy(), np.sin(7.0 * Y + 3.0)
    x[20], v[20] = 0.3, -0.5
    fields = Fields({"x": x, "v": v})
    findings = list(term_check.of_potential(Potential(fields, [], [bind(made, fields)])))
    given = next(
        f for f in findings if (f.argument, f.question) == ("x", "taylor")
    )  # the given state is first
    assert given.passed == right
    assert given.warning == right
    assert (wrong(findings) == set()) == right


def test_a_jump_by_a_cast_is_still_a_finding() -> None:
    assert ("x", "path") in wrong(asked(stepped)[1])


def test_a_wrong_gradient_of_a_map_that_jumps_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Potential.gradient
    monkeypatch.setattr(Potential, "gradient", lambda *args: 1.01 * right(*args))
    found = wrong(asked(bounced)[1])
    assert {("x", "path"), ("v", "path"), ("x", "taylor"), ("v", "taylor")} <= found


def test_decisions_follow_the_elements() -> None:
    made = local_map("bounced", gives="y", over="nodes", x=X, v=V, e=Parameter(default=0.5))(bounced)
    fields = Fields({"x": [0.2, 0.2, 0.5], "v": [-1.0, 1.0, -1.0]})
    term = bind(made, fields)
    (found,) = decisions(term, 0.0) or ()
    assert list(np.frombuffer(found, bool)) == [True, False, False]
