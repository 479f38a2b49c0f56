"""Derivatives of Gauss-Radau runs along their substeps: differences, Kepler's orbit, one by the other."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.adjoint.derivation import derivation
from minusgrad.adjoint.implicit.gauss_radau.node_products import NodeProducts
from minusgrad.adjoint.implicit.gauss_radau.placed_substep import PlacedSubstep
from minusgrad.adjoint.implicit.gauss_radau.radau_adjoint import RadauAdjoint
from minusgrad.adjoint.implicit.gauss_radau.transposed_substep import TransposedSubstep
from minusgrad.adjoint.losses import ObservedStates
from minusgrad.adjoint.rollout import Rollout
from minusgrad.engine import runtime
from minusgrad.engine.kernels import Code
from minusgrad.errors import UnsolvedStepError
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.gauss_radau import radau_launches
from minusgrad.steppers.timed.gauss_radau.gauss_radau import GaussRadau
from minusgrad.steppers.timed.gauss_radau.radau_tape import RadauTape
from minusgrad_gravity.gravity import gravity
from tests.support.kepler import MASSES, orbit
from tests.support.kepler_derivatives import by_start
from tests.support.laws import assert_order, bits, fitted_order
from tests.support.modulated_trap import trap
from tests.support.rollouts import STENCIL, chain, dot, drawn, line, mapped, moved, pair, probes
from tests.support.tiers import sampled

MOTIONS = [Motion("x", "v", "m")]
LOOSE = 1e-2
"""A tolerance for few substeps, whose derivatives are not those of the exact motion to rounding."""


def two(dt: float = 1.7, e: float = 0.6, tolerance: float = LOOSE, mean: float = 0.0) -> GaussRadau:
    x, v = orbit(mean, e)
    fields = Fields({"x": x, "v": v, "m": MASSES})
    pull = bind(gravity, fields, parameters={"G": 1.0})
    return GaussRadau(System(Potential(fields, [pull]), MOTIONS), dt, tolerance=tolerance)


def driven() -> GaussRadau:
    """Time, friction that depends on place and time, data with derivatives, parameters by body."""
    one = line(held=False)
    return GaussRadau(System(one.potential, one.motions, dissipation=one.dissipation), 0.7, 0.3, LOOSE)


def fields_and_bodies() -> GaussRadau:
    """Two motions, one with a number as inertia; friction of one that depends on the other's place."""
    one = pair()
    return GaussRadau(System(one.potential, one.motions, dissipation=one.dissipation), 0.5, tolerance=LOOSE)


def slowed() -> GaussRadau:
    """Friction alone: no energy reads the places."""
    one = line(held=False)
    fields = one.potential.fields
    return GaussRadau(
        System(Potential(fields, []), one.motions, dissipation=one.dissipation), 0.7, 0.3, LOOSE
    )


def by_maps() -> GaussRadau:
    one = mapped()
    return GaussRadau(System(one.potential, one.motions), 0.3, tolerance=LOOSE)


def way(one: GaussRadau) -> dict[str, np.ndarray]:
    found = drawn(one)
    if "gravity.softening" in found:
        found["gravity.softening"] = np.zeros(())  # U is even in it
    return found


def lengths_of(one: GaussRadau, steps: int) -> list[list[float]]:
    """The lengths of the substeps of a run from the present start, which is restored."""
    with started(one):
        return [[sub.h for sub in one.advance_recorded()] for _ in range(steps)]


@contextmanager
def started(one: GaussRadau) -> Iterator[None]:
    """A run from the present fields, without memory; restores these."""
    start, clock = [field.values.copy() for field in one.moving], one.clock
    one.count_from_here()
    one.evaluate()
    yield
    for field, values in zip(one.moving, start, strict=True):
        field.set(values)
    one.clock = clock
    one.evaluate()


def replayed(one: GaussRadau, lengths: Sequence[Sequence[float]]) -> dict[str, np.ndarray]:
    """The moving fields after steps of given substeps."""
    with started(one):
        for some in lengths:
            one.advance_recorded(some)
        return {f.name: f.values.copy() for f in one.moving}


