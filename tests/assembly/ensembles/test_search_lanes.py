"""Searches of members in lanes: the minima of ordinary searches, with bits that depend on no other member."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.assembly.ensembles.choice import member_stepper
from minusgrad.assembly.ensembles.members import Members
from minusgrad.assembly.ensembles.one_after_another import OneAfterAnother
from minusgrad.assembly.ensembles.search_lanes import SearchLanes
from minusgrad.assembly.validation import validate
from minusgrad.errors import MiscompiledError, NonFiniteError
from minusgrad.scene.document import load
from minusgrad.steppers.members.member_energies import MemberEnergies

CLUSTER = """
plugins = ["molecular"]
units = { system = "dimensionless" }
run = { steps = 1000 }

[state]
kind = "random_cluster"
n = 4
mass = 1.0
radius = 0.9
apart = 0.7

[[energy]]
kind = "lennard_jones"
epsilon = 1.0
sigma = 1.0

[stepper]
kind = "lbfgs"
gradient = 1e-7

[ensemble.vary]
"runtime.seed" = { range = { from = 1, to = 11, step = 1 } }
"""
SEEDS = 'ensemble.vary."runtime.seed".range.to='
TETRAHEDRON = -6.0
"""U of four atoms, each at the distance 2^(1/6) sigma from the others: -6 epsilon."""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.toml"
    path.write_text(CLUSTER)
    return path


def members(scene: Path, *overrides: str) -> Members:
    return Members(validate(load(scene, overrides)))


def searched(scene: Path, *overrides: str) -> SearchLanes:
    """The searches of all members at their ends."""
    made = SearchLanes(members(scene, *overrides))
    made.advance(1000)
    return made


def same(one: SearchLanes, other: SearchLanes, numbers: range) -> None:
    """These members have equal states and ends, bit for bit."""
    states = [made.own_state() for made in (one, other)]
    for name in states[0]:
        rows = [s[name][[m.row[k] for k in numbers]] for m, s in zip((one, other), states, strict=True)]
        assert rows[0].tobytes() == rows[1].tobytes(), name
    assert [one.ends.get(k) for k in numbers] == [other.ends.get(k) for k in numbers]


def test_they_end_where_ordinary_searches_end(scene: Path) -> None:
    lanes, ordinary = searched(scene), OneAfterAnother(members(scene))
    ordinary.advance(1000)
    assert lanes.lanes.energy == pytest.approx(np.full(11, TETRAHEDRON), abs=1e-12)
    assert lanes.ends == {k: type(e)(lanes.ends[k].step, e.outcome) for k, e in ordinary.ends.items()}
    for number in range(11):
        lanes.show(number)
        assert lanes.inner.outcome == "converged"
        assert lanes.inner.step == lanes.ends[number].step == pytest.approx(ordinary.ends[number].step, abs=5)
        assert lanes.inner.energy == pytest.approx(lanes.template.potential.value(), abs=1e-13)


def test_a_member_has_the_same_bits_in_any_number(scene: Path) -> None:
    some = searched(scene)
    same(some, searched(scene, f"{SEEDS}2"), range(2))
    same(some, searched(scene, f"{SEEDS}600"), range(11))  # more than one launch of the kernel takes
    same(some, searched(scene, "ensemble.member=7"), range(7, 8))


def test_cuts_and_checkpoints_change_no_bits(scene: Path) -> None:
    whole, cut, resumed = searched(scene), *(SearchLanes(members(scene)) for _ in range(2))
    for _ in range(7):
        cut.advance(1)
    resumed.restore(cut.state())
    for n in (3, 5, 1000):
        cut.advance(n)
    resumed.advance(1000)
    same(whole, cut, range(11))
    same(whole, resumed, range(11))
    assert whole.step == cut.step == resumed.step


def test_members_differ_in_parameters(scene: Path) -> None:
    more = searched(scene, f"{SEEDS}2", 'ensemble.vary."lennard_jones.epsilon"={grid = [0.5, 1.0, 3.0]}')
    epsilon = more.members.parameters["lennard_jones.epsilon"]
    assert sorted(epsilon.tolist()) == [0.5, 0.5, 1.0, 1.0, 3.0, 3.0]
    assert more.lanes.energy == pytest.approx(TETRAHEDRON * epsilon, abs=1e-11)


def test_a_member_that_cannot_begin_is_left_out(scene: Path) -> None:
    key = 'ensemble.vary."lennard_jones.sigma"='
    some = searched(scene, f"{SEEDS}2", f"{key}{{grid = [1.0, 1e60]}}")
    failed = {k for k, sigma in enumerate(some.members.parameters["lennard_jones.sigma"]) if sigma > 1.0}
    assert set(some.failures) == failed
    assert len(failed) == 2
    assert all(one.step == 0 and "lennard_jones" in one.text for one in some.failures.values())
    both = searched(scene, f"{SEEDS}2", f"{key}{{grid = [1.0, 1.1]}}")
    same(some, both, [k for k in range(4) if k not in failed])  # type: ignore[arg-type]
    with pytest.raises(NonFiniteError):
        searched(scene, f"{SEEDS}2", f"{key}{{grid = [1.0, 1e60]}}", f"ensemble.member={min(failed)}")


@pytest.mark.parametrize(
    ("stepper", "outcome"),
    [
        ('{kind = "lbfgs", gradient = 1e-7, fields = {x = {lower = -0.45, upper = 0.4}}}', "converged"),
        ('{kind = "lbfgs", gradient = 1e-7, fields = {x = {scale = 0.1}}, memory = 3}', "converged"),
        ('{kind = "lbfgs", change = 1e-6}', "settled"),
        ('{kind = "lbfgs", tolerance = {step = 1e-6}}', "converged"),
        ('{kind = "lbfgs", gradient = 1e-30}', "stuck"),
    ],
)
def test_bounds_scales_and_tolerances(scene: Path, stepper: str, outcome: str) -> None:
    few = [f"stepper={stepper}", f"{SEEDS}3", f"state.n={2 if outcome == 'stuck' else 4}"]
    lanes, ordinary = searched(scene, *few), OneAfterAnother(members(scene, *few))
    ordinary.advance(1000)
    assert {end.outcome for end in ordinary.ends.values()} == {outcome}
    assert {end.outcome for end in lanes.ends.values()} == {outcome}
    energies = ordinary.own_state()["stepper/energy"]
    assert lanes.lanes.energy == pytest.approx(energies, abs=1e-8)


def test_single_precision_and_held_nodes(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(
        """
        plugins = ["elastic"]
        units = { system = "dimensionless" }
        run = { steps = 100 }
        runtime = { precision = "f32" }
        stepper = { kind = "lbfgs", gradient = 1e-4 }
        hold = [{ body = "left" }]
        ensemble = { members = 5, vary = { "state.x" = { jitter = 0.2 } } }
        [state]
        kind = "network"
        nodes = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
        springs = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]]
        mass = 1.0
        bodies = { left = [0, 3] }
        [[energy]]
        kind = "spring"
        stiffness = 2.0
        """
    )
    lanes, ordinary = searched(path), OneAfterAnother(members(path))
    ordinary.advance(1000)
    left = [made.own_state()["fields/x"][:, [0, 3]] for made in (lanes, ordinary)]
    assert np.array_equal(*left)
    assert lanes.ends.keys() == ordinary.ends.keys() == set(range(5))
    assert lanes.own_state()["fields/x"] == pytest.approx(ordinary.own_state()["fields/x"], abs=1e-3)


def test_the_choice_says_why(scene: Path) -> None:
    chosen = member_stepper(members(scene, f"{SEEDS}2"))
    assert (type(chosen), chosen.why) == (SearchLanes, "members in lanes")
    for stepper, reason in (
        ('{kind = "newton"}', "newton has no lanes"),
        ('{kind = "lbfgs", tolerance = {force = 1e-6}}', "a tolerance of forces has no lanes"),
    ):
        other = member_stepper(members(scene, f"{SEEDS}2", f"stepper={stepper}"))
        assert type(other) is OneAfterAnother
        assert other.why == f"members one after another: {reason}"
    assert (
        "65 nodes are more"
        in member_stepper(members(scene, f"{SEEDS}2", "state.n=65", "state.radius=4.0")).why
    )


def test_a_wrong_kernel_is_found(scene: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = MemberEnergies.__call__
    monkeypatch.setattr(MemberEnergies, "__call__", lambda *a: (right(*a)[0], 1.001 * right(*a)[1]))
    with pytest.raises(MiscompiledError, match="lanes = false"):
        SearchLanes(members(scene))
