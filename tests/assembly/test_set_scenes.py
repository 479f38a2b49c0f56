"""Scenes with terms over several sets of nodes: a network in a program; runs, cuts, fits, messages."""

from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from minusgrad import build, fit, resume, run
from minusgrad.app.compare import compare
from minusgrad.errors import SceneError
from tests.support.networks import HIDDEN, INPUTS, LINKS, OUTPUTS, PLACES, in_numpy, weights
from tests.support.short_scenes import cut

PLUGIN = """
    from minusgrad.plugin import Body, Record, State, hookimpl
    from tests.support import networks

    class Masses(Record):
        '''Five masses.'''
        def make(self, context):
            of = networks.controlled().potential.fields
            return State(fields={n: of[n].values for n in "xv"}, units={"x": "1", "v": "1"},
                         bodies=(Body("first", [0]),), tuples={"links": networks.LINKS})

    @hookimpl
    def register_states():
        return {"masses": Masses}

    @hookimpl
    def register_energies():
        return [networks.pull]

    @hookimpl
    def register_maps():
        return [networks.weigh, networks.fire, networks.kick, networks.drift]
    """
SCENE = f"""
    [state]
    kind = "masses"

    [[map]]
    kind = "weigh"
    name = "one"
    fields = {{ s = "x" }}
    gives = "z1"
    sizes = {{ hidden = {HIDDEN} }}
    w = {weights()["w1"].tolist()}

    [[map]]
    kind = "fire"
    name = "h"
    fields = {{ z = "z1" }}
    b = {weights()["b1"].tolist()}

    [[map]]
    kind = "weigh"
    name = "two"
    fields = {{ s = "h" }}
    gives = "z2"
    sizes = {{ hidden = {OUTPUTS} }}
    w = {weights()["w2"].ravel().tolist()}

    [[map]]
    kind = "fire"
    name = "y"
    fields = {{ z = "z2" }}
    gives = "y"
    b = {weights()["b2"].tolist()}

    [[slope]]
    of = "pull"
    by = {{ x = "f" }}
    factor = -1.0

    [[map]]
    kind = "kick"

    [[map]]
    kind = "drift"
    fields = {{ v = "v_next" }}

    [[energy]]
    kind = "pull"
    fields = {{ act = "y" }}

    [stepper]
    kind = "evolution"
    dt = 0.1
    next = {{ x = "x_next", v = "v_next" }}

    [run]
    steps = 20

    [[observe]]
    kind = "frames"
    every = 5

    [checkpoint]
    every = 5
    """


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "masses.py").write_text(dedent(PLUGIN))
    path = tmp_path / "masses.toml"
    path.write_text(dedent(SCENE))
    return path


def options(scene: Path) -> dict:
    return {"plugins": [scene.parent / "masses.py"]}


def test_a_controller_runs_from_a_scene(scene: Path) -> None:
    simulation = build(scene, **options(scene))
    x, v = (simulation.fields[n].values.copy() for n in "xv")
    simulation.step(20)
    found = simulation.fields["x"].values
    np.testing.assert_allclose(found, in_numpy(x, v, weights(), 20), atol=1e-13)
    shapes = [simulation.potential.shape(PLACES[name]) for name in ("w1", "w2")]
    assert shapes == [(HIDDEN, INPUTS), (OUTPUTS * HIDDEN,)]
    assert set(simulation.saved_fields) == {"x", "v"}


def test_a_controlled_run_that_was_cut_ends_with_the_same_files(scene: Path, tmp_path: Path) -> None:
    whole = run(scene, out=tmp_path / "whole", **options(scene))
    folder = cut(tmp_path / "cut", scene, [], 13, plugins=options(scene)["plugins"])
    resume(folder, **options(scene))
    assert compare(whole.folder, folder).differences == []


def test_a_fit_of_weights(scene: Path, tmp_path: Path) -> None:
    """Weights from positions of a run with others: the misfit of the run falls a hundredfold."""
    truth = build(scene, **options(scene))
    x, v = (truth.fields[n].values.copy() for n in "xv")
    truth.potential.set_parameter("one.w", weights()["w1"] + 0.1)
    rows, seen = [], []
    for step in (5, 10, 15, 20):
        truth.step(5)
        seen.append(truth.fields["x"].values.copy())
        rows += [f"{step * 0.1!r}, {node}, {place!r}" for node, place in enumerate(seen[-1].tolist())]
    (scene.parent / "seen.csv").write_text("\n".join(["time, node, x", *rows]) + "\n")
    table = """
    [fit]
    method = "lbfgs"
    iterations = 8
    [fit.parameters."one.w"]
    [[fit.loss]]
    kind = "misfit"
    field = "x"
    data = "seen.csv"
    """
    scene.write_text(scene.read_text() + dedent(table))
    found = fit(scene, out=tmp_path / "fit", **options(scene)).parameter_fit
    assert found is not None
    fitted = found.objective.fields["one.w"].values
    assert fitted.shape == (HIDDEN, INPUTS)

    def misfit(w: np.ndarray) -> float:
        at = {**weights(), "w1": w}
        return sum(((in_numpy(x, v, at, 5 * (k + 1)) - one) ** 2).sum() for k, one in enumerate(seen))

    assert misfit(fitted) < 0.01 * misfit(weights()["w1"])