def transposed_by(one: GaussRadau, looks: Sequence[int]) -> tuple[float, float, float]:
    """<J d, s> by tangents, <d, J' s> by adjoints, and the size of their terms."""
    direction, (losses, seeds) = way(one), probes(one, looks)
    _, found = Rollout(one, losses, max(looks)).evaluate(list(direction))
    total, scale, beside = 0.0, 0.0, derivation(one).tangents(list(direction))
    with started(one):
        beside.start([direction])
        for row, stop in enumerate(looks):
            beside.advance(stop - one.step)
            for name, rows in seeds.items():
                terms = beside.along[0][name] * rows[row]
                total, scale = total + terms.sum(), scale + np.abs(terms).sum()
    return total, dot(found, direction), scale


# Replay -------------------------------------------------------------------------------------------------


def test_given_lengths_are_taken(launches):
    """A run along its own lengths has the same bits; it has substeps of different lengths."""
    one = two()
    lengths = lengths_of(one, 3)
    assert max(max(some) for some in lengths) > 1.5 * min(min(some) for some in lengths)
    found = replayed(one, lengths)
    one.advance(3)
    for name, values in found.items():
        assert values.tobytes() == one.potential.fields[name].values.tobytes()


# Differences --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", sampled([two, driven, fields_and_bodies], [two]))
def test_tangents_and_adjoints_are_those_of_differences(make: Callable[[], GaussRadau]):
    """Along the same substeps, sixth order: starts, masses, parameters, data and other fields."""
    one, h = make(), 2e-4
    direction, lengths = way(one), lengths_of(one, 3)
    total = {f.name: np.zeros(f.shape) for f in one.moving}
    for k, weight in STENCIL.items():
        for sign in (1.0, -1.0):
            with moved(one, direction, sign * k * h):
                ends = replayed(one, lengths)
            for name, values in ends.items():
                total[name] += sign * weight / h * values
    found = Rollout(one, [], 3).end_tangents(direction)
    for name, values in total.items():
        assert np.abs(values).max() > 0.1
        np.testing.assert_allclose(found[name], values, rtol=0, atol=1e-10 * np.abs(values).max())
    losses, seeds = probes(one, [3])
    _, slopes = Rollout(one, losses, 3).evaluate(list(direction))
    assert dot(slopes, direction) == pytest.approx(dot({n: s[0] for n, s in seeds.items()}, total), rel=1e-9)


def test_taylor():
    """What L along the same substeps differs from its slope by falls with h^2."""
    one, h = two(), 0.002
    direction, lengths, (losses, seeds) = way(one), lengths_of(one, 3), probes(one, [3])
    value, slopes = Rollout(one, losses, 3).evaluate(list(direction))
    slope = dot(slopes, direction)

    def off(n: int) -> float:
        with moved(one, direction, h / n):
            ends = replayed(one, lengths)
        return abs(dot({name: rows[0] for name, rows in seeds.items()}, ends) - value - slope * h / n)

    assert fitted_order([off(n) for n in (8, 16, 32)], [8, 16, 32]) == pytest.approx(2.0, abs=0.05)


# Kepler's orbit -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("e", sampled([0.3, 0.9], [0.3]))
def test_kepler(e: float):
    """The separation after 1.6 periods by the first one, by G and by the masses."""
    one, steps = two(2.0, e, 1e-9, 0.7), 5
    moved_by, of_mu = by_start(10.0, e, 0.7)
    size = np.abs(moved_by).max()
    seen = ObservedStates(one.potential.fields, ("x", "v"), [steps])
    run = Rollout(one, [seen], steps)
    for row in range(4):
        slope = np.zeros((1, 2, 2))
        slope[0, :, row % 2] = [-1.0, 1.0]
        name, other = ("x", "v") if row < 2 else ("v", "x")
        seen.slopes = {name: slope, other: np.zeros((1, 2, 2))}
        _, found = run.evaluate(["x", "v", "m", "gravity.G"])
        for start, columns in (("x", moved_by[row, :2]), ("v", moved_by[row, 2:])):
            expected = np.stack([-columns, columns])
            np.testing.assert_allclose(found[start], expected, rtol=0, atol=1e-11 * size)
        np.testing.assert_allclose(found["gravity.G"], of_mu[row], rtol=0, atol=1e-11 * size)
        np.testing.assert_allclose(found["m"], [of_mu[row]] * 2, rtol=0, atol=1e-11 * size)


