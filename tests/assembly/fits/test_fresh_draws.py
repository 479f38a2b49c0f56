"""What a fit draws anew in each iteration: values, bits, batches, what is held out, refusals."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad
from minusgrad.app.run_options import RunOptions
from minusgrad.assembly.fits.fit import ParameterFit
from minusgrad.engine import random, storage
from minusgrad.errors import InterruptedRunError, RunFailedError, SceneError, UserError
from tests.support.command import SCENES, files
from tests.support.short_scenes import ctrl_c

SCENE, ELECTRIC = SCENES / "calibration.toml", SCENES / "electric.toml"
STIFFNESS = "spring.stiffness"
ADAM: dict[str, Any] = {"fit.method": "adam", "fit.rate": 1e-2, "fit.iterations": 7, "run.steps": 500}
ONE = ADAM | {"ensemble.members": 4, "ensemble.member": 0, "fit.members": None}
MANY = ADAM | {"ensemble.members": 6}
NOISE = {"state.x": {"jitter": "1 cm", "body": "bob"}, "spring.rest": {"normal": ["1 m", "1 mm"]}}
SEED = {"runtime.seed": {"anew": True}}
COPIED = (3, *range(5, 12))
SHORT: dict[str, Any] = {f"map.{k}.copies": 2 for k in COPIED} | {
    "state.copies": 2,
    "run.steps": 40,
    "fit.iterations": 5,
    "fit.held_out": {"every": 2, "draws": 2},
}


EQUILIBRIUM = SCENES / "stiffness_from_shape.toml"
HUNG: dict[str, Any] = {
    "fit.method": "adam",
    "fit.rate": 1e-2,
    "fit.iterations": 4,
    "fit.vary": {"weight.acceleration": {"jitter": ["0 m/s^2", "0.1 m/s^2"]}},
    "fit.held_out": {"every": 2, "draws": 2},
}


def fit_of(scene: Path = SCENE, **changes: Any) -> ParameterFit:
    return ParameterFit(RunOptions(scene, {k: v for k, v in changes.items() if v is not None}).validated())


def noisy(**more: Any) -> ParameterFit:
    """A fit of one experiment whose start and rest length are drawn anew."""
    base = {key: value for key, value in ONE.items() if key != "fit.members"}
    return fit_of(**base, **({"fit.vary": NOISE} | more))


def gradient(fit: ParameterFit) -> np.ndarray:
    found = {name: np.zeros(field.shape) for name, field in fit.objective.fields.items()}
    fit.objective.evaluate_into(found)
    return np.concatenate([one.ravel() for one in found.values()])


# Values


def drawn(key: str, iteration: int, shape: tuple[int, ...], stream: str = "fit") -> np.ndarray:
    """Standard normal numbers of a key and an iteration, from the seed 0."""
    of_key = random.stream(f"ensemble/{stream}/{key}")
    return random.normals(0, of_key, iteration, np.arange(int(np.prod(shape)))).reshape(shape)


def test_draws_follow_from_seed_key_and_iteration_alone() -> None:
    """In any order, and about the initial values of the scene, not about those of the draw before."""
    fit = noisy()
    start = fit.simulation.fields["x"].values.copy() - 0.01 * drawn("state.x", 0, (1, 2)) * [[0.0], [1.0]]
    for iteration in (3, 0, 5, 3):
        fit.objective.redraw(iteration)
        x = fit.simulation.fields["x"].values
        np.testing.assert_allclose(x[0], start[0], rtol=0, atol=0)
        np.testing.assert_allclose(x[1:] - start[1:], 0.01 * drawn("state.x", iteration, (1, 2)), atol=1e-15)
        rest = storage.host(fit.simulation.potential.parts["spring"].data["rest"])
        np.testing.assert_allclose(rest, 1.0 + 1e-3 * drawn("spring.rest", iteration, (1,)), atol=1e-15)


def test_each_iteration_sees_the_loss_of_its_draw() -> None:
    """Loss and gradient of iteration k are those of a scene with the values of draw k written into it."""
    fit = noisy()
    energies, stiffness = [], []
    for _ in range(3):
        fit.search.advance(1)
        energies.append(fit.search.energy)
        stiffness.append(fit.objective.fields[STIFFNESS].values.copy())
    assert len({*energies}) == 3
    for k, (energy, value) in enumerate(zip(energies, stiffness, strict=True), 1):
        plain = noisy(**{"fit.vary": None})
        x = plain.simulation.fields["x"].values.copy()
        x[1] += 0.01 * drawn("state.x", k, (1, 2))[0]
        plain.simulation.fields["x"].set(x)
        rest = 1.0 + 1e-3 * drawn("spring.rest", k, (1,))
        plain.simulation.potential.parts["spring"].set_datum("rest", rest)
        plain.objective.fields[STIFFNESS].set(value)
        assert plain.objective.value() == energy


def test_the_search_is_adam_over_the_draws() -> None:
    """The steps of `Adam` on gradients that are computed apart, one draw after another."""
    fit, apart = noisy(), noisy()
    mean, square, z = 0.0, 0.0, float(apart.objective.fields[STIFFNESS].values[0])
    scale = z
    for k in range(4):
        apart.objective.redraw(k)
        apart.objective.fields[STIFFNESS].set(np.array([z]))
        slope = float(gradient(apart)[0]) * scale
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        root = np.sqrt(square / (1.0 - 0.999 ** (k + 1)))
        z -= scale * 1e-2 * mean / (1.0 - 0.9 ** (k + 1)) / (root + 1e-8 * root)
    fit.search.advance(4)
    assert fit.objective.fields[STIFFNESS].values[0] == pytest.approx(z, rel=1e-13)


def test_a_new_seed_draws_the_state_anew() -> None:
    """Starts and goals of each iteration, of draws that are held out, and of no iteration twice."""
    fit = fit_of(ELECTRIC, **SHORT)
    fields, seen = fit.simulation.fields, []
    for number, held_out in ((0, False), (1, False), (0, True), (1, True), (0, False)):
        fit.draws.put(number, held_out)
        np.testing.assert_array_equal(fields["x"].values, fields["way_point"].values.reshape(2, -1, 2)[:, 0])
        seen.append(fields["way_point"].values.copy())
    np.testing.assert_array_equal(seen[0], seen[4])
    gaps = [np.abs(a - b).max(axis=1).min() for k, a in enumerate(seen[:4]) for b in seen[:k]]
    assert min(gaps) > 1e-4


LENGTHS = """
plugins = ["elastic"]
[state]
kind = "network"
nodes = [[0.0, 0.0], [1.0, 0.1]]
springs = [[0, 1]]
mass = 1.0
[[energy]]
kind = "spring"
stiffness = 2.0
[stepper]
kind = "leapfrog"
dt = 0.01
[run]
steps = 5
[fit]
method = "adam"
iterations = 2
[fit.vary]
"state.nodes.1" = { normal = [[1.5, 0.0], [0.1, 0.0]] }
[fit.parameters."spring.stiffness"]
[[fit.loss]]
kind = "spring"
stiffness = 1.0
"""


def test_a_key_of_the_state_is_drawn_with_the_data_that_follow_from_it(tmp_path: Path) -> None:
    """Springs at rest in a state that is made of a drawn place are at rest again."""
    (tmp_path / "lengths.toml").write_text(LENGTHS)
    fit = fit_of(tmp_path / "lengths.toml")
    spring = fit.simulation.potential.parts["spring"]
    for iteration in (0, 4, 0):
        fit.objective.redraw(iteration)
        x = fit.simulation.fields["x"].values
        expected = [1.5 + 0.1 * drawn("state.nodes.1", iteration, (2,))[0], 0.0]
        np.testing.assert_allclose(x[1], expected, rtol=1e-14)
        assert fit.simulation.potential.value() == pytest.approx(0.0, abs=1e-28)
    data = {name: storage.host(values).copy() for name, values in spring.data.items()}
    fit.draws._put_data(fit.simulation.state)
    fit.simulation.fields["x"].set(fit.simulation.state.fields["x"])
    assert any((storage.host(spring.data[name]) != values).any() for name, values in data.items())
    assert fit.simulation.potential.value() == pytest.approx(0.0, abs=1e-28)


# Bits


@pytest.mark.parametrize(
    ("scene", "changes"),
    [
        pytest.param(SCENE, MANY | {"fit.vary": NOISE, "fit.held_out": {"every": 2, "draws": 3}}, id="both"),
        pytest.param(
            SCENE, MANY | {"fit.batch": 2, "fit.held_out": {"every": 3, "members": [1, 5]}}, id="batch"
        ),
        pytest.param(ELECTRIC, SHORT, id="seed"),
        pytest.param(
            SCENE,
            MANY | {"fit.vary": NOISE, "fit.batch": 2, "runtime.precision": "f32"},
            id="single precision",
        ),
        pytest.param(EQUILIBRIUM, HUNG, id="equilibrium", marks=pytest.mark.long),
    ],
)
def test_half_a_fit_and_half(
    scene: Path, changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    changes = changes | {"fit.save_every": 1}
    expected = files(minusgrad.fit(scene, changes, "whole").folder)
    with ctrl_c(3) as progress, pytest.raises(InterruptedRunError):
        minusgrad.fit(scene, changes, "half", progress=progress)
    minusgrad.resume("half")
    assert files(Path("half")) == expected


@pytest.mark.parametrize("changes", [{"fit.vary": NOISE}, {"fit.batch": 2, "fit.vary": NOISE}])
def test_what_is_held_out_changes_no_bit(changes: dict[str, Any]) -> None:
    found = []
    for held_out in (None, {"every": 1, "draws": 2}):
        more = {} if held_out is None else {"fit.held_out": held_out}
        fit = fit_of(**MANY, **changes, **more)
        fit.look()
        for _ in range(3):
            fit.search.advance(1)
            if held_out:
                fit._held_out_loss()
                assert fit.objective.again() == fit.search.energy
        found.append((fit.search.energy, fit.objective.fields[STIFFNESS].values.tobytes()))
    assert found[0] == found[1]


def test_the_held_out_loss_is_the_mean_over_its_draws() -> None:
    fit = noisy(**{"fit.held_out": {"every": 1, "draws": 3}})
    found, each = fit._held_out_loss(), []
    for number in range(3):
        fit.draws.put(number, held_out=True)
        each.append(fit.objective.again())
    assert found == np.mean(each)
    assert len({*each}) == 3
    fit.objective.redraw(0)
    assert fit.estimates().held_out == found


# Experiments


def test_batches_take_every_experiment_once_in_a_pass() -> None:
    """Six in batches of two: three iterations see all, in another order in the next pass."""
    fit = fit_of(**MANY, **{"fit.batch": 2})
    alone = [fit_of(**MANY, **{"ensemble.member": k}).objective.value() for k in range(6)]
    passes = []
    for lap in range(3):
        order = []
        for place in range(3):
            fit.objective.redraw(3 * lap + place)
            chosen = [one.number for one in fit.experiments._present]
            assert fit.objective.value() == pytest.approx(3.0 * sum(alone[k] for k in chosen), rel=1e-14)
            order += chosen
        assert sorted(order) == list(range(6))
        passes.append(order)
    assert len({tuple(order) for order in passes}) > 1
    fit.objective.redraw(1)
    chosen = [one.number for one in fit.experiments._present]
    slopes = [gradient(fit_of(**MANY, **{"ensemble.member": k})) for k in chosen]
    assert gradient(fit) == pytest.approx(3.0 * sum(slopes), rel=1e-14)


def test_members_that_are_held_out_take_no_part() -> None:
    fit = fit_of(**MANY, **{"fit.held_out": {"every": 2, "members": [0, 3]}})
    alone = [fit_of(**MANY, **{"ensemble.member": k}) for k in range(6)]
    values = [one.objective.value() for one in alone]
    assert fit.objective.value() == pytest.approx(sum(values[k] for k in (1, 2, 4, 5)), rel=1e-14)
    assert fit._held_out_loss() == pytest.approx(2.0 * (values[0] + values[3]), rel=1e-14)
    assert fit.count == sum(alone[k].count for k in (1, 2, 4, 5))


def test_each_experiment_has_draws_of_its_own() -> None:
    fit = fit_of(**MANY, **{"fit.vary": NOISE})
    shifts = []
    for one in fit.experiments._each():
        shift = fit.simulation.fields["x"].values - fit.members.initial("x")[one.number]
        np.testing.assert_allclose(
            shift[1:], 0.01 * drawn("state.x", 0, (1, 2), f"fit/{one.number}"), atol=1e-15
        )
        assert (shift[0] == 0.0).all()
        shifts.append(shift[1])
    assert len(np.unique(np.stack(shifts), axis=0)) == 6


def test_a_batch_of_all_is_the_whole_fit(tmp_path: Path) -> None:
    whole, batch = fit_of(**MANY), fit_of(**MANY, **{"fit.batch": 6})
    for fit in (whole, batch):
        fit.search.advance(3)
    assert whole.search.energy == batch.search.energy


# The result


def test_a_fit_reports_and_records_what_is_held_out(tmp_path: Path) -> None:
    """At the start, every two iterations and at the end; without standard errors, which no draw has."""
    done = minusgrad.fit(ELECTRIC, SHORT, tmp_path / "fit")
    series = done.series("observables/held_out")
    assert series.step.tolist() == [0, 2, 4, 5]
    assert done.estimates.held_out == series.value[-1]
    assert "loss of what was held out" in str(done.estimates)
    assert minusgrad.open(tmp_path / "fit").estimates.held_out == done.estimates.held_out
    noise = minusgrad.fit(SCENE, MANY | {"fit.vary": NOISE}, tmp_path / "noise")
    assert "drawn anew" in noise.estimates.errors_from


# Refusals

VARY = "fit.vary"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({VARY: {"spring.rest": {"normal": [1.0, 0.0]}}}, "normal: needs a deviation above 0, got 1.0 and 0"),
        ({VARY: {"spring.rest": {"uniform": [1.0, 1.0]}}}, "uniform: needs bounds that differ, got 1.0 and"),
        ({VARY: {"state.x": {"jitter": 0.0}}}, "jitter: needs a deviation above 0, got 0.0"),
        ({VARY: {"spring.rest": {"normal": [1.0]}}}, "normal"),
        ({VARY: {"spring.rest": {"uniform": [2.0, 1.0]}}}, "uniform: needs its lower end first"),
        ({VARY: {"spring.rest": {}}}, "needs one of uniform, normal, lognormal, jitter, got none"),
        ({VARY: {"spring.rest": {"normal": ["1 s", "0.1 s"]}}}, "1 s"),
        ({VARY: {"spring.rust": {"normal": [1.0, 0.1]}}}, "did you mean 'rest'"),
        ({VARY: {"state.y": {"normal": [1.0, 0.1]}}}, "draw initial fields, as in state.x, or parameters"),
        ({VARY: {"run.steps": {"normal": [1.0, 0.1]}}}, "members share [run]"),
        ({VARY: {STIFFNESS: {"normal": [2.0, 0.1]}}}, "is fitted, and cannot be drawn"),
        ({VARY: {"spring.rest": {"anew": True}}}, "is no seed, got anew"),
        ({VARY: {"runtime.seed": {"uniform": [0, 9]}}}, "is a seed, got uniform; write { anew = true }"),
        ({VARY: SEED}, "the states of members are made once"),
        ({VARY: {"state.x": {"normal": [0.0, 1.0]}}}, "is varied by [ensemble], and a draw would"),
        ({VARY: {"state.m": {"jitter": "9 kg", "body": "bob"}}}, "narrow the distribution"),
        ({VARY: NOISE, "fit.method": "lbfgs", "fit.rate": None}, 'got "lbfgs"; use "adam", or'),
        ({VARY: NOISE, "fit.method": "gradient_descent", "fit.rate": None}, "without a `rate`, whose"),
        ({VARY: NOISE, "fit.change": 1e-3}, "change: says nothing of a loss that is drawn"),
        ({"fit.batch": 7}, "batch: needs at most the 6 experiments, got 7"),
        ({"fit.batch": 2, "fit.members": "starts"}, 'batch: needs [ensemble] and members = "experiments"'),
        ({"fit.held_out": {"every": 2}}, "held_out: needs draws of [fit.vary] or `members`"),
        ({"fit.held_out": {"every": 2, "members": [6]}}, "members: no member 6, there are 0 to 5"),
        ({"fit.held_out": {"every": 2, "members": [0, 1, 2, 3, 4, 5]}}, "hold out all members"),
        ({"fit.held_out": {"every": 2}, VARY: NOISE, "fit.members": "starts"}, "is the loss of one"),
    ],
)  # fmt: skip
def test_refusals(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((SceneError, UserError)) as refused:
        fit_of(**(MANY | changes))
    assert message in str(refused.value)
    assert str(refused.value).count("\n") <= 1


def test_a_draw_that_the_scene_cannot_have_ends_the_fit_where_it_was(tmp_path: Path) -> None:
    """Iteration and key are named; what was found until then is saved, with its bits."""
    wild = {VARY: {"state.m": {"jitter": "0.6 kg", "body": "bob"}}, "fit.iterations": 60, "fit.save_every": 1}
    with pytest.raises(RunFailedError) as failed:
        minusgrad.fit(SCENE, MANY | wild | {"fit.batch": 1}, tmp_path / "fit")
    assert "narrow the distribution" in str(failed.value)
    number = int(str(failed.value).split("draw ")[1].split()[0])
    kept = minusgrad.open(tmp_path / "fit").series("observables/loss")
    assert kept.step.tolist() == list(range(number))


def test_a_search_returns_to_the_draw_of_its_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a draw that fails, loss and gradient are those of the iteration before."""
    fit = noisy()
    fit.search.advance(2)
    before = fit.search.energy, {n: a.copy() for n, a in fit.search.state().items()}
    put: Callable = fit.draws.put

    def failing(number: int, held_out: bool = False) -> None:
        put(number, held_out)
        if number == 3:
            raise RunFailedError("draw 3")

    monkeypatch.setattr(fit.draws, "put", failing)
    with pytest.raises(RunFailedError, match="draw 3"):
        fit.search.advance(1)
    assert fit.search.energy == before[0]
    for name, values in fit.search.state().items():
        np.testing.assert_array_equal(values, before[1][name], err_msg=name)


def test_starts_have_the_draws_of_their_fits_alone(tmp_path: Path) -> None:
    changes = ADAM | {"ensemble.members": 2, "fit.iterations": 3, "fit.vary": NOISE}
    minusgrad.fit(SCENE, changes | {"fit.members": "starts"}, tmp_path / "fit")
    rows = (tmp_path / "fit/starts.csv").read_text().splitlines()[1:]
    for number, row in enumerate(rows):
        alone = fit_of(**changes, **{"ensemble.member": number})
        alone.search.advance(3)
        assert float(row.split(",")[2]) == alone.search.energy
    assert len(rows) == 2


def test_a_restored_fit_has_the_draw_of_its_iteration() -> None:
    """What is computed again after it was resumed is computed under the same draw."""
    fit, other = noisy(), noisy()
    fit.search.advance(3)
    other.restore(fit.snapshot())
    assert other.objective.again() == fit.objective.again() == fit.search.energy
