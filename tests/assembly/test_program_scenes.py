"""Scenes of programs, with `[[slope]]` and the stepper `evolution`: runs, cuts, fits, units, messages."""

from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from minusgrad import build, fit, resume, run
from minusgrad.app.compare import compare
from minusgrad.errors import NonFiniteError, SceneError, UserError
from tests.support.programs import steps_in_numpy
from tests.support.short_scenes import cut

PLUGIN = """
    import numpy as np
    from minusgrad.plugin import Body, Record, State, hookimpl
    from tests.support import programs

    class Chain(Record):
        '''Six masses.'''
        def make(self, context):
            of = programs.fields()
            return State(fields={n: of[n].values for n in "xv"}, units={"x": "m", "v": "m s^-1"},
                         tuples={"links": programs.LINKS}, bodies=(Body("first", [0]),))

    @hookimpl
    def register_states():
        return {"chain": Chain}

    @hookimpl
    def register_energies():
        return [programs.link]

    @hookimpl
    def register_maps():
        return [programs.kick, programs.drift]
    """
SCENE = """
    plugins = []
    [state]
    kind = "chain"

    [[slope]]
    of = "link"
    by = { x = "f" }
    factor = -1.0

    [[map]]
    kind = "kick"

    [[map]]
    kind = "drift"
    fields = { v = "v_next" }

    [[energy]]
    kind = "link"
    k = "2 N/m"

    [stepper]
    kind = "evolution"
    dt = "50 ms"
    next = { x = "x_next", v = "v_next" }

    [run]
    steps = 40

    [[observe]]
    kind = "frames"
    every = 10

    [checkpoint]
    every = 10
    """


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "chain.py").write_text(dedent(PLUGIN))
    path = tmp_path / "chain.toml"
    path.write_text(dedent(SCENE))
    return path


def options(scene: Path) -> dict:
    return {"plugins": [scene.parent / "chain.py"]}


def test_a_program_runs_from_a_scene(scene: Path, tmp_path: Path) -> None:
    done = run(scene, out=tmp_path / "run", **options(scene))
    assert "energy drift" not in done.summary if hasattr(done, "summary") else True
    simulation = build(scene, **options(scene))
    x, v = (simulation.fields[n].values.copy() for n in "xv")
    simulation.step(40)
    x, v = steps_in_numpy(x, v, 40)
    np.testing.assert_allclose(simulation.fields["x"].values, x, atol=1e-13)
    np.testing.assert_allclose(simulation.fields["v"].values, v, atol=1e-13)
    assert simulation.potential.terms == {}
    assert set(simulation.saved_fields) == {"x", "v"}


def test_energies_of_a_program_have_no_drift(scene: Path, tmp_path: Path) -> None:
    """Those that no slope names are recorded; without any there is nothing to record."""
    looks = '[[observe]]\nkind = "energies"\nevery = 20\n'
    scene.write_text(scene.read_text() + looks)
    with pytest.raises(SceneError, match=r"observe\.1: energies: the scene has no energy to record; leave"):
        build(scene, **options(scene))
    scene.write_text(scene.read_text() + '[[energy]]\nkind = "link"\nname = "seen"\nk = "1 N/m"\n')
    done = run(scene, out=tmp_path / "run", **options(scene))
    total = done.series("observables/total").value
    assert len(total) == 3
    assert total.tolist() == done.series("observables/potential/seen").value.tolist()
    with pytest.raises(UserError, match="drift"):
        done.series("observables/drift")


def test_a_program_that_was_cut_ends_with_the_same_files(scene: Path, tmp_path: Path) -> None:
    whole = run(scene, out=tmp_path / "whole", **options(scene))
    folder = cut(tmp_path / "cut", scene, [], 23, plugins=options(scene)["plugins"])
    resume(folder, **options(scene))
    assert compare(whole.folder, folder).differences == []