def test_order(launches):
    """The derivative of one step of an oscillator by its stiffness: off by the 16th power of the length."""

    def off(n: int) -> float:
        fields = Fields({"x": np.array([[1.0, 0.3]]), "v": np.array([[0.2, 1.0]]), "m": np.ones(1)})
        spring = bind(trap, fields, parameters={"a": 0.0})
        one = GaussRadau(System(Potential(fields, [spring]), MOTIONS), 8.0 / n, tolerance=np.inf)
        x, v, t, c, s = fields["x"].values, fields["v"].values, one.dt, np.cos(one.dt), np.sin(one.dt)
        by_k = {"x": 0.5 * ((t * c - s) * v - t * s * x), "v": -0.5 * ((s + t * c) * x + t * s * v)}
        found = Rollout(one, [], 1).end_tangents({"trap.k": np.ones(())})
        return max(np.abs(found[name] - values).max() for name, values in by_k.items())

    assert_order(off, 16, (4, 5, 6))


# Adjoints and tangents ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", sampled([two, driven, fields_and_bodies, slowed], [two, driven]))
def test_adjoints_are_tangents_transposed(make: Callable[[], GaussRadau]):
    """Losses at some steps on the way."""
    one = make()
    assert one.fused
    there, back, size = transposed_by(one, (0, 1, 3))
    assert abs(there) > 1e-3 * size
    assert abs(there - back) < 1e-13 * size


@pytest.mark.parametrize("make", sampled([two, driven, fields_and_bodies, slowed, by_maps], [two]))
def test_adjoints_are_tangents_transposed_by_launches(make: Callable[[], GaussRadau], monkeypatch):
    """Pieces of a substep around products; maps have no other way."""
    monkeypatch.setattr(radau_launches, "SMALL", 0)
    one = make()
    assert not one.fused
    there, back, size = transposed_by(one, (0, 1, 3))
    assert abs(there) > 1e-3 * size
    assert abs(there - back) < 1e-13 * size


# Bits ---------------------------------------------------------------------------------------------------


def test_bits_do_not_depend_on_the_budget():
    """Checkpoints: a run that is recomputed in blocks, from states with all that a step remembers."""
    found = []
    for budget in (1 << 30, 4000):
        one = two()
        losses, _ = probes(one, [4, 8])
        run = Rollout(one, losses, 8, budget)
        found.append([a.tobytes() for a in run.evaluate(["x", "v", "m", "gravity.G"])[1].values()])
    assert run.plan.again > 0
    assert found[0] == found[1]


def test_a_resumed_run_has_the_same_gradient():
    """From a saved state another stepper takes the same substeps, more than one launch records."""
    ends, e, dt = [], 0.9, 7.0
    for resumed in (False, True):
        one = two(dt, e, 1e-9)
        one.advance(2)
        state, fields = one.state(), {f.name: f.values.copy() for f in one.moving}
        if resumed:
            one = two(dt, e, 1e-9)
            for name, values in fields.items():
                one.potential.fields[name].set(values)
            one.restore(state)
        before, recorded = one.memory(), one.with_tape(RadauTape())
        recorded.restore(one.state())
        recorded.advance(2)
        back = RadauAdjoint(recorded, ["x", "v", "m", "gravity.G"])
        back.clear()
        back.add({"x": np.array([[1.0, 2.0], [-0.5, 0.3]])})
        back.back(4, 2)
        one.recall(before)
        substeps = len(one.advance_recorded())
        one.advance(1)
        ends.append(([back.found(n).tobytes() for n in ("x", "v", "m", "gravity.G")], substeps, bits(one)))
    assert ends[0] == ends[1]
    assert ends[0][1] > 64
    whole = two(dt, e, 1e-9)
    whole.advance(4)
    assert bits(whole) == ends[0][2]


def test_derivatives_change_nothing():
    """A run goes on bit for bit after a gradient and a tangent in between, and so does a restored one."""
    ends = []
    for asked in (False, True):
        one = two()
        one.advance(2)
        if asked:
            losses, _ = probes(one, [3])
            run = Rollout(one, losses, 3)
            run.evaluate(["x", "m"])
            run.end_tangents({"x": np.ones((2, 2))})
        one.advance(2)
        ends.append(bits(one))
    assert ends[0] == ends[1]


