"""Small groups of constraints, each projected in a kernel: against projections of the whole system."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest

from minusgrad.engine import runtime
from minusgrad.errors import MiscompiledError, UnsolvedStepError
from minusgrad.plugin import Integrator
from minusgrad.steppers import integrator
from minusgrad.steppers.constrained.group_code import GroupCode
from minusgrad.steppers.constrained.group_projections import GroupProjections
from minusgrad.steppers.constrained.projections import Projections
from tests.support.mechanisms import energy, state, violation
from tests.support.small_molecules import driven_beads_and_pendula, molecules

MIXED = {"water": 12, "methyl": 5}


def projecting(one: Integrator) -> Projections:
    assert one._constrained
    return one._constrained.projections


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Integrator]]:
    """Integrators whose constraints are projected as one system."""

    def made(make: Callable[..., Integrator], *given, **more) -> Integrator:
        with monkeypatch.context() as patch:
            patch.setattr(integrator, "projections", Projections)
            return make(*given, **more)

    return made


def test_kinds_of_groups() -> None:
    """Waters are of one kind, in whatever order rods are listed; methyl groups are numbered in two ways."""
    one = projecting(molecules(MIXED))
    assert type(one) is GroupProjections
    sizes = sorted((len(kind.elements), len(kind.table)) for kind in one.kinds)
    assert sizes[0] == (1, 1)
    assert sizes[-1] == (3, 12)
    assert sum(n * m for n, m in sizes) == one.count == 12 * 3 + 5 * 3 + 1


@pytest.mark.parametrize(("precision", "near"), [("f64", 1e-12), ("f32", 2e-4)])
def test_motion_is_that_of_the_whole_system(whole: Callable, precision: str, near: float) -> None:
    one, other = (f(MIXED, precision=precision) for f in (molecules, partial(whole, molecules)))
    assert type(projecting(other)) is Projections
    for each in (one, other):
        each.advance(30)
        assert violation(each) < {"f64": 1e-15, "f32": 1e-6}[precision]
    for mine, right in zip(state(one), state(other), strict=True):
        np.testing.assert_allclose(mine, right, atol=near)
    np.testing.assert_allclose(one.multipliers, other.multipliers, atol=100.0 * near)
    saved, right = (each.state()["multipliers"] for each in (one, other))
    np.testing.assert_allclose(saved, right, atol=100.0 * near)


def test_driven_groups_and_groups_at_one_support(whole: Callable) -> None:
    """Pendula share a held pivot, and are groups of their own; the work of the drive is counted."""
    one, other = driven_beads_and_pendula(), whole(driven_beads_and_pendula)
    assert type(projecting(one)) is GroupProjections
    assert len(projecting(one).kinds) == 2
    for each in (one, other):
        each.advance(20)
    for mine, right in zip(state(one), state(other), strict=True):
        np.testing.assert_allclose(mine, right, atol=1e-12)
    assert abs(other.work) > 1.0
    assert one.work == pytest.approx(other.work, rel=1e-11)


@pytest.mark.long
def test_molecules_with_more_rods(whole: Callable) -> None:
    given = {"ammonia": 6, "water": 6, "methyl": 4}
    one, other = molecules(given), whole(molecules, given)
    for each in (one, other):
        each.advance(20)
    for mine, right in zip(state(one), state(other), strict=True):
        np.testing.assert_allclose(mine, right, atol=1e-12)


@pytest.mark.long
def test_energy_is_kept_at_the_order_of_the_scheme() -> None:
    drifts = []
    for dt in (0.01, 0.005):
        one = molecules(MIXED, dt)
        begun = energy(one)
        one.advance(round(0.4 / dt))
        drifts.append(abs(energy(one) - begun))
    assert drifts[0] / drifts[1] == pytest.approx(4.0, rel=0.2)


def test_a_step_of_a_group_that_turns_too_far_is_divided_and_the_group_is_named() -> None:
    one = molecules({"water": 16}, dt=1.0, fast=4.0)
    with pytest.raises(
        UnsolvedStepError, match=r"constraint 'rod', element \d+ \(nodes \d+, \d+\): Newton's"
    ):
        one._run(1)
    one = molecules({"water": 16}, dt=1.0, fast=4.0)
    one.advance(2)
    (event,) = one.events()
    assert event["event"] == "substeps"
    assert violation(one) < 1e-14


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    yield lambda count: runtime.start(runtime.Options(threads=count))
    runtime.start()


def test_bits_depend_neither_on_threads_nor_on_a_pause(threads: Callable[[int], None]) -> None:
    ends = []
    for count in (1, 2):
        threads(count)
        one = molecules({"water": 40})
        one.advance(7)
        ends.append(state(one))
    saved, (x, v) = one.state(), state(one)
    other = molecules({"water": 40})
    other.potential.fields["x"].set(x)
    other.potential.fields["v"].set(v)
    other.restore(saved)
    for each in (one, other):
        each.advance(5)
    for pair in (ends, [state(one), state(other)]):
        for a, b in zip(*pair, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_kernel_that_computes_another_jacobian_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real = GroupCode._evaluated

    def damaged(self: GroupCode) -> list[str]:
        return [*real(self), "d_0_0 = d_0_0 * ti.f64(1.01)"]

    monkeypatch.setattr(GroupCode, "_evaluated", damaged)
    with pytest.raises(MiscompiledError, match="the kernel of constraints has a Jacobian that is"):
        molecules({"water": 16})
