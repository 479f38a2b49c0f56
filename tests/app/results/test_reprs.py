"""How runs show themselves outside of notebooks, and the choice of a display of progress."""

from types import SimpleNamespace

import numpy as np
import pytest

import minusgrad
from minusgrad.app import run_options
from minusgrad.app.progress import progress
from minusgrad.app.results.notebook_progress import ProgressLine, in_notebook
from minusgrad.assembly.blocks import html_tables
from minusgrad.energies.fields import Field
from minusgrad.scene.units import UnitSystem
from minusgrad_crystals.sutton_chen import sutton_chen_density
from minusgrad_elastic.rods import rod
from minusgrad_gravity.gravity import gravity
from tests.support.recorded_runs import T, recorded_run


def test_progress_is_shown_in_a_notebook_or_where_it_is_asked_for():
    assert not in_notebook()
    assert run_options.chosen(None) is run_options.quiet
    assert run_options.chosen(False) is run_options.quiet
    assert run_options.chosen(True, "point").func is progress
    assert run_options.chosen(len) is len


def test_a_line_of_progress_says_how_far_it_is_and_what_is_saved():
    line = ProgressLine(0, 4000, "step")
    line.began -= 10.0
    line.step, line.saved = 1000, 800
    assert repr(line) == "step 1,000 of 4,000, 100 steps/s, 30 s left, saved at step 800"
    assert '<progress value="1000" max="4000"></progress>' in line._repr_html_()
    line.ended = True
    assert repr(line) == "step 1,000 of 4,000, 100 steps/s, 10.0 s"


def test_a_run_shows_its_last_values_with_units_and_its_names_escaped(tmp_path):
    x = np.zeros((len(T), 3, 1))
    run = minusgrad.open(
        recorded_run(tmp_path / "a<b", {"position": x}, {"residual": np.cos(T)}, {"title": "1 < 2"})
    )
    text = run._repr_html_()
    assert "1 &lt; 2" in text
    assert f"{np.cos(6.0):.6g} N" in text
    assert "a<b" not in text


def test_a_table_leaves_columns_without_a_value_out():
    text = html_tables.table(("field", "unit"), [("x", ""), ("<v>", "")])
    assert "unit" not in text
    assert "&lt;v&gt;" in text


def test_a_field_says_its_shape_type_and_unit():
    assert repr(Field.of("x", np.zeros((3, 2)), "m")) == "Field('x', [3, 2], float64, SI unit m)"
    assert repr(Field.of("q", np.zeros(3))) == "Field('q', [3], float64)"


def test_energies_and_series_are_shown_in_one_line(tmp_path):
    units = "x [m], m [kg], G [m^3 kg^-1 s^-2], softening [m]"
    assert repr(gravity) == f"LocalEnergy('gravity', over 'pairs': {units})"
    assert repr(rod).startswith("Constraint('rod', over ")
    assert repr(sutton_chen_density).startswith("LocalMap('sutton_chen_density', over 'pairs': x [m], ")
    run = minusgrad.open(recorded_run(tmp_path / "run", {"position": np.zeros((len(T), 3, 2))}))
    shown = "Series(40 moments, steps 0 to 39, times 0 to 6, value (40, 3, 2))"
    assert repr(run.series("position")) == shown


def test_a_simulation_without_steps_of_a_scene_does_not_count_them():
    stepper = SimpleNamespace(name="leapfrog", step=0, time=0.0, dt=0.1, residual=None)
    parts = {"units": UnitSystem.si(), "stepper": stepper, "fields": {}, "potentials": ()}
    scene = SimpleNamespace(title="links", path="links.toml")
    texts = [html_tables.of_simulation(SimpleNamespace(last=last, scene=scene, **parts)) for last in (0, 7)]
    assert ["steps of the scene" in text for text in texts] == [False, True]


def test_pictures_and_films_take_the_names_that_series_have(tmp_path):
    rng = np.random.default_rng(0)
    x, phi = rng.normal(size=(len(T), 5, 2)), rng.normal(size=(len(T), 5))
    run = minusgrad.open(recorded_run(tmp_path / "run", {"position": x, "phi": phi}, {"total": np.cos(T)}))
    names = ("phi", "particles/all/phi")
    assert len({run.plot(field=name, out=tmp_path / "out").paths[0].read_bytes() for name in names}) == 1
    assert run.plot(field="observables/total", out=tmp_path / "out").by_name.keys() == {"total"}
    films = {run.movie(tmp_path / "a.gif", field=name, every=20).path.read_bytes() for name in names}
    assert len(films) == 1
    assert len(run.plot(out=tmp_path / "one", most=1)) == 1


def test_a_run_is_viewed_in_a_page_or_in_a_file(tmp_path):
    pytest.importorskip("viser")
    x = np.random.default_rng(0).normal(size=(len(T), 5, 3))
    run = minusgrad.open(recorded_run(tmp_path / "run", {"position": x}))
    saved = run.view(save=tmp_path / "run.html", every=20)
    assert saved.path.stat().st_size > 0
    page = run.view(every=20)
    try:
        assert page.address.startswith("http://127.0.0.1")
        assert "<iframe" in page._repr_html_()
    finally:
        page.close()