def test_units_of_a_factor_and_of_the_step(scene: Path) -> None:
    """In milliseconds and grams."""
    scene.write_text(scene.read_text().replace("[state]", '[units]\ntime = "ms"\nmass = "g"\n[state]'))
    scene.write_text(scene.read_text().replace("-1.0", '"-2 kg/g"'))
    scene.write_text(scene.read_text().replace('kind = "kick"', 'kind = "kick"\ndrag = "0.3 s^-1"'))
    simulation = build(scene, **options(scene))
    assert simulation.stepper.dt == pytest.approx(50.0)
    assert simulation.potential.parameter("kick.dt") == pytest.approx(50.0)
    assert simulation.potential.slopes["slope_link"].factor == {"x": pytest.approx(-2000.0)}
    assert simulation.potential.parameter("link.k") == pytest.approx(2.0 * 1e3 / 1e6)


def test_a_fit_of_a_program(scene: Path, tmp_path: Path) -> None:
    """The stiffness from positions that a run with another one has."""
    truth = build(scene, ['energy.0.k="3 N/m"'], **options(scene))
    rows = []
    for step in (10, 20, 30, 40):
        truth.step(10)
        places = truth.fields["x"].values.tolist()
        rows += [f"{step * 0.05!r}, {node}, {x!r}" for node, x in enumerate(places)]
    (scene.parent / "seen.csv").write_text("\n".join(["time, node, x", *rows]) + "\n")
    table = """
    [fit]
    method = "gauss_newton"
    iterations = 30
    [fit.parameters."link.k"]
    [[fit.loss]]
    kind = "misfit"
    field = "x"
    data = "seen.csv"
    sigma = "1 mm"
    """
    scene.write_text(scene.read_text() + dedent(table))
    found = fit(scene, out=tmp_path / "fit", **options(scene))
    assert found.parameter_fit is not None
    assert found.parameter_fit.objective.fields["link.k"].values == pytest.approx(3.0, rel=1e-6)


def broken(scene: Path, old: str, new: str) -> str:
    """The first line of the message about a changed scene."""
    assert old in scene.read_text()
    scene.write_text(scene.read_text().replace(old, new))
    with pytest.raises(SceneError) as error:
        build(scene, **options(scene))
    return str(error.value).splitlines()[0].replace(str(scene), "chain.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'of = "link"',
            'of = "links"',
            "chain.toml:6:3: slope.0: no energy named 'links'; did you mean",
        ),
        ('of = "link"', 'of = "link"\nfactors = 2', "chain.toml:8:1: slope.0.factors: no key 'factors'"),
        ('by = { x = "f" }', "by = {}", "chain.toml:8:6: slope.0.by: "),
        (
            'by = { x = "f" }',
            'by = { v = "f" }',
            "chain.toml:6:3: slope.0: slope 'slope_link': its energy",
        ),
        ('by = { x = "f" }', 'by = { x = "v" }', "chain.toml:6:3: slope.0: field 'v': is given by the state"),
        ("factor = -1.0", "factor = { v = 2.0 }", "chain.toml:9:10: slope.0: factor: no field named 'v'"),
        (
            "factor = -1.0",
            'through = { drifts = "x" }',
            "chain.toml:9:11: slope.0: through: no map 'drifts'",
        ),
        (
            'x = "x_next"',
            'x = "x_new"',
            "chain.toml:25:14: stepper.next.x: there is no field 'x_new'; did you mean 'x_next'?"
            " (there are: f, v_next, x_next, x, v)",
        ),
        (
            'x = "x_next"',
            'y = "x_next"',
            "chain.toml:25:14: stepper.next.y: 'y' is no field of the state (there are: x, v)",
        ),
        (
            'x = "x_next"',
            'x = "v_next"',
            "chain.toml:25:14: stepper.next.x: 'x' is in m, got 'v_next' in m s^-1; correct the unit of the"
            " map",
        ),
        (
            "factor = -1.0",
            'factor = -1.0\n\n[[slope]]\nof = "link"\nname = "twice"\nby = { x = "f" }',
            "chain.toml:11:3: slope.1: slope 'twice': writes 'f', which slope 'slope_link' writes; give each"
            " an output of its own",
        ),
        (
            'kind = "kick"',
            'kind = "kick"\n\n[[map]]\nkind = "kick"\nname = "again"',
            "chain.toml:14:3: map.1: again: gives 'v_next', as map 'kick' does; write adds = true for their"
            " sum, or another name in `gives`",
        ),
        (
            'kind = "kick"',
            'kind = "kick"\nadds = true',
            "chain.toml:11:3: map.0: kick: adds to 'v_next', which no map above it gives; leave `adds` out",
        ),
        ('next = { x = "x_next", v = "v_next" }', "", "chain.toml:22:2: stepper.next: "),
        ('kind = "evolution"', 'kind = "leapfrog"', "chain.toml:"),
        (
            'fields = { v = "v_next" }',
            'fields = { v = "late" }',
            "chain.toml:14:3: map.1: no field named",
        ),
    ],
)
def test_mistakes_have_their_place(scene: Path, old: str, new: str, message: str) -> None:
    assert broken(scene, old, new).startswith(message)


