"""Commands about the members of a scene: `run --member`, `info`, `check`, `scenes`."""

import json
from pathlib import Path

import numpy as np
import pytest

from minusgrad.app.cli import main
from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.plugin_kit.check_process import findings
from minusgrad.app.results.ensemble_run import EnsembleRun
from minusgrad.app.runs import build, run
from minusgrad.errors import UserError
from minusgrad.files import trajectory
from tests.support.command import files
from tests.support.ensembles import TWO_BODIES, ensemble, written
from tests.support.short_scenes import cut


def test_one_member_is_run_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene, out = written(tmp_path), tmp_path / "three"
    assert main(["run", str(scene), "--member", "3", "--out", str(out)]) == 0
    all_of_them = ensemble(scene, tmp_path / "all", "ensemble.members=5")
    position = "particles/all/position"
    alone, every = trajectory.series(out, position).value, all_of_them.series(position).value
    assert np.array_equal(alone, every[:, 6:8])
    assert main(["info", str(out)]) == 0
    assert "  member 3 of an ensemble\n  varied: gravity.G, state.x\n" in capsys.readouterr().out
    assert main(["info", str(all_of_them.folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["members"], found["varied"]) == (5, ["gravity.G", "state.x"])
    assert main(["run", str(scene), "--member", "16", "--out", str(tmp_path / "none")]) == UserError.exit_code
    assert "member: needs a number from 0 to 15, got 16; there are 16 members" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_member_of_a_scene_without_an_ensemble_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = written(tmp_path, TWO_BODIES.partition("[ensemble]")[0])
    assert main(["run", str(scene), "--member", "0", "--out", str(tmp_path / "none")]) == UserError.exit_code
    said = "override 'ensemble.member=0': ensemble: needs a number of `members`, or keys in [ensemble.vary]"
    assert capsys.readouterr().err.startswith(said)


def test_the_built_simulation_is_that_of_the_scene_or_of_a_member(tmp_path: Path) -> None:
    scene = written(tmp_path)
    assert build(scene).potential.parameter("gravity.G") == 1.0
    one = build(scene, {"ensemble.member": 2})
    assert one.potential.parameter("gravity.G") != 1.0


def test_the_scene_and_a_few_members_are_checked(tmp_path: Path) -> None:
    scene = str(written(tmp_path))
    found = list(findings([scene], ["ensemble.members=2"], []))
    assert all(one.passed for one in found)
    once = len(list(findings([scene], ["ensemble.member=1"], [])))
    assert len(found) == 3 * once
    with pytest.raises(UserError, match=r"member 0: gravity.G: -\d.\d+ is not within"):
        list(findings([scene], ['ensemble.vary."gravity.G".normal=[-9.0, 0.1]'], []))


def test_the_list_of_scenes_says_what_members_differ_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, "# A claim.\n" + TWO_BODIES)
    assert main(["scenes", str(tmp_path), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["members"] == "16 members that differ in gravity.G, state.x"


def test_points_of_a_file_and_of_states_are_those_of_the_run_when_it_goes_on(tmp_path: Path) -> None:
    """The file is copied into the run folder; what becomes of it beside the scene is of no account."""
    scene, points = written(tmp_path), tmp_path / "points.csv"
    points.write_text("gravity.G\n1.0\n1.5\n")
    vary = {"gravity.G": {"table": "points.csv"}, "state.eccentricity": {"list": [0.1, 0.2]}}
    chosen = {"ensemble.vary": vary, "ensemble.members": 2}
    whole = run(scene, chosen, tmp_path / "whole")
    cut(tmp_path / "run", scene, chosen, 5)
    points.write_text("gravity.G\n2.0\n3.0\n")
    again = resume(tmp_path / "run")
    assert isinstance(again, EnsembleRun)
    assert again.points["gravity.G"].tolist() == [1.0, 1.5]
    assert files(again.folder) == files(whole.folder)
