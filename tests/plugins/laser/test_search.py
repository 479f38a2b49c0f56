"""The search for a path: edits against sums over moves, schedules, runs that are cut between and at edits."""

import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.runs import build, run
from minusgrad.errors import EnergyError, InterruptedRunError, SceneError
from minusgrad.steppers import scheduler
from minusgrad_laser.jobs import gcode
from minusgrad_laser.machine.limits import violations
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.scores import intersection_over_union
from minusgrad_laser.search import edits, recipe
from minusgrad_laser.search.edits import Points
from minusgrad_laser.search.errors_along import ErrorsAlong
from minusgrad_laser.search.schedule import Course
from minusgrad_laser.tool.runs import toolpath
from minusgrad_laser.virtual_machine import replay
from tests.support.command import files, last_saved
from tests.support.short_scenes import ctrl_c, cut

SCENE = """
[units]
system = "dimensionless"

[state]
kind = "laser_path"
canvas = { size = [40, 40] }
target = { kind = "disc", radius = 12.0 }
path = { kind = "raster", pitch = 5.0, spacing = 8.0 }
power = 3.0
speed = 1.0
spare = 40

[[map]]
kind = "blanking"

[[map]]
kind = "gaussian_dose"
fields = { power = "beam" }
waist = 2.5

[[map]]
kind = "sigmoid_threshold"

[[map]]
kind = "overlap"
sizes = { picture = 1 }

[[energy]]
kind = "soft_overlap"

[stepper]
kind = "path_search"
rate = 0.2

[stepper.fields]
x = { lower = 0.0, upper = 39.0 }
y = { lower = 0.0, upper = 39.0 }
power = { lower = 0.0, upper = 6.0 }
speed = { lower = 0.5, upper = 2.0, rate = 0.2 }

[[stepper.schedule]]
parameter = "sigmoid_threshold.steepness"
steps = [2, 10]
values = [5.0, 20.0]
geometric = true

[[stepper.schedule]]
parameter = "rate"
steps = [4, 12]
values = [0.2, 0.05]

[stepper.editing]
every = 4
until = 8
longest = 7.0
shortest = 1.0
straight = 0.01
dark = 0.3
gap = 0.1
slack = 0.01
size = [40, 40]
beside = 2.5

[run]
steps = 12

[[observe]]
kind = "energies"
every = 1
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "disc.toml").write_text(SCENE)
    return tmp_path / "disc.toml"


def path_of(*rows: tuple[float, float, float, float, bool]) -> Points:
    """Points of rows (x, y, power, speed, lit)."""
    table = np.array(rows, float)
    return Points(table[:, :2], table[:, 2:4], table[:, 4] > 0.5)


def drawn(path: Points) -> set[tuple]:
    """The lit moves, whichever way round: both ends, exposure."""
    found = set()
    for i in np.flatnonzero(path.lit):
        ends = sorted(tuple(np.round(path.point[k, :2], 9)) for k in (i - 1, i))
        found.add((*ends, round(path.move[i, 0] / path.move[i, 1], 9)))
    return found


def exposed(path: Points) -> float:
    """Sum of power / speed times length over the lit moves."""
    return float((path.move[:, 0] / path.move[:, 1] * path.lengths)[path.lit].sum())


def some_strokes(seed: int) -> Points:
    rng = np.random.default_rng(seed)
    n = 40
    lit = rng.random(n) < 0.7
    lit[0] = False
    return Points(rng.random((n, 4)), rng.uniform(1.0, 2.0, (n, 4)), lit)


def test_dark_moves_split_a_stroke_and_shorten_it() -> None:
    path = path_of((0, 0, 5, 1, 0), (1, 0, 0, 1, 1), (2, 0, 5, 1, 1), (3, 0, 0, 1, 1), (4, 0, 0, 1, 1),
                   (5, 0, 5, 1, 1), (6, 0, 0, 1, 1))  # fmt: skip
    found = edits.darken_weak_moves(path, 0.5)
    assert found.point[:, 0].tolist() == [1, 2, 4, 5]
    assert found.lit.tolist() == [False, True, False, True]
    assert drawn(found) == {((1, 0), (2, 0), 5.0), ((4, 0), (5, 0), 5.0)}


@pytest.mark.parametrize("seed", range(5))
def test_tidying_and_ordering_draw_the_same_moves(seed: int) -> None:
    path = edits.tidy_travels(some_strokes(seed))
    assert drawn(path) == drawn(some_strokes(seed))
    assert path.lit[[0, -1]].tolist() == [False, True]
    assert not (~path.lit[1:] & ~path.lit[:-1]).any()
    after = edits.order_strokes(path)
    assert drawn(after) == drawn(path)
    assert len(after) == len(path)
    dark = [float(p.lengths[~p.lit].sum()) for p in (path, after)]
    assert dark[1] < 0.7 * dark[0]


def test_the_means_of_a_point_and_of_a_move_stay_with_it() -> None:
    """Column 2 is a function of the place, or of the move's power."""
    path = edits.tidy_travels(some_strokes(1))
    path.point[:, 2] = path.point[:, 0] + 2.0 * path.point[:, 1]
    path.move[:, 2] = 3.0 * path.move[:, 0]
    for after in (edits.order_strokes(path), edits.insert_points(path, 0.3, 0.1, 10, np.zeros(len(path)))):
        assert after.point[:, 2] == pytest.approx(after.point[:, 0] + 2.0 * after.point[:, 1])
        assert after.move[after.lit][:, 2] == pytest.approx(3.0 * after.move[after.lit][:, 0])


