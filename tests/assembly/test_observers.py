"""What observers report, against NumPy; that they never write; and the order of events in the loop."""

import math

import numpy as np
import pytest

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.assembly import observers as reports
from minusgrad.assembly.observers import Energies, Frames, Momenta
from minusgrad.energies.fields import ordered_sum
from minusgrad.errors import EnergyError, NonFiniteError
from minusgrad.files.trajectory import Recorder
from minusgrad.steppers import scheduler
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.scheduler import Every, Pace
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.stability.energy_balance import kinetic_energy
from minusgrad.steppers.systems.system import System
from tests.support.laws import bits
from tests.support.modulated_trap import trap, trapped, well

MOTION = Motion("x", "v", "m")


def _random(
    shape: tuple[int, ...], precision: str = "f64"
) -> tuple[Fields, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(len(shape))
    x, v, m = rng.normal(size=shape), rng.normal(size=shape), rng.uniform(0.5, 2.0, shape[0])
    fields = Fields({"x": x, "v": v, "m": m}, precision=precision)
    return fields, *(fields[n].values.astype(np.float64) for n in "xvm")


# Sums ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("shape", [(50,), (50, 2), (50, 3), (3000, 3), (7, 2, 2)])
def test_kinetic_energy_and_momentum(shape, precision):
    fields, _, v, m = _random(shape, precision)
    p = m.reshape(-1, *[1] * (v.ndim - 1)) * v
    assert kinetic_energy(fields, MOTION, m) == pytest.approx(0.5 * (p * v).sum(), rel=1e-13)
    momentum = reports.momentum(fields, MOTION, m)
    assert momentum.shape == shape[1:]
    np.testing.assert_allclose(momentum, p.sum(axis=0), rtol=1e-13, atol=1e-12)


def test_one_inertia_for_all_nodes():
    fields, _, v, _ = _random((50, 2))
    assert kinetic_energy(fields, MOTION, np.array([3.0])) == pytest.approx(1.5 * (v * v).sum())
    np.testing.assert_allclose(reports.momentum(fields, MOTION, np.array([3.0])), 3.0 * v.sum(axis=0))


def test_angular_momentum_in_space():
    fields, x, v, m = _random((50, 3))
    expected = sum(m_i * np.cross(x_i, v_i) for m_i, x_i, v_i in zip(m, x, v, strict=True))
    np.testing.assert_allclose(reports.angular_momentum(fields, MOTION, m), expected, rtol=1e-12)


def test_angular_momentum_in_the_plane():
    fields, x, v, m = _random((50, 2))
    expected = sum(m * (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]))
    assert reports.angular_momentum(fields, MOTION, m) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("shape", [(50,), (50, 1), (50, 4), (7, 2, 2)])
def test_nothing_turns_elsewhere(shape):
    fields, _, _, m = _random(shape)
    assert reports.angular_momentum(fields, MOTION, m) is None


@pytest.mark.parametrize("n", [1, 2, 1023, 1024, 1025, 5000, 100_003])
def test_ordered_sum(n):
    values = np.random.default_rng(n).normal(size=n) * 10.0 ** np.arange(n).clip(max=6)
    assert ordered_sum(values) == pytest.approx(math.fsum(values), rel=0, abs=1e-15 * math.fsum(abs(values)))


def test_ordered_sum_is_one_of_the_values_alone():
    """Shape and strides of the memory do not matter; single precision is summed in double."""
    values = np.random.default_rng(0).normal(size=6000)
    whole = ordered_sum(values)
    assert ordered_sum(values.reshape(100, 60)) == whole
    assert ordered_sum(np.repeat(values, 2)[::2]) == whole
    assert ordered_sum(np.full(10_000, 0.1, np.float32)) == pytest.approx(
        1e4 * float(np.float32(0.1)), rel=1e-14
    )
    assert ordered_sum(np.zeros(0)) == 0.0