def of_drawn_weights(scene: Path, size: str) -> str:
    """The scene with drawn weights and with this in place of the size of its hidden layer."""
    text = scene.read_text().replace(f"sizes = {{ hidden = {HIDDEN} }}\n", size)
    for name, values in weights().items():
        written = values.ravel() if name == "w2" else values
        text = text.replace(
            f"{name[0]} = {written.tolist()}", f"{name[0]} = {{ each = 0.0, deviation = 0.3 }}"
        )
    return text


@pytest.mark.parametrize(("name", "count"), [("x", 5), ("links", len(LINKS)), ("legs", 3)])
def test_a_size_is_that_of_a_field_a_list_or_a_set_of_the_state(scene: Path, name: str, count: int) -> None:
    plugin = scene.parent / "masses.py"
    plugin.write_text(plugin.read_text().replace("networks.LINKS})", 'networks.LINKS}, sizes={"legs": 3})'))
    scene.write_text(of_drawn_weights(scene, f'sizes = {{ hidden = "{name}" }}\n'))
    potential = build(scene, **options(scene)).potential
    assert potential.parameter("one.w").shape == (count, INPUTS)
    assert potential.parameter("two.w").shape == (OUTPUTS, count)


def test_a_set_that_the_state_counts_needs_no_size(scene: Path) -> None:
    """Where no field is over it; a size of the block comes first."""
    plugin = scene.parent / "masses.py"
    plugin.write_text(plugin.read_text().replace("networks.LINKS})", 'networks.LINKS}, sizes={"hidden": 3})'))
    scene.write_text(of_drawn_weights(scene, ""))
    potential = build(scene, **options(scene)).potential
    assert potential.parameter("one.w").shape == (3, INPUTS)
    assert potential.parameter("two.w").shape == (OUTPUTS, 3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            f"sizes = {{ hidden = {HIDDEN} }}",
            'sizes = { hidden = "lynks" }',
            "masses.toml:10:20: map.0.sizes.hidden: no list, field or set of the state named 'lynks'; did you"
            " mean 'links'? (there are: x, v, links)",
        ),
        (
            f"sizes = {{ hidden = {HIDDEN} }}",
            f"sizes = {{ hidden = 2 }}\ntuples = [[0, 0], [{HIDDEN - 1}, 0]]",
            "masses.toml:11:10: map.0: one.tuples: row 1 = [6, 0] names a node outside 0..1 of 'hidden',"
            " got 6 in slot 0; correct it, or the size of 'hidden' in `sizes`",
        ),
        (
            f"sizes = {{ hidden = {HIDDEN} }}",
            "sizes = { hiden = 7 }",
            "masses.toml:10:9: map.0: one.sizes: no set of nodes named 'hiden'; did you mean 'hidden'?",
        ),
        (
            f"sizes = {{ hidden = {HIDDEN} }}",
            "sizes = { hidden = 0 }",
            "masses.toml:10:20: map.0.sizes.hidden: needs a number of at least 1, not 0",
        ),
        (
            f"sizes = {{ hidden = {HIDDEN} }}",
            "",
            "masses.toml:5:3: map.0: one: the number of nodes in 'hidden' is not known, got no field over",
        ),
        (
            f"sizes = {{ hidden = {HIDDEN} }}",
            'sizes = { hidden = 7 }\nbody = "first"',
            "masses.toml:5:3: map.0: one: a body is part of one set of nodes, got bodies for elements over",
        ),
        (
            f"sizes = {{ hidden = {HIDDEN} }}",
            "sizes = { hidden = 6 }",
            "masses.toml:11:5: map.0: one.w: needs shape [], [30] or [6, 5], got [7, 5]; reshape it",
        ),
        (
            'kind = "fire"',
            'kind = "fire"\nsizes = { hidden = 7 }',
            "masses.toml:15:1: map.1.sizes: no key 'sizes'",
        ),
    ],
)
def test_mistakes_have_their_place(scene: Path, old: str, new: str, message: str) -> None:
    text = scene.read_text()
    assert old in text
    scene.write_text(text.replace(old, new, 1))
    with pytest.raises(SceneError) as error:
        build(scene, **options(scene))
    assert str(error.value).splitlines()[0].replace(str(scene), "masses.toml").startswith(message)
