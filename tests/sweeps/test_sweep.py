"""Sweeps whose points run in this process: tables, second calls, mistakes, what stays on disk."""

import json
import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

import minusgrad
from minusgrad.app.compare import compare
from minusgrad.errors import InterruptedRunError, RunFolderError, SceneError, UserError
from minusgrad.files.held import journals
from minusgrad.sweeps.run_sweep import open_sweep
from minusgrad.sweeps.table import PointTable
from tests.support.sweeps import SHORT, SOFTENINGS, TWO_BODY, table, written


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PointTable]:
    """Three softenings, all finished."""
    out = tmp_path_factory.mktemp("swept") / "sweep"
    return out, minusgrad.sweep(TWO_BODY, {"vary": SOFTENINGS}, SHORT, out, workers=0)


@pytest.fixture
def copy(swept: tuple[Path, PointTable], tmp_path: Path) -> Path:
    """A copy of that folder."""
    return Path(shutil.copytree(swept[0], tmp_path / "copy"))


def again(out: Path, points: object = None, **options: object) -> PointTable:
    given = {"vary": SOFTENINGS} if points is None else points
    return minusgrad.sweep(TWO_BODY, given, SHORT, out, workers=0, **options)  # type: ignore[arg-type]


def test_a_point_is_an_ordinary_run_of_the_scene(swept: tuple[Path, PointTable], tmp_path: Path) -> None:
    out, found = swept
    assert found.counts == {"finished": 3}
    np.testing.assert_array_equal(found.column("gravity.softening"), [0.01, 0.02, 0.03])
    alone = minusgrad.run(TWO_BODY, SHORT | {"energy.0.softening": 0.02}, tmp_path / "alone")
    same = compare(alone.folder, out / "points" / "0001")
    assert same.differences == []
    assert same.rows > 0
    last = alone.series("observables/momentum").value[-1]
    assert found.column("momentum")[1].tobytes() == last.tobytes()
    assert found.column("total")[1] == alone.series("observables/total").value[-1]


def test_the_table_is_written_as_csv_and_as_hdf5(swept: tuple[Path, PointTable]) -> None:
    out, found = swept
    rows = table(out)
    assert [row["state"] for row in rows] == ["finished"] * 3
    assert [float(row["total"]) for row in rows] == found.column("total").tolist()
    assert [float(row["momentum.y"]) for row in rows] == found.column("momentum")[:, 1].tolist()
    with h5py.File(out / "table.h5") as file:
        assert file["observables/potential/gravity"].shape == (3,)
        np.testing.assert_array_equal(file["parameters/gravity.softening"][...], [0.01, 0.02, 0.03])
        assert file["state"].asstr()[...].tolist() == ["finished"] * 3
        assert (file["seconds"][...] > 0).all()


def test_a_second_call_runs_nothing_and_writes_the_table_again(copy: Path) -> None:
    before, journal = table(copy), (copy / "points" / "0000" / "journal.jsonl").read_bytes()
    for name in ("table.csv", "table.h5"):
        (copy / name).unlink()
    assert again(copy).counts == {"finished": 3}
    assert table(copy) == before
    assert (copy / "points" / "0000" / "journal.jsonl").read_bytes() == journal


def test_a_row_that_was_not_written_comes_from_the_run(copy: Path) -> None:
    """A worker may die between the end of its run and its row."""
    before = table(copy)
    (copy / "points" / "0001.json").unlink()
    assert again(copy).counts == {"finished": 3}
    assert table(copy) == before
    assert "resumed" not in (copy / "points" / "0001" / "journal.jsonl").read_text()


def test_a_point_that_was_killed_at_its_start_begins_once_more(copy: Path) -> None:
    before = table(copy)
    for name in ("0000", "0002"):
        (copy / "points" / f"{name}.json").unlink()
    shutil.rmtree(copy / "points" / "0000" / "ckpt")
    shutil.rmtree(copy / "points" / "0002")
    (copy / "points" / "0002").mkdir()
    (copy / "points" / "0002" / "journal.jsonl").write_text('{"time": "2026-01-01T00:00:00+00:00", "ev')
    lines = (copy / "points" / "0000" / "journal.jsonl").read_text().splitlines()
    (copy / "points" / "0000" / "journal.jsonl").write_text(lines[0] + "\n")
    assert again(copy).counts == {"finished": 3}
    assert table(copy) == before