def test_merging_keeps_the_mean_exposure_and_the_time() -> None:
    path = path_of((0, 0, 0, 1, 0), (1.0, 0, 2, 1, 1), (1.2, 0, 6, 2, 1), (3, 0, 4, 4, 1), (4, 1, 4, 4, 1),
                   (4.1, 3, 1, 1, 0), (4.2, 3, 1, 1, 1))  # fmt: skip
    found = edits.merge_points(path, 0.5, 0.0)
    assert found.point[:, 0].tolist() == [0, 1.2, 3, 4, 4.1, 4.2], "a stroke of one short move stays"
    assert exposed(found) == pytest.approx(exposed(path), rel=1e-12)
    time = [float((p.lengths / p.move[:, 1])[p.lit].sum()) for p in (path, found)]
    assert time[1] == pytest.approx(time[0], rel=1e-12)


def test_points_of_a_straight_stroke_are_useless_unless_its_power_changes() -> None:
    straight = path_of((0, 0, 0, 1, 0), (1, 0.01, 2, 1, 1), (2, 0, 2.05, 1, 1), (3, 0, 4, 1, 1))
    assert edits.merge_points(straight, 0.0, 0.1).point[:, 0].tolist() == [0, 2, 3]
    assert len(edits.merge_points(straight, 0.0, 0.001)) == 4


def test_short_travels_join_strokes_in_the_middle() -> None:
    path = path_of((0, 0, 0, 1, 0), (1, 0, 2, 1, 1), (1.1, 0, 2, 1, 0), (2, 0, 2, 1, 1), (3, 0, 2, 1, 0),
                   (4, 0, 2, 1, 1))  # fmt: skip
    found = edits.join_short_travels(path, 0.5)
    assert found.point[:, 0] == pytest.approx([0, 1.05, 2, 3, 4])
    assert found.lit.tolist() == [False, True, True, False, True]


def test_the_longest_moves_are_cut_first_then_those_to_blame() -> None:
    path = path_of((0, 0, 0, 1, 0), (3, 0, 2, 1, 1), (5, 0, 3, 1, 1), (6, 0, 2, 1, 1), (16, 0, 2, 1, 0),
                   (17, 0, 2, 1, 1))  # fmt: skip
    blame = np.array([0, 0, 0, 7.0, 9.0, 0.0])
    halves = [edits.insert_points(path, 1.9, 0.5, spare, blame).point[:, 0].tolist() for spare in (1, 2, 9)]
    assert halves[0] == [0, 1.5, 3, 5, 6, 16, 17]
    assert halves[1] == [0, 1.5, 3, 4, 5, 6, 16, 17]
    assert halves[2] == [0, 1.5, 3, 4, 5, 5.5, 6, 16, 17]
    assert exposed(edits.insert_points(path, 1.9, 0.5, 9, blame)) == exposed(path)
    assert len(edits.insert_points(path, 20.0, 0.6, 9, blame)) == 6, "its halves would be too short"


def test_errors_are_blamed_on_the_moves_beside_them() -> None:
    path = path_of((0, 2, 0, 1, 0), (5, 2, 2, 1, 1), (5, 8, 2, 1, 0), (9, 8, 2, 1, 1))
    error = np.zeros((12, 10))
    error[3, 0:6] = 0.9  # half a pitch above the first move
    found = ErrorsAlong(10, 12, 1.0, 1.0, "developed").of(path, error.ravel())
    assert found == pytest.approx([0.0, 5.0 * 0.3, 0.0, 0.0])