@pytest.mark.parametrize("count", [*range(70), 128, 1000])
def test_few_numbers_are_added_as_many_are(count):
    """Floats of Python in the tree of the arrays: the same bits, and signs of zero."""
    values = np.random.default_rng(count).normal(size=count) * 10.0 ** np.arange(count).clip(max=17)
    for numbers in (values, -values, np.full(count, -0.0), values.astype(np.float32)):
        width = 1 << max(count - 1, 0).bit_length()
        sums = np.concatenate([numbers.astype(np.float64), np.zeros(width - count)])
        while len(sums) > 1:
            sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
        assert np.float64(ordered_sum(numbers)).tobytes() == (sums[0] + 0.0).tobytes()


# Observers ----------------------------------------------------------------------------------------------


def _watched(stepper: Integrator, seen: Recorder) -> list[reports.Observer]:
    return [
        Energies(stepper, seen, 1),
        Momenta(stepper, seen, 3),
        Frames(stepper, seen, 2, ["x", "v"], {"x": "position"}),
    ]


def _run(stepper: Integrator, watched: list, last: int = 20) -> None:
    for one in watched:
        one.observe()
    scheduler.run(stepper, last, watched, _Fake("save", [], 0))


def _series(seen: Recorder, name: str) -> np.ndarray:
    return seen.state()[f"{name}/value"]


@pytest.fixture
def seen():
    return Recorder({}, ("", 1.0))


def test_observers_never_write(seen):
    alone, watched = (trapped("leapfrog", 0.05, (trap, well)) for _ in range(2))
    _run(alone, [])
    _run(watched, _watched(watched, seen))
    assert bits(alone) == bits(watched)


def test_fields_cannot_be_written_through_a_look():
    with pytest.raises(EnergyError, match=r"^field 'x': its values are read-only"):
        trapped("leapfrog", 0.05).potential.fields["x"].values[0] = 1.0


def test_rhythm_and_labels(seen):
    stepper = trapped("leapfrog", 0.05)
    _run(stepper, _watched(stepper, seen), last=7)
    state = seen.state()
    assert state["observables/total/step"].tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert state["observables/momentum/step"].tolist() == [0, 3, 6, 7]
    assert state["particles/all/position/step"].tolist() == [0, 2, 4, 6, 7]
    assert state["particles/all/position/time"].tolist() == [0.3 + k * 0.05 for k in (0, 2, 4, 6, 7)]
    np.testing.assert_array_equal(state["particles/all/v/value"][-1], stepper.potential.fields["v"].values)


def test_drift_is_total_less_work_less_start(seen):
    stepper = trapped("yoshida4", 0.05, (trap, well))
    _run(stepper, [Energies(stepper, seen, 1)])
    total, work, drift = (_series(seen, f"observables/{n}") for n in ("total", "work", "drift"))
    parts = [_series(seen, f"observables/{n}") for n in ("kinetic", "potential/trap", "potential/well")]
    np.testing.assert_allclose(sum(parts), total, rtol=1e-15)
    np.testing.assert_allclose(drift, (total - work - total[0]) / abs(total[0]), rtol=0, atol=1e-15)
    assert drift[0] == work[0] == 0.0
    assert np.abs(work).max() > 100.0 * np.abs(drift).max() * total[0] > 0.0


def test_drift_is_absolute_where_the_start_is_zero(seen):
    fields = Fields({"x": np.zeros((1, 2)), "v": np.zeros((1, 2)), "m": [1.0]})
    stepper = Integrator(System(Potential(fields, [bind(well, fields)]), [MOTION]), SCHEMES["leapfrog"], 0.1)
    look = Energies(stepper, seen, 1)
    look.observe()
    fields["v"].set([[3.0, 4.0]])
    stepper.advance(1)
    look.observe()
    assert _series(seen, "observables/drift")[0] == 0.0
    assert _series(seen, "observables/drift")[1] == pytest.approx(12.5, abs=1.0)


def test_the_start_is_remembered(seen):
    stepper = trapped("leapfrog", 0.05)
    first, second = Energies(stepper, seen, 1), Energies(stepper, Recorder({}, ("", 1.0)), 1)
    assert np.isnan(first.state()["start"])
    first.observe()
    stepper.advance(5)
    second.restore(first.state())
    second.observe()
    first.observe()
    assert _series(second.recorder, "observables/drift")[0] == _series(seen, "observables/drift")[1] != 0.0