@pytest.mark.parametrize(
    ("points", "scene", "text"),
    [
        ({"gravity.softening": {"grid": [0.01, 0.02]}}, None, "the points: 3 points there, 2 here"),
        ({"gravity.softening": {"grid": [0.01, 0.05, 0.03]}}, None,
         "the points, point 1: 'energy.0.softening=0.02' there, 'energy.0.softening=0.05' here"),
        (SOFTENINGS, ("eccentricity = 0.3", "eccentricity = 0.2"),
         "the scene, line 14: 'eccentricity = 0.3' there, 'eccentricity = 0.2' here"),
    ],
)  # fmt: skip
def test_the_folder_of_another_sweep_is_refused(
    copy: Path, tmp_path: Path, points: dict, scene: tuple[str, str] | None, text: str
) -> None:
    file = tmp_path / "two_body.toml"
    file.write_text(TWO_BODY.read_text().replace(*scene or ("", "")))
    with pytest.raises(RunFolderError) as error:
        minusgrad.sweep(file, {"vary": points}, SHORT, copy, workers=0)
    assert str(error.value) == (
        f"{copy}: is the folder of another sweep: {text}; use another --out, or --force to delete it"
    )


@pytest.mark.parametrize("begun", ["", '{"event": "started"}\n'])
def test_a_sweep_killed_before_it_had_its_plan_begins_again(tmp_path: Path, begun: str) -> None:
    out = tmp_path / "sweep"
    (out / "points").mkdir(parents=True)
    (out / "journal.jsonl").write_text(begun)
    assert again(out).counts == {"finished": 3}
    (other := tmp_path / "other").mkdir()
    (other / "points").mkdir()
    with pytest.raises(RunFolderError, match="not empty, and not a sweep; use another --out"):
        again(other)


def test_force_deletes_another_sweep_and_nothing_else(copy: Path, tmp_path: Path) -> None:
    other = {"vary": {"gravity.softening": {"grid": [0.05]}}}
    assert again(copy, other, force=True).counts == {"finished": 1}
    assert sorted(p.name for p in (copy / "points").iterdir()) == ["0000", "0000.json"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("...")
    with pytest.raises(RunFolderError, match="not empty, and not a sweep; use another --out"):
        again(tmp_path / "mine", force=True)


def test_other_settings_of_the_same_points_are_no_other_sweep(copy: Path) -> None:
    given = {"sweep": {"observe": ["drift"], "retries": 9}, "vary": SOFTENINGS}
    assert [*again(copy, given).observed] == ["drift"]
    assert list(table(copy)[0]) == ["point", "state", "outcome", "gravity.softening", "drift", "error"]
    with pytest.raises(UserError, match=r"no observable named 'drft'; did you mean 'drift'\?"):
        again(copy, {"sweep": {"observe": ["drft"]}, "vary": SOFTENINGS})


def test_two_cannot_lead_one_sweep(copy: Path) -> None:
    import os

    lock = journals.lock_journal(copy / "journal.jsonl")
    try:
        with pytest.raises(RunFolderError, match="is in use by process"):
            again(copy)
    finally:
        os.close(lock)


def test_points_that_fail_or_cannot_be_are_rows_and_the_others_go_on(tmp_path: Path) -> None:
    vary = {
        "stepper.dt": {"list": [0.01, 1e200, 0.01, 0.01]},
        "stepper.kind": {"list": ["leapfrog", "leapfrog", "yoshida4", "npt"]},
    }
    with pytest.raises(SceneError, match=r"point 3: .*stepper"):  # judged before anything runs
        minusgrad.sweep(TWO_BODY, {"vary": vary}, SHORT, tmp_path / "out", workers=0)
    assert not (tmp_path / "out").exists()
    vary = {
        "stepper.dt": {"list": [0.01, 1e200, 0.01]},
        "observe.2.fields": {"list": [["x"], ["x"], ["y"]]},
    }
    points = {"vary": vary}
    found = minusgrad.sweep(TWO_BODY, points, SHORT, tmp_path / "out", workers=0)
    assert found.states == ["finished", "failed", "refused"]
    assert "node 0 overflowed; try a smaller dt" in found.rows[1].error
    assert "no field named 'y'" in found.rows[2].error
    assert np.isnan(found.column("total")).tolist() == [False, True, True]
    journal = tmp_path / "out" / "points" / "0001" / "journal.jsonl"
    before = journal.read_bytes()
    assert minusgrad.sweep(TWO_BODY, points, SHORT, tmp_path / "out", workers=0).states == found.states
    assert journal.read_bytes() == before
    minusgrad.sweep(TWO_BODY, points, SHORT, tmp_path / "out", workers=0, retry_failed=True)
    assert journal.read_bytes() != before


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        ({"folder": False}, set()),
        ({"checkpoints": False}, {"traj", "trajectory.h5"}),
        ({"trajectory": False}, {"ckpt"}),
    ],
)
def test_what_is_kept(copy: Path, keep: dict, left: set[str]) -> None:
    before = table(copy)
    again(copy, {"vary": SOFTENINGS, "keep": keep})
    there = {path.name for path in copy.glob("points/0002/*")}
    assert there & {"ckpt", "traj", "trajectory.h5"} == left
    assert bool(there) == bool(left)
    assert again(copy, {"vary": SOFTENINGS, "keep": keep}).counts == {"finished": 3}
    assert table(copy) == before