def test_schedules_are_piecewise_linear_in_the_value_or_its_logarithm() -> None:
    linear = Course("a", np.array([10, 20]), np.array([1.0, 4.0]), False)
    assert [linear.at(k) for k in (0, 10, 15, 20, 99)] == [1.0, 1.0, 2.5, 4.0, 4.0]
    geometric = Course("a", np.array([10, 20]), np.array([1.0, 4.0]), True)
    assert [geometric.at(k) for k in (5, 15, 30)] == pytest.approx([1.0, 2.0, 4.0])


def test_a_search_edits_the_path_and_follows_its_schedules(scene: Path) -> None:
    """Moves longer than 7 are cut at step 4, the spare points follow the last one, and the loss falls."""
    stepper = build(scene).stepper
    fields, before = stepper.potential.fields, stepper.used
    begun = stepper.energy
    assert before == len(fields["x"].values) - 40
    stepper.advance(3)
    assert stepper.used == before
    assert stepper.potential.parameter("sigmoid_threshold.steepness") == pytest.approx(5.0 * 4.0**0.125)
    stepper.advance(9)
    x, lit, used = fields["x"].values, fields["lit"].values, stepper.used
    assert before < used <= len(x)
    assert (x[used:] == x[used - 1]).all()
    assert lit[used - 1] == 1.0 > lit[used:].max()
    assert stepper.potential.parameter("sigmoid_threshold.steepness") == pytest.approx(20.0)
    assert stepper.rate == 0.05
    assert stepper.energy < 0.35 * begun


def test_an_edit_that_raises_the_energy_is_taken_back(scene: Path) -> None:
    """Merging all points of a stroke raises it by more than 0, and by less than 1."""
    given = {"stepper.editing.shortest": 30.0, "stepper.editing.longest": 100.0, "stepper.editing.every": 6}
    none, tight, loose = (
        build(scene, given | own).stepper
        for own in (
            {"stepper.editing.every": 7},
            {"stepper.editing.slack": 0.0},
            {"stepper.editing.slack": 1.0},
        )
    )
    for one in (none, tight, loose):
        one.advance(6)
    assert tight.energy <= none.energy < loose.energy
    assert loose.used < none.used == tight.used
    lit = [one.potential.fields["lit"].values for one in (none, tight)]
    assert (lit[0] == lit[1]).all()


@pytest.mark.parametrize("precision", ["f64", pytest.param("f32", marks=pytest.mark.long)])
def test_a_search_cut_between_and_at_edits_has_the_same_files(
    scene: Path, tmp_path: Path, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "Pace", partial(scheduler.Pace, 0.0))
    by: dict[str, Any] = {"runtime.precision": precision}
    whole = files(run(scene, by, tmp_path / "whole").folder)
    for first, second in ((3, 4), (5, 8))[: 1 if precision == "f64" else 2]:
        out = cut(tmp_path / f"{first}-{second}", scene, by, first)
        assert last_saved(out) == first
        with ctrl_c(second) as progress, pytest.raises(InterruptedRunError):
            resume(out, progress=progress)
        resume(out)
        assert files(out) == whole


