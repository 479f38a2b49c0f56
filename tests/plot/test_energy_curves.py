"""Axes of energies and losses: time or iterations, linear or logarithmic."""

from functools import partial

import matplotlib
import matplotlib.image
import numpy as np
import pytest
from matplotlib.figure import Figure

from minusgrad.files import trajectory
from minusgrad.plot import pictures, style
from minusgrad.plot.curves import energies, space_time
from tests.support.recorded_runs import T
from tests.support.recorded_runs import recorded_run as _run
from tests.support.seen_pictures import ENERGIES, STILL, captured_figure, picture_size

FALLING = 2.0 ** -np.arange(9.0)


def _energy_axes(run):
    names = trajectory.names(run)
    return captured_figure(
        partial(energies.draw, run=run, energies=energies.energies_of(names), names=names)
    ).axes


def test_a_minimiser_counts_iterations_and_shows_its_residual(tmp_path):
    found = {"total": 1 + FALLING, "potential/spring": 1 + FALLING, "residual": FALLING**4}
    run = _run(tmp_path / "run", observables=found, times=STILL)
    assert [path.name for path in pictures.plot(run)] == ["energy.png"]
    picture_size(run / "pictures" / "energy.png")
    above, below = _energy_axes(run)
    assert [line.get_label() for line in above.lines] == ["spring", "total"]
    for line in (*above.lines, *below.lines):
        assert line.get_xdata().tolist() == list(range(9))
    np.testing.assert_array_equal(below.lines[0].get_ydata(), FALLING**4)
    assert (below.get_yscale(), below.get_ylabel()) == ("log", "residual [N]")
    assert (above.get_xlabel(), below.get_xlabel()) == ("", "iteration")
    assert above.get_xlim() == below.get_xlim() == (0, 8)


def test_a_residual_that_reaches_zero_is_drawn_up_to_there(tmp_path):
    run = _run(
        tmp_path / "run",
        observables={"potential/a": FALLING, "residual": np.where(FALLING > 0.01, FALLING, 0)},
        times=STILL,
    )
    _, below = _energy_axes(run)
    assert below.get_yscale() == "log"
    assert below.get_ylim()[0] > 1e-3
    assert not np.isfinite(below.transScale.transform((7.0, 0.0))[1]), "no line down to it"
    run = _run(tmp_path / "rest", observables={"potential/a": FALLING, "residual": STILL}, times=STILL)
    assert _energy_axes(run)[1].get_yscale() == "linear"


def test_a_minimiser_without_residual_has_one_panel(tmp_path):
    run = _run(tmp_path / "run", observables={"potential/a": FALLING, "total": FALLING}, times=STILL)
    (axes,) = _energy_axes(run)
    assert axes.get_xlabel() == "iteration"


def test_one_moment_is_a_time_and_no_iteration(tmp_path):
    _, below = _energy_axes(_run(tmp_path / "run", observables=ENERGIES, times=T[:1]))
    assert below.get_xlabel() == "time [yr]"


def test_energies_without_a_total_are_drawn(tmp_path):
    run = _run(tmp_path / "run", observables={"potential/a": T, "potential/b": -T, "residual": T})
    assert [path.name for path in pictures.plot(run)] == ["energy.png"]
    (axes,) = _energy_axes(run)
    assert [line.get_label() for line in axes.lines] == ["a", "b"]
    assert axes.get_xlabel() == "time [yr]"


def test_a_moving_system_shows_time_and_drift(tmp_path):
    above, below = _energy_axes(_run(tmp_path / "run", observables=ENERGIES | {"residual": 1 + T}))
    assert [line.get_label() for line in above.lines] == ["gravity", "kinetic", "total"]
    assert (below.get_xlabel(), below.get_ylabel()) == ("time [yr]", "energy error\n(relative)")
    np.testing.assert_allclose(below.lines[-1].get_ydata(), 1e-9 * T, rtol=1e-6, atol=1e-15)


def test_a_loss_that_falls_far_has_a_logarithmic_axis(tmp_path):
    loss = 0.26 / (1 + 8 * np.arange(9.0))
    found = {"total": loss, "potential/a": loss * (1 - 1e-9), "potential/b": loss * 1e-9, "residual": loss}
    above, below = _energy_axes(_run(tmp_path / "run", observables=found, times=STILL))
    assert (above.get_yscale(), below.get_yscale()) == ("log", "log")
    low, high = above.get_ylim()
    assert 0.05 * loss[-1] < low < loss[-1] < loss[0] < high, "a small term does not flatten the loss"
    for axes in (_energy_axes(_run(tmp_path / "one", observables={"total": loss}, times=STILL))[0], below):
        ticks = axes.get_yticks()
        assert all(np.isclose(ticks, tick).any() for tick in (0.01, 0.02, 0.05, 0.1, 0.2))
        assert all(label.get_text() for label in axes.get_yticklabels()), "and each has its number"


@pytest.mark.parametrize(
    ("total", "term", "times"),
    [
        (1 + 8 * FALLING, 1 + 8 * FALLING, STILL),  # less than a decade
        (FALLING, FALLING - 0.5, STILL),  # a term below zero
        (FALLING - 0.5, FALLING - 0.5, STILL),
        (-FALLING, -FALLING, STILL),
        (STILL, STILL, STILL),
        (FALLING, FALLING, np.arange(9.0)),  # no minimiser
    ],
)
def test_other_energies_have_a_linear_axis(tmp_path, total, term, times):
    run = _run(tmp_path / "run", observables={"total": total, "potential/a": term}, times=times)
    assert _energy_axes(run)[0].get_yscale() == "linear"


def test_a_loss_that_reaches_zero_is_drawn_up_to_there(tmp_path):
    total = np.where(FALLING > 0.01, FALLING, 0)
    (axes,) = _energy_axes(_run(tmp_path / "run", observables={"total": total}, times=STILL))
    assert axes.get_yscale() == "log"
    assert 1e-3 < axes.get_ylim()[0] < 0.0157


def test_a_field_of_a_minimiser_has_iterations_upwards(tmp_path):
    run = _run(tmp_path / "run", {"phi": np.outer(FALLING, np.arange(5.0))}, times=STILL)
    (axes, _) = captured_figure(partial(space_time.draw, run=run, name="particles/all/phi")).axes
    assert axes.get_ylabel() == "iteration"
    assert axes.get_ylim() == (-0.5, 8.5)


@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e7])
def test_numbers_of_an_axis_are_no_differences(scale):
    """A series that hardly changes has its digits at the ticks, and no number to add in a corner."""
    with matplotlib.rc_context(style.RC):
        figure = Figure()
        axes = figure.subplots()
        axes.plot(scale * (17.408 + 1e-5 * np.arange(5.0)))
        figure.draw_without_rendering()
        assert "+" not in axes.yaxis.get_offset_text().get_text()
        assert len({label.get_text() for label in axes.get_yticklabels()}) > 3