# Refusals -----------------------------------------------------------------------------------------------


def test_a_substep_that_is_not_solved_has_no_derivative():
    """One substep of a third of a period: the iteration over its nodes does not converge."""
    one = two(4.0, 0.6, np.inf)
    losses, _ = probes(one, [1])
    run = Rollout(one, losses, 1)
    value, found = run.evaluate(["x"])
    assert np.isnan(value)
    assert np.isnan(found["x"]).all()
    assert run.trouble.startswith("step 1: the iteration of accelerations ended with a change of")


# Damage -------------------------------------------------------------------------------------------------


def text(owner: type, piece: str, old: str, new: str) -> Callable[[pytest.MonkeyPatch], None]:
    """A piece of code with other text."""
    right = getattr(owner, piece)

    def wrong(self: Any, *given: Any) -> Code | list[Code]:
        made = right(self, *given)
        codes = made if isinstance(made, list) else [made]
        assert any(old in code.text for code in codes), f"{piece} has no {old!r}"
        changed = [Code(code.text.replace(old, new), code.arrays) for code in codes]
        return changed if isinstance(made, list) else changed[0]

    return lambda patch: patch.setattr(owner, piece, wrong)


def forgets(owner: type, name: str) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(owner, name, lambda *_: None)


def method(owner: type, name: str, wrong: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    right = getattr(owner, name)
    return lambda patch: patch.setattr(owner, name, lambda *given: wrong(right, *given))


def of_first(right: Callable, self: GaussRadau, memory: Any) -> None:
    """As if a recorded state had no memory of earlier substeps."""
    right(self, memory)
    self.evaluate()


DAMAGE = {
    "stage positions of another node": text(
        TransposedSubstep, "weigh", "of_position[k, at]", "of_position[at, k]"
    ),
    "no weights of velocities at the end": text(
        TransposedSubstep, "weigh", "ih * radau_of_velocity[8, at]", "0.0 * radau_of_velocity[8, at]"
    ),
    "stage velocities do not matter": text(TransposedSubstep, "weigh", "radau_of_velocity[k, at]", "0.0"),
    "friction's pulls of positions forgotten": text(TransposedSubstep, "pull", " - r_q[n]", ""),
    "velocities do not carry positions": text(
        TransposedSubstep, "finish_transposed", "ih * radau_nodes[k] * radau_p[k, i]", "0.0"
    ),
    "masses pushed the other way": text(TransposedSubstep, "weigh_inertia", "- radau_a[i]", "+ radau_a[i]"),
    "the first node where the last was": text(PlacedSubstep, "placed", "if at == 0:", "if at == 1:"),
    "derivatives by other fields added": text(NodeProducts, "subtracted", " - h_", " + h_"),
    "tangents without those of masses": text(PlacedSubstep, "added", "radau_a[", "0.0 * radau_a["),
    "forces at time zero": text(TransposedSubstep, "clock", "t = ", "t = 0.0 * "),
    "substeps taken again without their memory": method(GaussRadau, "recall", of_first),
    "derivatives by masses forgotten": forgets(RadauAdjoint, "_flush"),
}


@pytest.mark.parametrize("name", sampled(DAMAGE, [*DAMAGE][:1]))
def test_damage_is_seen(name: str, monkeypatch: pytest.MonkeyPatch):
    """By the transposition of the system with friction, time, data and masses."""
    DAMAGE[name](monkeypatch)
    try:
        there, back, size = transposed_by(driven(), (0, 1, 2))
    except UnsolvedStepError:
        return
    assert not abs(there - back) < 1e-10 * size


# Threads ------------------------------------------------------------------------------------------------


def test_bits_do_not_depend_on_the_number_of_threads(any_threads, monkeypatch):
    """Last in this file: the engine is restarted and forgets its kernels."""
    monkeypatch.setattr(radau_launches, "SMALL", 0)
    found = []
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        tied = chain(5000)
        one = GaussRadau(System(tied.potential, tied.motions), 0.1, tolerance=np.inf)
        losses, _ = probes(one, [1])
        value, slopes = Rollout(one, losses, 1).evaluate(["x", "v", "m", "stiffening.k"])
        found.append((value, *(a.tobytes() for a in slopes.values())))
    assert found[0] == found[1]
