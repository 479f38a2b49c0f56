"""Scenes of programs with maps of staged kernels: runs, cuts, checks, messages."""

import json
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from minusgrad import build, resume, run
from minusgrad.app import cli
from minusgrad.errors import SceneError
from tests.support.short_scenes import cut

PLUGIN = """
    import numpy as np
    from minusgrad.plugin import (
        Grid, Node, Parameter, Record, Stage, State, TimeStep, hookimpl, local_map, staged_map, ti
    )

    Column = ti.types.ndarray(ndim=1)

    @ti.kernel
    def sum_above(algae: Column, above: Column):
        ti.loop_config(serialize=True)
        for i, j in ti.ndrange(algae.shape[0], algae.shape[0]):
            if j < i:
                above[i] += algae[j]

    shade = staged_map("shade", gives="above", stages=[Stage(sum_above, writes=("above",))], algae=Node())

    @local_map("grow", gives="algae_next", over="nodes", algae=Node(), above=Node(), light=Parameter("s^-1"),
               dt=TimeStep())
    def grow(algae, above, light, dt):
        '''With the light that is left.'''
        return algae[0] * (1.0 + dt * (light * ti.exp(-above[0]) - 0.1))

    class Pond(Record):
        '''Algae in a column of water.'''
        def make(self, context):
            return State(fields={"algae": np.linspace(0.1, 0.4, 6)}, units={"algae": "1"},
                         grids={"column": Grid((6,), 1.0, ("algae",))})

    @hookimpl
    def register_states():
        return {"pond": Pond}

    @hookimpl
    def register_maps():
        return [shade, grow]
    """
SCENE = """
    plugins = []
    [state]
    kind = "pond"

    [[map]]
    kind = "shade"
    grid = "column"

    [[map]]
    kind = "grow"
    light = "0.5 s^-1"

    [stepper]
    kind = "evolution"
    dt = "0.5 s"
    next = { algae = "algae_next" }

    [run]
    steps = 12

    [[observe]]
    kind = "frames"
    fields = ["algae", "above"]
    every = 3

    [checkpoint]
    every = 4
    """


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "pond.py").write_text(dedent(PLUGIN))
    path = tmp_path / "pond.toml"
    path.write_text(dedent(SCENE))
    return path


def plugins(scene: Path) -> list[Path]:
    return [scene.with_suffix(".py")]


def test_a_run_is_that_of_numpy_and_its_cut_continues_bit_for_bit(scene: Path, tmp_path: Path) -> None:
    whole = run(scene, out=tmp_path / "whole", plugins=plugins(scene))
    algae = np.linspace(0.1, 0.4, 6)
    for _ in range(12):
        above = np.concatenate([[0.0], np.cumsum(algae)[:-1]])
        algae = algae * (1.0 + 0.5 * (0.5 * np.exp(-above) - 0.1))
    fields = whole.simulation.fields
    np.testing.assert_allclose(fields["algae"].values, algae, rtol=1e-13)
    recorded = whole.series("grids/column/above").value
    assert recorded.shape == (5, 6)
    np.testing.assert_allclose(recorded[-1], np.cumsum(algae) - algae, rtol=1e-13)

    again = resume(cut(tmp_path / "cut", scene, {}, 7, plugins=plugins(scene)), plugins=plugins(scene))
    assert again.simulation.fields["algae"].values.tobytes() == fields["algae"].values.tobytes()


def test_check_asks_the_map_and_the_first_step(scene: Path, capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["check", str(scene), "--plugin", str(plugins(scene)[0]), "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    asked = {(f["term"], f["argument"], f["question"]) for f in findings}
    assert asked >= {("shade", "algae", "taylor"), ("shade", "algae", "reverse"), ("shade", "algae", "path")}
    assert ("evolution", "algae", "taylor") in asked
    (one,) = (f["text"] for f in findings if f["question"] == "transpose")
    assert one == "not asked: the staged kernels of 'shade' have no tangents, of the first step"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('grid = "column"', 'grid = "river"', "no grid named 'river' (there are: column)"),
        (
            'kind = "shade"\ngrid = "column"',
            'kind = "shade"\nsizes = { n_above = 4 }\ngrid = "column"',
            "shade: 'above' has 4 nodes, got a grid of 6 cells; give another grid",
        ),
        ('grid = "column"', "repeat = 3", "repeat"),
        (
            "[stepper]",
            '[[slope]]\nthrough = { shade = "algae" }\nby = { algae = "back" }\n\n[stepper]',
            "slope 'slope_shade': 'shade' is a staged map, which has no second derivatives; use a local one",
        ),
    ],
)
def test_blocks_that_do_not_fit(scene: Path, old: str, new: str, text: str) -> None:
    changed = scene.read_text().replace(old, new)
    assert changed != scene.read_text()
    scene.write_text(changed)
    with pytest.raises(SceneError) as error:
        build(scene, plugins=plugins(scene))
    assert text in str(error.value)