REFUSED = {
    "a value out of bounds": (
        {"stepper.schedule.0.values": [5.0, -1.0]},
        "schedule of 'sigmoid_threshold.steepness': must be within (0, inf), got -1.0; change the value",
    ),
    "an unknown parameter": (
        {"stepper.schedule.0.parameter": "sigmoid_threshold.steep"},
        "stepper: sigmoid_threshold: no parameter named 'steep'; did you mean 'steepness'? (there are:",
    ),
    "steps that do not ascend": ({"stepper.schedule.0.steps": [5, 5]}, "`steps` must ascend, got [5, 5]"),
    "too few values": (
        {"stepper.schedule.0.values": [5.0]},
        "`steps` has 2 entries and `values` 1",
    ),
    "a rate of 0": (
        {"stepper.schedule.1.values": [0.2, 0.0]},
        "schedule of 'rate': the rate is positive, got [0.2, 0.0]; change it",
    ),
    "two rules of the rate": (
        {"stepper.final_rate": 0.01, "stepper.decay_steps": 10},
        "stepper: `final_rate` and a schedule of 'rate' both set the rate, got 0.01 and steps [4, 12]; leave"
        " one of them out",
    ),
    "cuts that are merged again": (
        {"stepper.editing.shortest": 4.0},
        "editing: longest must be at least twice `shortest`, got 7.0 and 4.0: the halves of a move would be"
        " merged again; raise `longest`",
    ),
    "a path that is not sought as a whole": (
        {"stepper.fields": {"x": {}, "y": {}}},
        "editing: needs all of x, y, power, speed as unknowns, none held, got x, y; name them in"
        " [stepper.fields], or leave `editing` out",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str, scene: Path) -> None:
    overrides, text = REFUSED[name]
    with pytest.raises((SceneError, EnergyError)) as error:
        build(scene, overrides)
    assert text in str(error.value)


def test_the_scene_of_the_engraver_is_what_the_recipe_writes() -> None:
    """Its title and its claim apart; `picture` has the same area as the letters."""
    scene = Path(__file__).parents[3] / "scenes" / "engraver_text.toml"
    target = build(scene).fields["target"].values.reshape(305, 435)
    picture = recipe.Picture('{ kind = "svg", file = "data/letters.svg" }', target)
    profile = Profile("GRBL diode engraver", field=(0.3, 0.3), lines_per_second=500.0)
    found = tomllib.loads(recipe.text(picture, profile, steps=100, title="A text for an engraver"))
    assert found == tomllib.loads(scene.read_text())


def discs(radius: int, folder: Path, steps: int = 40) -> tuple[Path, np.ndarray]:
    """The recipe's scene for a disc, its radius in pixels of 20 um, and the target."""
    n = 8 * radius // 3
    y, x = np.mgrid[:n, :n] - 0.5 * (n - 1)
    target = (np.hypot(x, y) <= radius).astype(float)
    table = recipe.Picture(f'{{ kind = "disc", radius = "{20 * radius} um" }}', target)
    scene = folder / "disc.toml"
    scene.write_text(recipe.text(table, ENGRAVER, steps=steps))
    return scene, target


ENGRAVER = Profile("engraver", lines_per_second=500.0)


@pytest.mark.parametrize(("radius", "bound"), [(12, 0.9), (24, 0.97)], ids=["0.48 mm", "0.96 mm"])
def test_a_shortened_case_of_the_benchmark(radius: int, bound: float, tmp_path: Path) -> None:
    """A disc in 40 iterations: a job that keeps limits, replayed within 1 %."""
    scene, target = discs(radius, tmp_path)
    done = run(scene, {}, tmp_path / "run")
    dose = done.simulation.fields["dose"].values.reshape(target.shape)
    job = replay(gcode.write(toolpath(done), ENGRAVER), ENGRAVER, target.shape, full=2.5e5)
    assert job.violations == ()
    assert np.abs(job.dose - dose).sum() < 0.01 * dose.sum()
    assert intersection_over_union(job.dose, target) > bound


def test_a_job_is_of_the_power_that_the_laser_can_follow(tmp_path: Path) -> None:
    """A slew rate that the first powers break, and a power step in the middle of the path."""
    y, x = np.mgrid[:32, :32] - 15.5
    table = recipe.Picture('{ kind = "disc", radius = "240 um" }', (np.hypot(x, y) <= 12.0).astype(float))
    slow = replace(ENGRAVER, power_slew=50.0)
    (tmp_path / "disc.toml").write_text(recipe.text(table, slow, steps=3))
    done = run(tmp_path / "disc.toml", {}, tmp_path / "run")
    simulation = done.simulation
    power = simulation.fields["power"]
    stepped = power.values.copy()
    stepped[3] *= 0.1
    power.set(stepped)
    simulation.potential.refresh()
    seconds = simulation.fields["duration"].values.astype(float) * simulation.units.in_si("s")
    path = toolpath(done)
    given = replace(path, power=stepped[: len(path)].astype(float) * simulation.units.in_si("W"))
    assert "slew" in {one.kind for one in violations(given, slow, seconds[: len(path)], 1e-4)}
    assert violations(path, slow, seconds[: len(path)], 1e-4) == []


def test_cut_moves_keep_their_exposure_below_the_line_rate(tmp_path: Path) -> None:
    """Moves of 100 um at 100 mm/s would take half of the 2 ms of a line, so each is half as fast."""
    stepper = build(discs(12, tmp_path)[0]).stepper
    fields = stepper.potential.fields

    def exposure() -> float:
        x, y, power, nominal, lit = (
            fields[name].values.astype(float) for name in ("x", "y", "power", "nominal", "lit")
        )
        return float(
            (lit * power / nominal * np.hypot(np.diff(x, prepend=x[0]), np.diff(y, prepend=y[0]))).sum()
        )

    stepper.potential.refresh()
    begun = exposure()
    for _ in range(3):
        path = stepper._points_with_means()
        stepper._take_path(edits.insert_points(path, 120.0, 40.0, 400, np.zeros(len(path))))
        stepper.potential.refresh()
    lit = fields["lit"].values > 0.5
    assert fields["nominal"].values[lit].max() < 61.0
    assert exposure() == pytest.approx(begun, rel=1e-4)
