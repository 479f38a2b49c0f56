"""Load stepping: curves on paper, halved increments, the last good state, the same bits however cut."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from minusgrad import Fields, Node, Parameter, Potential, Time, bind, local_energy, run, ti
from minusgrad.app.jobs.job_runs import resume
from minusgrad.energies.fields import Hold, Rotation
from minusgrad.errors import EnergyError, SceneError
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.minimisers.constrained_newton import ConstrainedNewton
from minusgrad.steppers.minimisers.continuation.load_steps import LoadSteps
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from tests.support.command import SCENES, files, last_saved
from tests.support.command import minusgrad as command
from tests.support.hanging_chains import chain, on_paper
from tests.support.short_scenes import cut
from tests.support.tiers import sampled

STRETCH = SCENES / "stretch.toml"
EVERY = {"observe": [{"kind": "reactions", "every": 1}]}
MU, LAM, AREA = 2e6 / 2.9, 2e6 * 0.45 / (1.45 * 0.1), 0.06 * 0.04


@local_energy("morse", over=2, q=Node("m"), depth=Parameter("J", default=1.0))
def morse(q, depth):
    """D (1 - exp(-(r - 1)))^2: it bears at most D / 2."""
    e = 1.0 - ti.exp(-(q[1] - q[0] - 1.0))
    return depth * e * e


@local_energy("pull", over="nodes", q=Node("m"), f=Parameter("N", default=0.0))
def pull(q, f):
    """A force."""
    return -f * q[0]


@local_energy("rising", over="nodes", q=Node("m"), t=Time())
def rising(q, t):
    """A spring to the place t^2."""
    return 0.5 * (q[0] - t * t) ** 2


@local_energy("tether", over=2, x=Node("m", ("d",)))
def tether(x):
    """A node is bound to another one."""
    return 0.5 * (x[1] - x[0]).norm_sqr()


def bond(force: float, levels: int, precision: str = "f64", **options: float) -> LoadSteps:
    """A Morse bond with one end held, and pulled at."""
    fields = Fields({"q": np.array([0.0, 1.0])}, {"q": "m"}, precision)
    free = np.array([False, True])
    terms = [bind(morse, fields, tuples=[[0, 1]]), bind(pull, fields, parameters={"f": force})]
    tolerances = Tolerances(force=1e-10 if precision == "f64" else 1e-5)
    search = Newton(Potential(fields, terms), [Unknown("q")], tolerances, free={"q": free})
    holds = Holds(fields, [Hold("end", "q", np.array([0]))])
    return LoadSteps(search, holds, levels, ["pull.f"], **options)


def test_a_chain_of_rods_follows_its_support() -> None:
    """The right support moves; each level begins at the tangent of the last one, so that steps are few."""
    free = np.ones((9, 2), bool)
    free[[0, 8]] = False
    search = chain(8, free=free)
    fields = search.potential.fields
    holds = Holds(fields, [Hold("right", "x", np.array([8]), displacement=(0.3, 0.0), duration=1.0)])
    assert isinstance(search, ConstrainedNewton)
    steps = LoadSteps(search, holds, 4)
    taken = []
    for level in range(1, 5):
        steps.advance(1)
        assert steps.trouble == ""
        s = level / 4
        span = 2.0 + 0.3 * s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
        np.testing.assert_allclose(fields["x"].values, on_paper(8, span=span)[0], atol=1e-11)
        taken.append(search.step)
    assert steps.outcome == "converged"
    assert max(taken) <= 5
    assert steps.constraints is search.constraints


def test_the_guess_is_along_the_tangent() -> None:
    """Of a chain whose support moves: the difference of two equilibria on paper."""
    search = chain(8)
    assert isinstance(search, ConstrainedNewton)
    search.advance(20)
    way = {"x": np.zeros((9, 2))}
    way["x"][8, 0] = 1.0
    found = search.followed(way, {"x": np.zeros((9, 2))}).reshape(7, 2)
    far, near = (on_paper(8, span=2.0 + s)[0] for s in (1e-4, -1e-4))
    np.testing.assert_allclose(found, ((far - near) / 2e-4)[1:-1], atol=1e-6)


def stretched(f: float) -> float:
    """r of the bond: 2 D e (1 - e) = f with e = exp(-(r - 1))."""
    return 1.0 - np.log(0.5 * (1.0 + np.sqrt(1.0 - 2.0 * f)))


def curve(folder: object) -> tuple[np.ndarray, np.ndarray]:
    """Times, and the pull of the support on the right."""
    series = folder.series("observables/reaction/right")
    return series.time, series.value[:, 0]


def uniaxial(s: float) -> float:
    """The pull of a compressible neo-Hookean block stretched by s."""
    log_J = lambda t: np.log(s * t * t)  # noqa: E731
    t = brentq(lambda t: MU * (t - 1.0 / t) + LAM * log_J(t) / t, 0.3, 2.0, xtol=1e-16, rtol=1e-15)
    return AREA * (MU * (s - 1.0 / s) + LAM * log_J(t) / s)


# Curves on paper ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_bond_follows_its_curve(precision: str) -> None:
    steps = bond(0.4, 8, precision)
    for k in range(9):
        near = 1e-9 if precision == "f64" else 1e-4
        assert steps.potential.fields["q"].values[1] == pytest.approx(stretched(0.05 * k), abs=near)
        assert (steps.load, steps.time) == (k / 8, k / 8)
        steps.advance(1)
    assert steps.outcome == "converged"
    assert not steps.failed
    assert steps.verdict == "converged: load 1 of 1 (step 8 of 8)"


def test_the_guess_along_the_tangent_saves_iterations() -> None:
    steps, without = bond(0.4, 4), bond(0.4, 4)
    without._predict = lambda before, load: without._apply(load)  # type: ignore[method-assign]
    counts = []
    for one in (steps, without):
        one.advance(3)
        counts.append(one.search.step)
    assert counts[0] < counts[1]


def test_time_is_the_load() -> None:
    fields = Fields({"q": np.zeros(3)}, {"q": "m"})
    potential = Potential(fields, [bind(rising, fields)])
    search = Newton(potential, [Unknown("q")], Tolerances(1e-12))
    steps = LoadSteps(search, Holds(fields), 5, duration=3.0)
    for k in range(1, 6):
        steps.advance(1)
        assert steps.time == pytest.approx(0.6 * k, rel=1e-15)
        np.testing.assert_allclose(fields["q"].values, (0.6 * k) ** 2, rtol=1e-12)


WAYS = {
    "at once": {"hold.1.displacement": ["-4 cm"]},
    "in time": {"hold.1": {"body": "right", "axes": "x", "velocity": ["-2 cm/s"]}, "stepper.time": "2 s"},
}


@pytest.mark.parametrize("way", sampled(WAYS, ["at once"]))
def test_supports_move_with_the_load(way: str, tmp_path: Path) -> None:
    """Compressed to 0.6 of its length; at once the cells at the end would be turned inside out."""
    own = {"stepper": {"kind": "newton", "load_steps": 8}, "run.steps": 8} | EVERY | WAYS[way]
    done = run(STRETCH, own, tmp_path / "run")
    assert done.outcome == "converged"
    time, found = curve(done)
    np.testing.assert_allclose(time, np.arange(9) / 8.0 * (2.0 if way == "in time" else 1.0), rtol=1e-14)
    expected = [uniaxial(1.0 - 0.4 * k / 8.0) for k in range(9)]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * abs(expected[-1]))


@pytest.mark.parametrize("angle", [np.pi / 2, np.pi, 2.0 * np.pi])
def test_a_support_that_turns_at_once_goes_along_its_arc(angle: float) -> None:
    """A free node follows it; half a turn passes no chord through the centre, and a whole turn turns."""
    fields = Fields({"x": np.array([[2.0, 1.0], [2.0, 1.0]])}, {"x": "m"})
    potential = Potential(fields, [bind(tether, fields, tuples=[[0, 1]])])
    free = np.array([[False, False], [True, True]])
    holds = Holds(fields, [Hold("arm", "x", np.array([0]), rotation=Rotation((1.0, 1.0), angle=angle))])
    steps = LoadSteps(Newton(potential, [Unknown("x")], Tolerances(1e-12), free={"x": free}), holds, 8)
    for k in range(1, 9):
        steps.advance(1)
        turned = angle * k / 8.0
        place = np.array([1.0 + np.cos(turned), 1.0 + np.sin(turned)])
        np.testing.assert_allclose(fields["x"].values, [place, place], atol=1e-12)
    assert steps.outcome == "converged"


# Increments ---------------------------------------------------------------------------------------------


def test_increments_that_fail_are_halved_and_grow_again() -> None:
    """One iteration is enough for small increments only."""
    steps = bond(0.45, 2, iterations=2, halvings=8)
    seen = []
    for _ in range(2):
        steps.advance(1)
        seen.append(steps.increment)
    assert steps.outcome == "converged"
    assert min(seen) < steps.parts
    assert steps.potential.fields["q"].values[1] == pytest.approx(stretched(0.45), abs=1e-9)


def test_beyond_what_it_bears_the_last_equilibrium_is_kept() -> None:
    """The bond bears half a newton, which is the load 0.617; the smallest increment is a 160th."""
    steps = bond(0.81, 5, halvings=5)
    steps.advance(5)
    assert steps.outcome == "stuck"
    assert steps.failed
    smallest = 1.0 / 160.0
    assert steps.load <= 0.5 / 0.81 < steps.load + smallest
    assert steps.step == 3
    assert steps.potential.fields["q"].values[1] == pytest.approx(stretched(0.81 * steps.load), abs=1e-7)
    assert steps.potential.parameter("pull.f") == pytest.approx(0.81 * steps.load)
    text = steps.verdict
    assert text.startswith("stuck: no equilibrium was found beyond load 0.")
    assert "(step 3 of 5), by increments down to 0.00625: " in text
    assert text.endswith("at the largest load that it bears; else raise `iterations`")
    again = steps.load
    steps.advance(3)
    assert steps.load == again


# Saved and resumed --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("force", "cut_at"), [(0.45, 1), (0.45, 3), (0.8, 3)])
def test_the_same_bits_however_it_is_cut(force: float, cut_at: int) -> None:
    whole, later = bond(force, 5), bond(force, 5)
    whole.advance(cut_at)
    later.potential.fields["q"].set(whole.potential.fields["q"].values)
    later.restore(whole.state())
    for one in (whole, later):
        one.advance(5)
    q = [one.potential.fields["q"].values.tobytes() for one in (whole, later)]
    assert q[0] == q[1]
    assert whole.verdict == later.verdict
    assert {n: a.tobytes() for n, a in whole.state().items()} == {
        n: a.tobytes() for n, a in later.state().items()
    }


def test_a_halved_increment_is_saved() -> None:
    """Two iterations are too few for a whole step."""
    few = {"iterations": 2, "halvings": 8}
    whole, later = bond(0.48, 4, **few), bond(0.48, 4, **few)
    whole.advance(3)
    assert whole.increment < whole.parts
    later.potential.fields["q"].set(whole.potential.fields["q"].values)
    later.restore(whole.state())
    assert (later.increment, later.load) == (whole.increment, whole.load)
    for one in (whole, later):
        one.advance(1)
    q = [one.potential.fields["q"].values.tobytes() for one in (whole, later)]
    assert q[0] == q[1]


@pytest.mark.parametrize("solver", sampled(["superlu", "multigrid", "block_jacobi"], ["multigrid"]))
def test_a_run_that_was_cut_ends_with_the_same_files(solver: str, tmp_path: Path) -> None:
    own = {"stepper": {"kind": "newton", "load_steps": 6, "solver": solver}, "run.steps": 6}
    own |= {"hold.1.displacement": ["-4 cm"], "checkpoint.every": 2} | EVERY
    expected = files(run(STRETCH, own, tmp_path / "whole").folder)
    folder = cut(tmp_path / "run", STRETCH, own, 3)
    assert 3 <= last_saved(folder) < 6
    resume(folder)
    assert files(folder) == expected


def test_the_command_says_how_far_it_came(tmp_path: Path) -> None:
    """Exit code 1; the checkpoint holds the last equilibrium."""
    keys = ["stepper={kind = 'newton', load_steps = 3, halvings = 2}", "run.steps=3", "observe=[]"]
    wide = "hold.1.displacement=['-11 cm']"
    done = command("run", STRETCH, *keys, wide, "--out", tmp_path / "run")
    assert done.returncode == 1
    assert "stuck: no equilibrium was found beyond load 0." in done.stdout
    events = [json.loads(line) for line in (tmp_path / "run/journal.jsonl").read_text().splitlines()]
    assert events[-1]["outcome"] == "stuck"


# Refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "text"),
    [
        (
            {"loads": ["neo_hookean.youngs_modulus"]},
            "loads: 'neo_hookean.youngs_modulus' begins at zero, and must be",
        ),
        ({"loads": ["traction.traction"]}, "no term named 'traction'"),
        ({"load_steps": 0}, "stepper.load_steps: needs a number of at least 1, not 0"),
    ],
)
def test_refused(own: dict, text: str, tmp_path: Path) -> None:
    stepper = {"kind": "newton", "load_steps": 4} | own
    with pytest.raises(SceneError) as message:
        run(STRETCH, {"stepper": stepper} | EVERY, tmp_path / "run")
    assert text in str(message.value)


def test_keys_of_load_steps_need_them(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="belongs to a search in `load_steps`, which are not given"):
        run(STRETCH, {"stepper": {"kind": "newton", "halvings": 3}} | EVERY, tmp_path / "run")


def test_a_load_that_does_not_grow_is_refused() -> None:
    fields = Fields({"q": np.array([0.0, 1.2])}, {"q": "m"})
    potential = Potential(fields, [bind(morse, fields, tuples=[[0, 1]])])
    with pytest.raises(
        EnergyError, match="load_steps: nothing grows with the load: no hold moves, no energy"
    ):
        LoadSteps(Newton(potential, [Unknown("q")]), Holds(fields), 3)


def test_a_fit_takes_one_search(tmp_path: Path) -> None:
    from minusgrad import fit

    shape = SCENES / "stiffness_from_shape.toml"
    with pytest.raises(SceneError, match="load_steps: a fit finds each equilibrium in one search"):
        fit(shape, {"stepper.load_steps": 3, "stepper.loads": ["weight.acceleration"]}, tmp_path / "fit")