def test_after_the_time_the_same_call_goes_on(tmp_path: Path, swept: tuple[Path, PointTable]) -> None:
    with pytest.raises(InterruptedRunError, match="0 of 3 points have ended; give the same line again"):
        again(tmp_path / "out", max_hours=1e-9)
    assert [row["state"] for row in table(tmp_path / "out")] == ["waiting"] * 3
    assert again(tmp_path / "out").counts == {"finished": 3}
    assert table(tmp_path / "out") == table(swept[0])


def test_members_of_an_ensemble_are_points(tmp_path: Path) -> None:
    scene = tmp_path / "two_body.toml"
    text = '[ensemble]\nmembers = 3\n[ensemble.vary]\n"gravity.G" = { normal = [1.0, 0.01] }\n'
    scene.write_text(TWO_BODY.read_text() + text)
    found = minusgrad.sweep(scene, None, SHORT, tmp_path / "out", workers=0)
    alone = minusgrad.run(scene, SHORT | {"ensemble.member": 2}, tmp_path / "alone")
    assert compare(alone.folder, tmp_path / "out" / "points" / "0002").differences == []
    assert len(set(found.column("gravity.G"))) == 3
    assert found.column("total")[2] == alone.series("observables/total").value[-1]


def test_shards_of_members_are_points(tmp_path: Path) -> None:
    """Of five members two, two and one; each with the values that it has in the whole ensemble."""
    scene = tmp_path / "two_body.toml"
    text = '[ensemble]\nmembers = 5\n[ensemble.vary]\n"gravity.G" = { normal = [1.0, 0.01] }\n'
    scene.write_text(TWO_BODY.read_text() + text)
    whole = minusgrad.run(scene, SHORT, tmp_path / "whole").series("observables/total").value[-1]
    found = minusgrad.sweep(scene, {"sweep": {"shard": 2}}, SHORT, tmp_path / "out", workers=0)
    assert found.states == ["finished"] * 3
    assert found.column("last").tolist() == [1, 3, 4]
    assert found.column("total")[:2].tobytes() == whole[:4].tobytes()
    assert found.column("total")[2, 0] == whole[4]
    assert np.isnan(found.column("total")[2, 1])
    with pytest.raises(SceneError, match=r"shard: needs two rising numbers up to 5, got \[4, 6\]"):
        minusgrad.run(scene, SHORT | {"ensemble.shard": [4, 6]}, tmp_path / "no")
    with pytest.raises(UserError, match="names a shard"):
        minusgrad.sweep(
            scene, {"sweep": {"shard": 2}}, {"ensemble.shard": [0, 1]}, tmp_path / "no", workers=0
        )


def test_draws_are_those_of_an_ensemble_and_do_not_depend_on_their_number(tmp_path: Path) -> None:
    vary = {"gravity.G": {"normal": [1.0, 0.01]}, "stepper.dt": {"uniform": [0.01, 0.02]}}
    few, many = (
        open_sweep(TWO_BODY, {"sweep": {"points": n, "seed": 4}, "vary": vary}, SHORT, tmp_path / "o").plan
        for n in (5, 40)
    )
    assert many.points[:5] == few.points
    assert len({*many.points}) == 40


