"""Damage the code on purpose: some test must go red, or the tests cannot see.

Each row: what is damaged, how, and a test of the suite that must fail then. Damage is done in memory: to the
text of kernels, to the rows of coefficients, or to a method.
"""

from collections.abc import Callable
from functools import partial
from itertools import accumulate

import pytest

import minusgrad
from minusgrad.assembly import observers
from minusgrad.assembly.observers import Frames
from minusgrad.codegen.term_loops import Emitter
from minusgrad.elements.gather import Gather
from minusgrad.energies.fields import ordered_sum
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.moves import Moves
from minusgrad.steppers.scheduler import Every, Pace
from minusgrad.steppers.schemes import SCHEMES, Scheme, composed, mirrored
from minusgrad.steppers.timed.move_pieces import StepClock
from minusgrad.symbolic import differentiation
from tests.assembly import test_observers as looking
from tests.exams import test_phi4 as lattice
from tests.steppers import test_integrator as motion
from tests.support import phi4
from tests.support.damage import RED, REWRITTEN, Patch, method, text

# Ways to damage -----------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _damage_is_done():
    REWRITTEN.clear()
    yield
    assert not REWRITTEN or any(REWRITTEN), "the text to be damaged is in no kernel"


def row(kind: str, scheme: Scheme) -> Callable[[Patch], None]:
    """Put other coefficients in the place of a scheme's."""
    return lambda patch: patch.setitem(SCHEMES, kind, scheme)


def wrong_clock(patch: Patch) -> None:
    patch.setattr(Integrator, "time", property(lambda self: self.t0 + sum([self.dt] * self.step)))


def twice_the_first_range(right, self, outputs, ranges, *rest):
    return right(self, outputs, [ranges[0], *ranges], *rest)


def time_at_the_start(right, self, drift):
    return self.at(0)


def time_at_the_kick(right, self, drift):
    return self.t0 + (self.number + list(accumulate(SCHEMES["yoshida4"].kicks))[drift]) * self.dt


def observes_and_nudges(right, self):
    right(self)
    field = self.fields["x"]
    field.set(field.values * (1.0 + 1e-15))


def looks_away(right, self, step):
    return (right(self, step) or 0) + self.n


# Tests that must go red ---------------------------------------------------------------------------------


def order(kind: str) -> Callable:
    return partial(motion.test_order_against_kepler, kind, None)


def work(kind: str) -> Callable:
    return partial(motion.test_work_accounts_for_an_explicit_time, kind, None)


def by_hand(kind: str) -> Callable:
    return partial(motion.test_one_step_by_hand, kind)


reversible = partial(motion.test_reversible, "leapfrog", None)
momentum = partial(motion.test_momentum, "leapfrog", None)
splits = partial(motion.test_bits_do_not_depend_on_the_cuts, motion.trapped, "leapfrog", "f64", "fused")
clock = partial(motion.test_clock, None)
kinetic = partial(looking.test_kinetic_energy_and_momentum, (50, 3), "f64")


def watched() -> None:
    looking.test_observers_never_write(observers.Recorder({}, ("", 1.0)))


def drift() -> None:
    looking.test_drift_is_total_less_work_less_start(observers.Recorder({}, ("", 1.0)))


def energy() -> None:
    motion.test_energy_of_two_bodies("leapfrog", None)


# The mutants --------------------------------------------------------------------------------------------

EULER = Scheme(2, (1.0, 0.0), (1.0,))
DRIFT_FIRST = Scheme(2, (0.0, 1.0), (1.0,))
LOPSIDED = Scheme(2, (0.6, 0.4), (1.0,))
COARSE4 = composed(4, mirrored(1.35))
COARSE6 = composed(6, mirrored(0.784513610477560, 0.235573213359357, -1.17767))

