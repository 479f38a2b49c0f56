"""MEGNO and the Lyapunov time: regular and chaotic orbits, differences of runs, bits, refusals."""

import numpy as np
import pytest

import minusgrad
from minusgrad import Fields, Motion, Node, Parameter, Potential, bind, build, local_energy
from minusgrad.adjoint.chaos.variation import Variation
from minusgrad.app.jobs.job_runs import resume
from minusgrad.errors import EnergyError, UserError
from minusgrad.files.trajectory import Recorder
from minusgrad.plot.pictures import plot
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.gauss_radau.gauss_radau import GaussRadau
from minusgrad_gravity.chaos.megno import Megno
from minusgrad_gravity.gravity import gravity
from tests.support.command import SCENES, files
from tests.support.laws import bits
from tests.support.short_scenes import cut
from tests.support.tiers import sampled

MOTIONS = [Motion("x", "v", "m")]
TRIANGLE = np.array([[1.0, 3.0], [-2.0, -1.0], [1.0, -1.0]])


@local_energy("bowl", over="nodes", x=Node("m", ("d",)), m=Node("kg"), k=Parameter("s^-2"))
def bowl(x, m, k):
    """A harmonic trap; with k < 0 a hill."""
    return 0.5 * k * m[0] * x[0].dot(x[0])


def moved(x, v, m, dt: float, k: float | None, pull: bool, kind: str = "blanes_moan_rkn6") -> Integrator:
    fields = Fields({"x": np.array(x), "v": np.array(v), "m": np.array(m)})
    terms = [bind(gravity, fields, parameters={"G": 1.0, "softening": 0.3})] if pull else []
    terms += [bind(bowl, fields, parameters={"k": k})] if k is not None else []
    return Integrator(System(Potential(fields, terms), MOTIONS), SCHEMES[kind], dt)


def triple(dt: float = 0.01) -> Integrator:
    """The Pythagorean masses, softened, in a trap from which none escapes."""
    return moved(TRIANGLE, np.zeros((3, 2)), [3.0, 4.0, 5.0], dt, 0.02, pull=True)


def watched(one: Integrator, every: int) -> Megno:
    return Megno(one, Recorder({}, ("1", 1.0)), every)


def looks(one: Integrator, every: int, count: int) -> tuple[np.ndarray, np.ndarray, Megno]:
    """Times and MEGNO at so many looks."""
    observer, rows = watched(one, every), []
    for _ in range(count):
        one.advance(every)
        observer.observe()
        rows.append((one.time, observer.sums["mean"] / one.time))
    times, values = np.array(rows).T
    return times, values, observer


# Paper --------------------------------------------------------------------------------------------------


def test_a_hill():
    """On x'' = w^2 x every tangent grows as exp(w t): MEGNO is w t / 2 and the Lyapunov time 1 / w."""
    one = moved([[0.0, 0.0]], [[0.0, 0.0]], [1.3], 0.05, -2.25, pull=False)
    times, values, observer = looks(one, 10, 400)
    assert np.polyfit(times[200:], values[200:], 1)[0] == pytest.approx(0.75, rel=1e-4)
    assert one.time / observer.sums["growth"] == pytest.approx(1.0 / 1.5, rel=1e-2)


def test_a_hill_by_substeps():
    """The tangent along substeps is the exact one to rounding; looks leave the run its bits."""
    one, other = (
        GaussRadau(System(hill.potential, hill.motions), 0.7)
        for hill in (moved([[0.0, 0.0]], [[0.0, 0.0]], [1.3], 0.7, -2.25, pull=False) for _ in range(2))
    )
    times, values, observer = looks(one, 2, 40)
    assert np.polyfit(times[20:], values[20:], 1)[0] == pytest.approx(0.75, rel=1e-3)
    first, grown = Variation(other).tangent, np.exp(observer.sums["growth"])
    c, s = np.cosh(1.5 * one.time), np.sinh(1.5 * one.time)
    exact = {"x": c * first["x"] + s / 1.5 * first["v"], "v": 1.5 * s * first["x"] + c * first["v"]}
    for name, values in exact.items():
        np.testing.assert_allclose(grown * observer.variation.tangent[name], values, rtol=1e-11)
    other.advance(80)
    assert bits(one) == bits(other)


def test_a_free_body():
    """Without a force the tangent grows as sqrt(1 + (c t)^2): MEGNO tends to 2, as on any regular orbit."""
    one = moved([[0.0, 0.0]], [[1.0, 0.3]], [1.3], 0.05, 0.0, pull=False)
    _, values, _ = looks(one, 40, 1000)
    assert values[-1] == pytest.approx(2.0, abs=0.02)