@pytest.mark.parametrize(
    ("points", "text"),
    [
        (
            None,
            "two_body.toml: nothing varies; add [ensemble] to the scene, or give a SWEEP.toml with [vary]",
        ),
        ({"vary": {"gravity.G": {"normal": [1.0, 0.1]}}}, "points: needs a number, got none"),
        (
            {"sweep": {"point": 3}, "vary": SOFTENINGS},
            "sweep: sweep.point: no key 'point'; did you mean 'points'?",
        ),
        ({"vary": {"gravity.softning": {"list": [0.1]}}}, "no key 'softning'; did you mean 'softening'?"),
        ({"sweep": {"observe": ["total"]}}, "nothing varies"),
    ],
)
def test_mistakes_are_found_before_anything_runs(tmp_path: Path, points: object, text: str) -> None:
    with pytest.raises(UserError) as error:
        again(tmp_path / "out", points or {})
    assert text in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_mistake_in_a_sweep_file_has_its_place(tmp_path: Path) -> None:
    file = written(tmp_path, sweep={"points": 3}, vary={"gravity.softening": {"normal": ["1 m", "1 s"]}})
    with pytest.raises(SceneError, match=r"points.toml:4:\d+: vary.gravity.softening: needs units of one"):
        again(tmp_path / "out", file)


def test_the_command_line(invoke, tmp_path: Path) -> None:
    file, out = written(tmp_path, vary=SOFTENINGS), tmp_path / "out"
    line = ["sweep", TWO_BODY, file, "run.steps=40", "--out", out]
    code, said, _ = invoke(*line, "--point", "1-2")
    assert code == 0
    assert said == f"{out}/points/0001: finished\n{out}/points/0002: finished\n"
    assert [row["state"] for row in table(out)] == ["waiting", "finished", "finished"]
    code, said, _ = invoke(*line, "--workers", 0)
    assert (code, said) == (0, f"{out}: 3 points: 3 finished\n")
    code, said, _ = invoke(*line, "--workers", 0, "--json")
    assert json.loads(said)["states"] == {"finished": 3}
    code, _, text = invoke(*line, "--point", "3")
    assert (code, text) == (2, "minusgrad: --point: needs a number from 0 to 2, got 3; there are 3 points\n")


def test_a_sweep_with_failures_says_so(invoke, tmp_path: Path) -> None:
    file = written(tmp_path, vary={"stepper.dt": {"list": [0.01, 1e200]}})
    code, said, _ = invoke("sweep", TWO_BODY, file, "run.steps=40", "--out", tmp_path / "o", "--workers", 0)
    assert code == 3
    assert said.startswith(f"{tmp_path}/o: 2 points: 1 finished, 1 failed\n  point 1: failed: step 1: ")


def test_a_repeated_sweep_has_the_same_rows_but_for_seconds(
    swept: tuple[Path, PointTable], tmp_path: Path
) -> None:
    first, second = swept[0], tmp_path / "second"
    again(second)
    assert table(first) == table(second)
    with h5py.File(first / "table.h5") as one, h5py.File(second / "table.h5") as other:
        names: list[str] = []
        one.visit(names.append)
        for name in names:
            if isinstance(one[name], h5py.Dataset) and name != "seconds":
                assert repr(one[name][()].tolist()) == repr(other[name][()].tolist()), name
    for path in sorted((first / "points").glob("*.json")):
        rows = [json.loads(p.read_text()) for p in (path, second / "points" / path.name)]
        assert {k: v for k, v in rows[0].items() if k != "seconds"} == {
            k: v for k, v in rows[1].items() if k != "seconds"
        }


def test_what_killed_sweeps_left_of_tables_is_deleted(copy: Path) -> None:
    out = copy
    strays = [out / f".tmp-0123abcd-table.{kind}" for kind in ("h5", "csv")]
    strays.append(out / "points/.tmp-0a0b0c0d-0001.json")
    young = out / "points/.tmp-0a0b0c0e-0002.json"  # of a process that works beside
    for path in (*strays, young):
        path.write_bytes(b"half")
    for path in strays:
        os.utime(path, (0, 0))
    before = (out / "table.csv").read_text()
    again(out)
    assert [path for path in strays if path.exists()] == []
    assert young.exists()
    assert (out / "table.csv").read_text() == before