FUSED = {
    "kick reversed": (text("- ti.f64(h) * (g_x", "+ ti.f64(h) * (g_x"), order("leapfrog")),
    "drift reversed": (text("+ ti.f64(h) * f_v", "- ti.f64(h) * f_v"), order("leapfrog")),
    "one component not drifted": (text("f_x[n, 1] + ti.f64(h)", "f_x[n, 1] + 0.0"), order("leapfrog")),
    "inertia forgotten": (text(" / i_x[n]", ""), momentum),
    "inertia of the first node": (text("i_x[n]", "i_x[0]"), by_hand("leapfrog")),
    "forces not cleared": (text("g_x[n, 0] = 0.0", "g_x[n, 0] = 0.5 * g_x[n, 0]"), order("leapfrog")),
    "forces on the other body": (text("g_x[n0,", "g_x[1 - n0,"), order("leapfrog")),
    "every second pair missed by its target": (text("range(i + 1, n)", "range(i + 2, n)"), momentum),
    "pair counted twice": (method(Emitter, "_target_loop", twice_the_first_range), momentum),
    "pair's energy counted twice": (method(Emitter, "_target_loop", twice_the_first_range), energy),
    "gradient reversed": (
        method(differentiation, "gradient", lambda right, *args: [-1.0 * g for g in right(*args)]),
        order("leapfrog"),
    ),
    "time stands still in a batch": (text("ti.f64(sub)", "0.0"), splits),
    "time begins again with each batch": (text("first + ", ""), splits),
    "time runs at half speed": (text("t0 + (first", "t0 + 0.5 * (first"), work("leapfrog")),
    "time of the step's end at each force": (text("ends[move]", "1.0"), work("yoshida4")),
    "time of the step's start at each force": (text(" + ends[move]", ""), by_hand("leapfrog")),
    "work reversed": (text("work[0] + h", "work[0] - h"), work("leapfrog")),
    "work done in closing kicks only": (
        text("h = kicks[0] * dt", "h = kicks[0] * dt * 0.999"),
        work("yoshida4"),
    ),
    "leapfrog is symplectic Euler": (row("leapfrog", EULER), order("leapfrog")),
    "leapfrog drifts before it kicks": (row("leapfrog", DRIFT_FIRST), reversible),
    "leapfrog is lopsided": (row("leapfrog", LOPSIDED), order("leapfrog")),
    "Euler drifts before it kicks": (row("symplectic_euler", DRIFT_FIRST), motion.test_euler_kicks_first),
    "Yoshida 4 to three digits": (row("yoshida4", COARSE4), order("yoshida4")),
    "Yoshida 6 to six digits": (row("yoshida6", COARSE6), order("yoshida6")),
    "steps summed up instead of counted": (wrong_clock, clock),
    "a sum without its last number": (
        lambda patch: patch.setattr(observers, "ordered_sum", lambda a: ordered_sum(a.ravel()[:-1])),
        kinetic,
    ),
    "an observer that nudges": (method(Frames, "observe", observes_and_nudges), watched),
    "drift that forgets the work": (lambda patch: patch.setattr(Integrator, "work", 0.0), drift),
    "a due step overslept": (method(Every, "after", looks_away), looking.test_order_of_events),
    "a due step seen again": (method(Every, "due", lambda *_: True), looking.test_order_of_events),
    "a pace that never slows": (
        method(Pace, "take", lambda _, self, stepper, most: stepper.advance(most)),
        looking.test_stop_is_heard_between_batches,
    ),
}

UNFUSED = {
    "kick reversed": (text("- ti.f64(h) * (g_x", "+ ti.f64(h) * (g_x"), order("leapfrog")),
    "forces not renewed": (method(Moves, "_before_kick", lambda *_: []), order("leapfrog")),
    "forces at the step's start": (method(StepClock, "after_drift", time_at_the_start), work("leapfrog")),
    "forces at the times of kicks": (method(StepClock, "after_drift", time_at_the_kick), work("yoshida4")),
    "pair counted twice": (method(Emitter, "_target_loop", twice_the_first_range), momentum),
}


@pytest.mark.parametrize("name", FUSED)
def test_damage_is_seen(name, monkeypatch):
    damage, test = FUSED[name]
    damage(monkeypatch)
    with pytest.raises(RED):
        test()


@pytest.mark.parametrize("name", UNFUSED)
def test_damage_is_seen_in_single_launches(name, monkeypatch):
    damage, test = UNFUSED[name]
    monkeypatch.setattr("minusgrad.steppers.integrator.SMALL", 0)
    damage(monkeypatch)
    with pytest.raises(RED):
        test()


GATHER = {
    "force gathered into the next node": method(Gather, "of", lambda of, rows, n: of((rows + 1) % n, n)),
    "no third law": text("slot_d_phi[e * 2 + 1] =", "slot_d_phi[e * 2 + 1] = -"),
    "last slot missed": text("start[n + 1])", "start[n + 1] - 1)"),
    "a force of 1.001": text("- ti.f64(h) * (g_phi", "- 1.001 * ti.f64(h) * (g_phi"),
}


@pytest.mark.parametrize("name", GATHER)
def test_damage_to_the_gather_is_seen(name, monkeypatch, tmp_path):
    GATHER[name](monkeypatch)
    with pytest.raises(RED):
        lattice.test_dispersion(minusgrad.run(lattice.SCENE, out=tmp_path / "run", plugins=[phi4]))


def test_damage_to_energies_is_seen(monkeypatch, tmp_path):
    """Every element counted twice in the reported energy, not in the forces."""
    text("total[b, 0] = ", "total[b, 0] = 2.0 * ")(monkeypatch)
    with pytest.raises(RED):
        lattice.test_drift_is_of_second_order(tmp_path)