def test_a_map_adds_to_what_another_gives_where_the_scene_says_so(scene: Path) -> None:
    one = build(scene, **options(scene))
    again = '[[map]]\nkind = "kick"\nname = "again"\nadds = true\n\n[[map]]\nkind = "drift"'
    scene.write_text(scene.read_text().replace('[[map]]\nkind = "drift"', again))
    two = build(scene, **options(scene))
    one.step(1)
    two.step(1)
    # A compiler may join a product and a sum, and round once in place of twice.
    np.testing.assert_allclose(two.fields["v"].values, 2.0 * one.fields["v"].values, rtol=4.5e-16)


def test_a_stage_that_reads_what_a_later_one_gives(scene: Path) -> None:
    """The order is that of the file, over both kinds of tables."""
    text = scene.read_text()
    slope = text[text.index("[[slope]]") : text.index("[[map]]")]
    scene.write_text(text.replace(slope, "").replace("[[energy]]", slope + "[[energy]]"))
    late = r"map\.0: no field named 'f' \(there are: x, v\); slope\.0 below gives it, list that first"
    with pytest.raises(SceneError, match=late):
        build(scene, **options(scene))


def test_a_field_becomes_one_of_its_shape(scene: Path) -> None:
    """With a field of the state of another length."""
    plugin = scene.parent / "chain.py"
    plugin.write_text(plugin.read_text().replace('for n in "xv"}', 'for n in "xv"} | {"y": np.zeros(3)}'))
    plugin.write_text(plugin.read_text().replace('units={"x": "m"', 'units={"y": "m", "x": "m"'))
    assert broken(scene, 'x = "x_next"', 'y = "x_next"') == (
        "chain.toml:25:14: stepper.next.y: 'y' has shape [3], got 'x_next' of shape [6]; a field becomes one"
        " of its own shape"
    )


def test_time_steps_are_refused_without_a_program(scene: Path) -> None:
    text = scene.read_text()
    stepper = text[text.index("[stepper]") : text.index("[run]")]
    scene.write_text(
        text.replace(stepper, '[stepper]\nkind = "fire"\nfields = { x = {} }\ngradient = "1 J"\n')
    )
    with pytest.raises(SceneError, match="is the time step of a program, got a stepper that is none"):
        build(scene, **options(scene))


def test_a_step_that_is_not_finite_names_step_map_and_node(scene: Path, tmp_path: Path) -> None:
    with pytest.raises(NonFiniteError, match=r"step \d+: slope 'slope_link', output 'f', node \d"):
        run(scene, ['stepper.dt="50 s"'], out=tmp_path / "run", **options(scene))