def test_an_infinite_energy_is_named(seen):
    stepper = trapped("leapfrog", 0.05, (trap, well))
    x = stepper.potential.fields["x"]
    x.set([[0.0, 0.0], [1e100, 0.0], [0.0, 0.0]])
    with pytest.raises(
        NonFiniteError, match=r"^step 0: the energy of term 'well' is inf; all its forces are finite$"
    ):
        Energies(stepper, seen, 1).observe()
    x.set([[0.0, 0.0], [1e150, 0.0], [0.0, 0.0]])
    with pytest.raises(NonFiniteError, match=r"is inf; term 'well', node 1: its force on 'x' is not finite$"):
        Energies(stepper, seen, 1).observe()


def test_an_unknown_field_is_refused_before_the_first_step(seen):
    with pytest.raises(EnergyError, match="no field named 'y'"):
        Frames(trapped("leapfrog", 0.05), seen, 1, ["x", "y"], {})


def test_two_motions_are_told_apart(seen):
    fields = Fields(
        {"x": np.ones((2, 2)), "v": np.ones((2, 2)), "y": np.ones((2, 2)), "w": 2.0 * np.ones((2, 2))}
    )
    terms = [bind(well, fields), bind(well, fields, name="other", renamed={"x": "y"})]
    motions = [Motion("x", "v", 1.0), Motion("y", "w", 3.0)]
    stepper = Integrator(System(Potential(fields, terms), motions), SCHEMES["leapfrog"], 0.1)
    Momenta(stepper, seen, 1).observe()
    Energies(stepper, seen, 1).observe()
    assert _series(seen, "observables/momentum/x")[0].tolist() == [2.0, 2.0]
    assert _series(seen, "observables/momentum/y")[0].tolist() == [12.0, 12.0]
    assert _series(seen, "observables/kinetic")[0] == 2.0 + 24.0


# When ---------------------------------------------------------------------------------------------------


def test_every():
    assert [s for s in range(10) if Every(3).due(s)] == [0, 3, 6, 9]
    assert [Every(3).after(s) for s in (0, 1, 3, 8)] == [3, 3, 6, 9]
    assert Every(1).after(7) == 8
    assert not Every(0).due(0)
    assert Every(0).after(5) is None


class _Fake:
    """A stepper and an observer that only note what happens."""

    def __init__(self, name: str, events: list, every: int, clock: "_Fake | None" = None):
        self.name, self.events, self.trigger, self.clock = name, events, Every(every), clock or self
        self.step, self.outcome = 0, None

    def advance(self, n: int) -> None:
        self.step += n
        self.events.append((self.step, "advance"))

    def observe(self) -> None:
        self.events.append((self.clock.step, self.name))


def _events(
    last: int, save: int, *every: int, start: int = 0, stop_at: int | None = None
) -> tuple[str, list]:
    """The outcome and all that was observed: (step, who)."""
    events: list = []
    stepper = _Fake("stepper", events, 0)
    stepper.step = start
    observers = [_Fake(f"o{k}", events, n, stepper) for k, n in enumerate(every)]
    saver = _Fake("save", events, save, stepper)
    asked = lambda: stop_at is not None and stepper.step >= stop_at  # noqa: E731
    outcome = scheduler.run(stepper, last, observers, saver, asked)
    return outcome, [event for event in events if event[1] != "advance"]


def test_order_of_events():
    outcome, events = _events(7, 4, 2, 3)
    assert outcome == "finished"
    assert events == [
        (2, "o0"),
        (3, "o1"),
        (4, "o0"),
        (4, "save"),
        (6, "o0"),
        (6, "o1"),
        (7, "o0"),
        (7, "o1"),
        (7, "save"),
    ]


def test_the_last_step_is_due_for_everybody():
    assert _events(5, 0, 100)[1] == [(5, "o0"), (5, "save")]


@pytest.mark.parametrize("stop", range(1, 30))
def test_a_cut_run_sees_what_an_unbroken_one_does(stop):
    """Interrupted anywhere and taken up again: nothing skipped, nothing seen twice."""
    outcome, first = _events(30, 10, 1, 7, stop_at=stop)
    assert outcome == "interrupted"
    cut = first[-1][0] if first else 0
    assert cut == stop  # the observer of every step lets it stop at once
    assert first + _events(30, 10, 1, 7, start=cut)[1] == _events(30, 10, 1, 7)[1]


