"""Every recorded number has a picture: panels by observer and unit, bands for what swings often."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from minusgrad.errors import UserError
from minusgrad.files import trajectory
from minusgrad.files.h5md import Raster
from minusgrad.plot.curves import observables
from minusgrad.plot.curves.swings import BINS, SWINGS, draw_line, turns
from minusgrad.plot.pictures import drawings, plot
from tests.support.recorded_runs import T, recorded_run

pytestmark = pytest.mark.unit


def _panels(run: Path, names: list[str], only: str = ""):
    """The axes of the first picture of these observables."""
    (_, draw), *_ = observables.jobs(run, [f"observables/{name}" for name in names], only).items()
    figure = Figure()
    draw(figure)
    return figure.axes


def test_every_observable_is_drawn_and_vectors_have_components(tmp_path: Path) -> None:
    seen = {"temperature/kinetic": 1 + T, "temperature/forces": 2 + T, "momentum": np.outer(T, [1, 2, 3])}
    run = recorded_run(tmp_path / "run", observables=seen)
    momentum, temperature = _panels(run, sorted(seen))
    assert [line.get_label() for line in temperature.lines] == ["forces", "kinetic"]
    assert [line.get_label() for line in momentum.lines] == ["x", "y", "z"]
    assert np.array_equal(momentum.lines[2].get_ydata(), 3 * T)
    assert temperature.get_ylabel() == "temperature"
    assert (momentum.get_xlabel(), temperature.get_xlabel()) == ("", "time [yr]")
    assert [path.name for path in plot(run)] == ["observables.png"]


def test_the_name_of_a_single_matrix_stands_at_its_axis_alone(tmp_path: Path) -> None:
    seen = {"elastic_constants/stress": T[:, None, None] * np.eye(2)}
    (axes,) = _panels(recorded_run(tmp_path / "run", observables=seen), sorted(seen))
    assert axes.get_ylabel() == "elastic constants, stress"
    assert [line.get_label() for line in axes.lines] == ["xx", "xy", "yx", "yy"]


def test_coordinates_of_a_mechanism_are_numbered(tmp_path: Path) -> None:
    """The two angles of a double pendulum are along no axes of space; of one there is no number."""
    frames = {"q": np.stack([T, 2 * T], axis=1)[:, None], "a": T[:, None]}
    run = recorded_run(tmp_path / "run", frames=frames)
    figure = Figure()
    (draw,) = observables.jobs(run, trajectory.names(run)).values()
    draw(figure)
    found = {axes.get_ylabel(): [line.get_label() for line in axes.lines] for axes in figure.axes}
    assert found["q"] == ["0", "1"]
    assert [*found] == ["q", "a"] or [*found] == ["a", "q"]


@pytest.mark.parametrize("kind", ["x", "heat", "grid"])
def test_numbers_of_one_place_are_curves_over_time(tmp_path: Path, kind: str) -> None:
    """Of one node on a line, of one in a plane, of a grid of one cell: an image of one column is empty."""
    x, speed = np.sin(T)[:, None], np.cos(T)[:, None]
    frames = {"x": {"position": x[..., None], "velocity": speed[..., None]}, "grid": {"phi": x}}
    frames |= {"heat": {"position": np.stack([x, speed], axis=2), "heat": speed}}
    grid = {"rasters": {"line": Raster((1,), 0.5, ("m", 1.0))}, "grids": {"line/psi": speed}}
    run = recorded_run(tmp_path / "run", frames=frames[kind], **(grid if kind == "grid" else {}))
    whole = {path.stem for path in plot(run)}
    assert whole == {"observables"} | {"x": {"line"}, "heat": {"orbits"}, "grid": set()}[kind]
    label = {"x": "velocity", "heat": "heat", "grid": "psi"}[kind]
    jobs, _ = drawings(run, field=label)
    figure = Figure()
    jobs["points_heat" if kind == "heat" else label](figure)
    drawn = [
        line.get_ydata() for axes in figure.axes for line in axes.lines if len(line.get_ydata()) == len(T)
    ]
    assert kind == "heat" or np.allclose(drawn, [speed[:, 0]])


def test_a_body_on_a_line_has_one_panel(tmp_path: Path) -> None:
    jobs, _ = drawings(recorded_run(tmp_path / "run", frames={"position": np.sin(T)[:, None, None]}))
    figure = Figure()
    jobs["line"](figure)
    (axes,) = figure.axes
    assert axes.get_xlabel() == "time [yr]"
    assert np.allclose(axes.lines[0].get_ydata(), np.sin(T))


WRONG = {
    "step": ("x", "needs a whole number, got 'x'; write step=200"),
    "field": (3, "needs a text, got 3; write field='speed'"),
    "width": (8.5, "needs a text, got 8.5; write width='8.5 cm'"),
    "bodies": ("sun", "needs a list of names, got 'sun'; write bodies=['sun']"),
    "dark": ("no", "needs True or False, got 'no'; write dark=True"),
}


@pytest.mark.parametrize("option", WRONG)
def test_options_of_another_type_are_refused(tmp_path: Path, option: str) -> None:
    """Where they are not used, too: a run of curves alone has no use for a step."""
    run = recorded_run(tmp_path / "run", observables={"height": T})
    value, said = WRONG[option]
    with pytest.raises(UserError) as caught:
        plot(run, **{option: value})
    assert str(caught.value) == f"plot: {option}: {said}"
    assert not (run / "pictures").exists()


def test_energies_and_series_with_pictures_of_their_own_are_left_to_them(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run", observables={"total": T, "drift": T, "height": T})
    assert len(_panels(run, ["drift", "height", "total"])) == 1
    (axes,) = _panels(run, ["drift", "height", "total"], only="total")
    assert axes.get_ylabel() == "total"


def test_numbers_over_many_decades_are_logarithmic_and_constants_stay_flat(tmp_path: Path) -> None:
    seen = {"fall": np.exp(-3 * T), "level": 5.0 + 1e-15 * np.sin(T), "sum": 1 + T}
    run = recorded_run(tmp_path / "run", observables=seen)
    fall, level, plain = _panels(run, sorted(seen))
    assert [axes.get_yscale() for axes in (fall, level, plain)] == ["log", "linear", "linear"]
    assert level.get_ylim() == pytest.approx((4.75, 5.25))


def test_what_swings_often_is_a_band(tmp_path: Path) -> None:
    along = np.linspace(0.0, 2000.0, 20_000)
    swing, axes = np.sin(along), Figure().subplots()
    assert turns(swing) > SWINGS > turns(np.sin(along / 100))
    draw_line(axes, along, swing, color="red")
    (band,), (line,) = axes.collections, axes.lines
    assert len(line.get_ydata()) == BINS
    assert np.abs(line.get_ydata()).max() < 0.2  # the mean, in the middle of a band from -1 to 1
    ends = band.get_paths()[0].vertices[:, 1]
    assert ends.max() == pytest.approx(1.0, abs=1e-2)


def test_a_field_that_was_not_recorded_names_the_nearest(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run", observables={"height": T, "total": T})
    with pytest.raises(UserError, match="no field named 'heigth'; did you mean 'height'"):
        plot(run, field="heigth")
    with pytest.raises(UserError, match="no format named 'jpg'"):
        plot(run, form="jpg")
    with pytest.raises(UserError, match="a view needs positions"):
        plot(run, view="xz")


@pytest.mark.parametrize("form", ["svg", "pdf"])
def test_vector_formats_are_the_same_bytes_for_the_same_run(tmp_path: Path, form: str) -> None:
    run = recorded_run(tmp_path / "run", observables={"height": T})
    (path,) = plot(run, tmp_path / "one", form=form, field="height")
    assert path.name == f"height.{form}"
    (again,) = plot(run, tmp_path / "two", form=form, field="height")
    assert path.read_bytes() == again.read_bytes()
    assert path.read_bytes()[:5] in (b"%PDF-", b"<?xml")


def test_a_step_shows_the_state_of_its_time(tmp_path: Path) -> None:
    x = np.stack([np.outer(T, [1.0, 0.0]), np.outer(T, [0.0, 1.0])], axis=1)
    run = recorded_run(tmp_path / "run", {"position": x}, times=T)
    with pytest.raises(UserError, match="no frame up to this step, got -1"):
        plot(run, step=-1)
    late, early = (plot(run, tmp_path / str(step), step=step)[0].read_bytes() for step in (39, 10))
    assert late != early
    assert late == plot(run, tmp_path / "whole")[0].read_bytes()