def test_kepler(tmp_path):
    """On an ellipse phases part in proportion to t."""
    scene = tmp_path / "two.toml"
    scene.write_text((SCENES / "two_body.toml").read_text() + '[[observe]]\nkind = "megno"\nevery = 10\n')
    long = {"stepper.kind": "kahan_li8", "stepper.dt": 0.1, "run.steps": 20_000, "checkpoint.every": 5000}
    looks = {f"observe.{k}.every": 1000 for k in range(3)}
    run = minusgrad.run(scene, long | looks, out=tmp_path / "run")
    assert run.series("observables/megno").value[-1] == pytest.approx(2.0, abs=0.05)
    assert run.series("observables/lyapunov_time").value[-1] > 200.0
    assert "megno" in [path.stem for path in plot(tmp_path / "run")]


def test_three_bodies_in_chaos():
    """MEGNO grows linearly, with half the slope of the Lyapunov exponent."""
    times, values, observer = looks(triple(), 50, 800)
    assert np.corrcoef(times, values)[0, 1] ** 2 > 0.99
    exponent = observer.sums["growth"] / times[-1]
    assert exponent == pytest.approx(0.37, rel=0.1)
    assert np.polyfit(times, values, 1)[0] == pytest.approx(0.5 * exponent, rel=0.1)


def test_the_tangent_is_the_difference_of_two_runs():
    """After 300 steps, in two stops; central differences."""
    one = triple()
    observer = watched(one, 150)
    start = {n: one.potential.fields[n].values.copy() for n in "xv"}
    first = {n: w.copy() for n, w in observer.variation.tangent.items()}
    ends = []
    for sign in (1.0, -1.0):
        other = triple()
        for n in "xv":
            other.potential.fields[n].set(start[n] + sign * 1e-6 * first[n])
        other.advance(300)
        ends.append({n: other.potential.fields[n].values.copy() for n in "xv"})
    for _ in range(2):
        one.advance(150)
        observer.observe()
    grown = np.exp(observer.sums["growth"])
    for n in "xv":
        quotient = (ends[0][n] - ends[1][n]) / 2e-6
        np.testing.assert_allclose(grown * observer.variation.tangent[n], quotient, rtol=1e-6, atol=1e-6)


# Bits ---------------------------------------------------------------------------------------------------


def test_looks_change_nothing():
    one, other = triple(), triple()
    observer = watched(one, 7)
    for _ in range(6):
        one.advance(7)
        observer.observe()
    other.advance(42)
    assert bits(one) == bits(other)


def test_a_look_aside_from_the_rhythm_is_not_remembered():
    ends = []
    for aside in (True, False):
        one = triple()
        observer = watched(one, 10)
        one.advance(4)
        if aside:
            observer.observe()
        one.advance(6)
        observer.observe()
        ends.append({n: a.tobytes() for n, a in observer.state().items()})
    assert ends[0] == ends[1]


MEGNO = '[[observe]]\nkind = "megno"\nevery = 10\n'


@pytest.fixture
def scene(tmp_path):
    """The figure eight with the observer, beside its table."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/figure_eight.csv").write_bytes((SCENES / "data/figure_eight.csv").read_bytes())
    path = tmp_path / "eight.toml"
    path.write_text((SCENES / "figure_eight.toml").read_text() + MEGNO)
    return path


@pytest.mark.parametrize("kind", sampled(["kahan_li8", "implicit_midpoint"], ["kahan_li8"]))
def test_a_resumed_run_has_the_same_bits(scene, tmp_path, kind):
    """Cut at a step between two looks, where the state at the last look is not that of the run."""
    short = {"run.steps": 60, "checkpoint.every": 12, "stepper.kind": kind}
    minusgrad.run(scene, short, tmp_path / "whole")
    out = cut(tmp_path / "half", scene, short, 24)
    resume(out)
    assert files(out) == files(tmp_path / "whole")


# Refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stepper", "said"),
    [
        (
            {"kind": "langevin", "dt": 0.1, "friction": 0.1, "temperature": 0.1},
            "observe.3: stepper 'langevin': ",
        ),
        ({"kind": "lbfgs"}, "observe.3: megno: is of motions in time, got the stepper 'lbfgs'"),
    ],
)
def test_steppers_without_tangents_are_refused(scene, stepper, said):
    with pytest.raises(UserError) as caught:
        build(scene, {"stepper": stepper})
    assert said in str(caught.value)


def test_constraints_are_refused(tmp_path):
    path = tmp_path / "racket.toml"
    path.write_text((SCENES / "tennis_racket.toml").read_text() + MEGNO)
    with pytest.raises((UserError, EnergyError), match="megno: has no rule for constraints"):
        build(path)
