"""Units of pictures, one scale of errors for a run, and paper: dark pages, columns of journals, fonts."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from PIL import Image

from minusgrad.errors import UserError
from minusgrad.files import trajectory
from minusgrad.plot import picture_files, pictures, readings, style
from minusgrad.plot.curves import energies
from minusgrad.plot.dark import EXCHANGED, darken
from tests.support import recorded_runs
from tests.support.recorded_runs import T
from tests.support.recorded_runs import recorded_run as _run

ENERGIES = {"kinetic": 1 + 0.1 * np.sin(T), "potential/gravity": -2 - 0.1 * np.sin(T), "total": -1 + 1e-9 * T}


def _energy_figure(run):
    names = trajectory.names(run)
    with picture_files.Paper().rc():
        figure = picture_files.figure()
        energies.draw(figure, run=run, energies=energies.energies_of(names), names=names)
    return figure


# Errors of the energy -------------------------------------------------------------------------------


def test_a_driven_system_that_begins_near_nothing_has_one_scale_of_errors(tmp_path):
    """Of a bar that is twisted from rest: the drift by the energy so far is 12 at the start."""
    work = np.array([0.0, 1e-4, 1.0, 100.0, 1750.0])
    off = np.array([0.0, 1e-3, 2e-3, 1e-3, -5e-4])
    total = 1e-13 + work + off
    kept = total - work
    drift = (kept - kept[0]) / np.maximum(8e-5, work)
    assert np.abs(drift).max() > 9.0
    found = {"potential/a": total, "kinetic": 0 * work, "total": total, "work": work, "drift": drift}
    _, below = _energy_figure(_run(tmp_path / "run", observables=found, times=T[:5])).axes
    shown = below.lines[-1].get_ydata()
    np.testing.assert_allclose(shown, off / 1750.0, rtol=1e-3, atol=1e-15)
    assert shown[-1] == pytest.approx(drift[-1], rel=1e-9), "the last one is that which a report prints"


def test_a_drift_of_an_isolated_system_is_as_recorded(tmp_path):
    total = -2.0 + 1e-6 * np.sin(T)
    drift = (total - total[0]) / 2.0
    found = {"potential/a": total - 1.0, "kinetic": 1.0 + 0 * T, "total": total, "drift": drift}
    _, below = _energy_figure(_run(tmp_path / "run", observables=found)).axes
    np.testing.assert_allclose(below.lines[-1].get_ydata(), drift, rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize("lost", ["damped", "equilibrium"])
def test_an_energy_that_is_not_kept_has_no_error(tmp_path, lost):
    """A step that damps takes energy; along a path of equilibria nothing moves and loads give any energy."""
    found = {"potential/a": -T, "total": -T} | ({"kinetic": T, "damped": T} if lost == "damped" else {})
    assert len(_energy_figure(_run(tmp_path / "run", observables=found)).axes) == 1


# Units ----------------------------------------------------------------------------------------------


@pytest.mark.unit
@pytest.mark.parametrize(
    ("unit", "largest", "name", "factor"),
    [
        ("angstrom^2 u ps^-2", 2e5, "kJ/mol", 0.01),
        ("um^2 u ps^-2", 1e-3, "kJ/mol", 1e6),
        ("kJ/mol", 1e-9, "kJ/mol", 1.0),
        ("m^2 kg s^-2", 1753.0, "kJ", 1e-3),
        ("m^2 kg s^-2", 2e-4, "µJ", 1e6),
        ("m^2 kg s^-2", 0.0, "J", 1.0),
        ("nm^2 kg s^-2", 50.0, "eV", 1e-18 / 1.602176634e-19),
        ("AU^2 Msun day^-2", 5e-8, "J", 5.961e42),
        ("1", 5.0, "1", 1.0),
        ("m^-1 kg s^-2", 1e9, "Pa", 1.0),  # no energy
    ],
)
def test_energies_have_units_that_people_use(unit, largest, name, factor):
    found = readings.of_energies(unit, largest)
    assert found.name == name
    assert found.factor == pytest.approx(factor, rel=1e-3)


def test_series_are_read_in_the_units_of_pictures(tmp_path, monkeypatch):
    monkeypatch.setitem(recorded_runs.UNITS, "cell", ("angstrom^2 u ps^-2", 1.66e-23))
    run, name = _run(tmp_path / "run", observables={"cell": 100.0 * T}), "observables/cell"
    assert readings.symbols(run, name) == ("kJ/mol", "yr")
    whole = np.concatenate([piece.value for piece in readings.pieces(run, name)])
    for seen in (whole, readings.series(run, name).value):
        np.testing.assert_allclose(seen, T, rtol=1e-12)
    assert readings.last_row(run, name).value[-1] == pytest.approx(T[-1])
    assert trajectory.last_row(run, name).value[-1] == pytest.approx(100.0 * T[-1]), "files stay as they are"


# Paper ----------------------------------------------------------------------------------------------


def test_a_paper_changes_size_colours_and_text_and_no_values(tmp_path):
    run = _run(tmp_path / "run", observables=ENERGIES)
    (usual,) = pictures.plot(run, tmp_path / "usual")
    (column,) = pictures.plot(run, tmp_path / "column", width="8.5cm", dpi=600, font="serif", dark=True)
    with Image.open(usual) as screen, Image.open(column) as paper:
        assert screen.width == pytest.approx(6.4 * 150, abs=2)
        assert paper.width == pytest.approx(8.5 / 2.54 * 600, abs=2)
        assert screen.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
        assert paper.convert("RGB").getpixel((2, 2)) == tuple(bytes.fromhex(style.DARK["#ffffff"][1:]))
        assert {*screen.info["Description"].splitlines()} == {*paper.info["Description"].splitlines()}
        assert "energy error (relative)" in paper.info["Description"].splitlines()


@pytest.mark.parametrize(("width", "below"), [("8.5 cm", True), ("16 cm", False)])
def test_a_column_has_its_legend_below(tmp_path, width, below):
    paper = picture_files.Paper.of(width=width)
    figure = _energy_figure(_run(tmp_path / "run", observables=ENERGIES))
    paper.lay(figure)
    assert (len(figure.legends), figure.axes[0].get_legend() is None) == (below, below)
    figure.canvas.draw()
    wide = figure.axes[0].get_window_extent().width / figure.bbox.width
    assert (wide > 0.7) if below else (wide < 0.85)


def test_no_artist_of_a_dark_picture_keeps_a_colour_of_white_paper(tmp_path):
    figure = _energy_figure(_run(tmp_path / "run", observables=ENERGIES))
    pale = LineCollection([[(0.0, 0.0), (1.0, 1.0)]] * 2, colors=[style.INK, "#123456"])
    figure.axes[0].add_collection(pale)
    for _ in range(2):  # twice does no more
        darken(figure)
    used = {to_hex(text.get_color()) for text in figure.findobj(Text)}
    used |= {to_hex(line.get_color()) for line in figure.findobj(Line2D)}
    used |= {to_hex(patch.get_facecolor()) for patch in figure.findobj(Patch) if patch.get_facecolor()[3]}
    assert not used & {*EXCHANGED, "#000000"}
    assert [to_hex(colour) for colour in pale.get_edgecolor()] == [style.DARK[style.INK], "#123456"]


def test_a_picture_on_black_stays_as_it_is():
    figure = Figure(facecolor="black")
    figure.suptitle("stars", color="white")
    darken(figure)
    assert (to_hex(figure.get_facecolor()), figure.get_suptitle()) == ("#000000", "stars")
    assert to_hex(figure.findobj(Text)[0].get_color()) == "#ffffff"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": "8.5 s"}, "plot: width is no length, got '8.5 s'; give one like '8.5 cm'"),
        ({"width": "wide"}, "plot: width is no length, got 'wide'; give one like '8.5 cm'"),
        (
            {"width": "1 cm"},
            "plot: width must be from 3 cm to 60 cm, got '1 cm'; a column is about 8.5 cm wide",
        ),
        ({"dpi": 0}, "plot: dpi must be from 30 to 1200, got 0; journals ask for 300 to 600"),
        ({"font": "sanz"}, "plot: no font named 'sanz'; did you mean 'sans'?"),
    ],
)
def test_a_paper_that_cannot_be_is_refused(options, message):
    with pytest.raises(UserError) as refused:
        picture_files.Paper.of(**options)
    assert str(refused.value).startswith(message)