def test_a_run_that_is_over_does_nothing():
    assert _events(5, 1, 1, start=5) == ("finished", [])
    assert _events(5, 1, 1, start=9) == ("finished", [])


def test_stop_is_heard_between_batches():
    for stop in (0, 5):
        assert _events(1000, 0, 1000, stop_at=stop) == ("interrupted", [])


def test_progress_tells_every_batch():
    events: list[int] = []
    stepper = _Fake("stepper", [], 0)
    scheduler.run(stepper, 100, [], _Fake("save", [], 30, stepper), progress=events.append)
    assert events == sorted(set(events))
    assert {30, 60, 90, 100} <= set(events)


class _Clock:
    """A stepper whose steps last a given time, and the clock that measures it."""

    def __init__(self, seconds: float):
        self.seconds, self.now, self.batches = seconds, 0.0, []

    def perf_counter(self) -> float:
        return self.now

    def advance(self, n: int) -> None:
        self.now += n * self.seconds
        self.batches.append(n)


def test_pace_doubles_and_halves(monkeypatch):
    clock, pace = _Clock(0.001), Pace(0.05)
    monkeypatch.setattr(scheduler.time, "perf_counter", clock.perf_counter)
    for _ in range(8):
        pace.take(clock, 10**6)
    assert clock.batches == [1, 2, 4, 8, 16, 32, 32, 32]
    clock.seconds = 0.01
    for _ in range(4):
        pace.take(clock, 10**6)
    assert clock.batches[8:] == [32, 16, 8, 4]
    clock.seconds = 10.0
    for _ in range(4):
        pace.take(clock, 10**6)
    assert clock.batches[12:] == [4, 2, 1, 1]


def test_pace_takes_no_more_than_asked(monkeypatch):
    clock, pace = _Clock(0.0), Pace()
    monkeypatch.setattr(scheduler.time, "perf_counter", clock.perf_counter)
    for most in (1, 1, 100, 3, 100):
        pace.take(clock, most)
    assert clock.batches == [1, 1, 2, 3, 4]


# A periodic box ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("unwrapped", [False, True])
def test_frames_have_the_positions_in_the_box_and_its_edges(unwrapped, precision):
    """Wrapped along periodic axes, by whole edges; those in the box keep their bits."""
    edges = np.array([[2.0, 0.0, 0.0], [0.5, 3.0, 0.0], [0.0, 0.0, 4.0]])
    s = np.random.default_rng(0).random((30, 3)) * [6.0, 6.0, 1.0] - [2.0, 2.0, -2.0]
    s[:5] = 0.5
    x = s @ edges
    state = {"x": x, "v": np.ones_like(x), "m": np.ones(30), "box": edges[None]}
    fields = Fields(state, precision=precision, periodic=(True, True, False))
    stepper = Integrator(System(Potential(fields, []), [Motion("x", "v", "m")]), SCHEMES["leapfrog"], 0.1)
    seen = Recorder({}, ("", 1.0))
    Frames(stepper, seen, 1, ["x", "v"], {"x": "position"}, unwrapped=unwrapped).observe()
    found, own = _series(seen, "particles/all/position")[0], fields["x"].values
    if unwrapped:
        assert np.array_equal(found, own)
    else:
        whole = (own.astype(float) - found) @ np.linalg.inv(edges)
        np.testing.assert_allclose(whole, np.rint(whole), atol=1e-5 if precision == "f32" else 1e-13)
        inside = found @ np.linalg.inv(edges)
        assert (inside[:, :2] > -1e-6).all()
        assert (inside[:, :2] < 1.0 + 1e-6).all()
        assert np.abs(whole).max() > 1.0
        assert not np.rint(whole)[:, 2].any(), "this axis does not repeat"
        assert np.array_equal(found[:5], own[:5])
    assert found.dtype == fields.dtype
    assert np.array_equal(_series(seen, "particles/all/box/edges")[0], edges)
    assert "particles/all/velocity/value" in seen.state() or "particles/all/v/value" in seen.state()
    of_speeds = Recorder({}, ("", 1.0))
    Frames(stepper, of_speeds, 1, ["v"], {}).observe()
    assert "particles/all/box/edges/value" not in of_speeds.state()
