"""Run folders looked at: `info`, `verify`, `compare`, `export`; and runs that end with their hours.

Two short runs of real scenes, and the stand-ins for physics of `files/test_run_folder` and `test_compaction`.
"""

import csv
import itertools
import json
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from minusgrad.app import runs, signals
from minusgrad.app.cli import main
from minusgrad.app.compare import compare
from minusgrad.app.info import info
from minusgrad.app.verify import verify
from minusgrad.errors import RunFailedError
from minusgrad.files import checkpoint, compaction, durable, trajectory
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.frames import series_names
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder
from tests.support import long_runs as joined
from tests.support import saved_runs as standin
from tests.support.command import SCENES, files

TWO_BODY, SOLAR = SCENES / "two_body.toml", SCENES / "outer_solar_system.toml"
SHORT = {"run.steps": 40, "checkpoint.every": 10, "observe.0.every": 5}
AT_ONCE = "1e-12"
"""Hours that are over before they begin."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


def complaint(invoke: Callable, *arguments: object) -> str:
    """What a mistake of the user's is answered with."""
    code, out, err = invoke(*arguments)
    assert (code, out) == (2, ""), err
    return err.rstrip("\n").removeprefix("minusgrad: ")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two finished runs; tests that change one copy it first."""
    folder = tmp_path_factory.mktemp("made")
    runs.run(TWO_BODY, SHORT, folder / "two")
    runs.run(SOLAR, SHORT, folder / "solar")
    return folder


def copied(made: Path, name: str) -> Path:
    """A copy in the folder that the test works in."""
    return Path(shutil.copytree(made / name, name))


def flipped(path: Path, at: float = 0.5) -> None:
    """One bit of a file is another; where, as a share of its length."""
    data = bytearray(path.read_bytes())
    data[int(at * len(data))] ^= 4
    path.write_bytes(data)


def unbroken(path: Path, end: int = 40) -> Path:
    """A stand-in run up to a step; it saves every 10."""
    standin.start(path).close()
    standin.go_on(path, end)
    return path


# info -----------------------------------------------------------------------------------------------


def test_info_says_what_a_run_is(made: Path, invoke: Callable) -> None:
    code, out, err = invoke("info", made / "solar", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found == info(made / "solar")
    events = RunDir.open(made / "solar", read_only=True).events()
    wanted = {"folder": str(made / "solar"), "title": "The outer solar system, 100 years", "kind": "run"}
    wanted |= {"state": "finished", "step": 40, "last": 40, "time": 200.0, "dt": 5.0, "time_unit": "day"}
    wanted |= {"checkpoints": ["20", "30", "40"], "failed": [], "remarks": []}
    wanted |= {"begun": events[0]["time"], "last_event": events[-1]["time"]}
    assert {key: found[key] for key in wanted} == wanted
    assert found["versions"]["h5py"] == version("h5py")
    assert found["plugins"].keys() == {"core", "gravity"}
    assert found["arrays"]["fields/x"] == ["float64", 6, 3]
    everything = [p for p in (made / "solar").rglob("*") if p.is_file()]
    assert (found["files"], found["bytes"]) == (len(everything), sum(p.stat().st_size for p in everything))


def test_info_says_what_was_recorded(made: Path) -> None:
    found = {series.pop("name"): series for series in info(made / "solar")["series"]}
    assert list(found) == trajectory.names(made / "solar")
    for name, facts in found.items():
        whole = trajectory.series(made / "solar", name)
        assert (facts["rows"], facts["first"], facts["last"]) == (
            len(whole.step),
            whole.step[0],
            whole.step[-1],
        )
        assert (facts["dtype"], facts["shape"]) == (str(whole.value.dtype), list(whole.value.shape[1:]))
        assert facts["unit"] == trajectory.symbols(made / "solar", name)[0]
    assert found["observables/total"]["unit"] == "AU^2 Msun day^-2"


def test_info_for_people(made: Path, invoke: Callable) -> None:
    code, out, err = invoke("info", made / "solar")
    assert (code, err) == (0, "")
    first, clock, _, _, saved, size, *_ = out.splitlines()
    assert first == f"{made / 'solar'}: The outer solar system, 100 years: run finished, at step 40 of 40"
    assert clock == "  t = 200 day, dt = 5 day"
    assert saved == "  checkpoints: 20, 30, 40"
    assert size.startswith("  15 files, ") or size.endswith("kB")
    assert "  t = 0.2, dt = 0.005\n" in invoke("info", made / "two")[1]
    (row,) = (line.split() for line in out.splitlines() if line.startswith("particles/all/position"))
    assert row == ["particles/all/position", "4", "0", "..", "40", "float64[6,", "3]", "AU"]


def test_info_passes_over_a_damaged_segment(made: Path, invoke: Callable) -> None:
    """At every place: HDF5 ends the process over some of them, so it must not be called."""
    run = copied(made, "two")
    segment = trajectory.segments(run)[2]
    data, whole = segment.read_bytes(), info(run)
    for at in range(0, len(data), 397):
        segment.write_bytes(data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :])
        (remark,) = info(run)["remarks"]
        assert remark.startswith(f"{segment}: damaged")
    rows = {series["name"]: series["rows"] for series in whole["series"]}
    found = {series["name"]: series["rows"] for series in info(run)["series"]}
    assert found["observables/total"] == rows["observables/total"] - 2
    assert f"  {segment}: damaged" in invoke("info", run)[1]


def test_info_passes_over_a_damaged_checkpoint(made: Path, invoke: Callable) -> None:
    run = copied(made, "two")
    flipped(checkpoint.list_checkpoints(run / "ckpt")[-1])
    found = info(run)
    assert found["step"] == 30
    assert "skipped" in found["remarks"][0]
    assert "damaged" in invoke("info", run)[1]


def test_a_run_that_is_going_on_is_running_and_after_a_kill_killed(here: Path, invoke: Callable) -> None:
    standin.start(here / "run").close()
    child = standin.spawn(here / "run")
    assert child.stdout is not None
    child.stdout.readline()
    assert info(here / "run")["state"] == "running"
    assert "run running" in invoke("info", "run")[1]
    assert invoke("verify", "run")[0] in (0, 1)  # files come and go under it; it looks, and ends
    child.kill()
    child.communicate()
    assert info(here / "run")["state"] == "killed"
    assert set(wrong(here / "run")) <= {"trajectory.h5"}, "killed after a checkpoint, before the master"
    with RunDir.open(here / "run") as run:
        run.restore()
        run.tidy(standin.KEEP)
    assert wrong(here / "run") == []


def test_a_run_that_failed_says_why_until_it_has_finished(here: Path) -> None:
    with standin.start(here / "run") as run:
        run.journal("failed", step=3, error="step 3: too bad")
    assert (info(here / "run")["state"], info(here / "run")["failed"]) == ("failed", ["step 3: too bad"])
    with RunDir.open(here / "run") as run:
        run.restore()
        run.journal("finished", step=3)
    assert (info(here / "run")["state"], info(here / "run")["failed"]) == ("finished", [])


def test_a_refused_resume_leaves_the_state_as_it_was(made: Path, invoke: Callable) -> None:
    run = copied(made, "two")
    (run / "scene.toml").write_text((run / "scene.toml").read_text().replace("e = 0.3", "e = 0.4"))
    (run / "overrides.json").write_text('["stepper.dt=0.01"]')
    assert "not the run that was saved" in complaint(invoke, "resume", run)
    assert info(run)["state"] == "finished"
    (run / "overrides.json").write_text("[")
    assert "damaged" in complaint(invoke, "resume", run)
    assert info(run)["state"] == "finished"
    with RunDir.open(run):
        pass
    assert info(run)["state"] == "killed"


def test_looking_needs_a_run(made: Path, invoke: Callable, here: Path) -> None:
    why = "not a run (it lacks scene.toml or journal.jsonl); `minusgrad run` makes one"
    for verb in ("info", "verify", "export"):
        assert complaint(invoke, verb, here) == f"{here}: {why}"
        assert complaint(invoke, verb, "nowhere") == "nowhere: no such folder; `minusgrad run` makes one"
    assert complaint(invoke, "compare", here, made / "two") == f"{here}: {why}"


def test_looking_changes_nothing(made: Path, invoke: Callable) -> None:
    before = files(made), (made / "two/journal.jsonl").read_bytes()
    for arguments in (["info", "two"], ["verify", "two"], ["compare", "two", "solar"], ["export", "two"]):
        invoke(arguments[0], *(made / name for name in arguments[1:]))
    assert (files(made), (made / "two/journal.jsonl").read_bytes()) == before


# verify ---------------------------------------------------------------------------------------------


def wrong(run: Path) -> list[str]:
    """What is not as it should be."""
    return [answer.what for answer in verify(run) if not answer.passed]


def test_a_whole_run(made: Path, invoke: Callable) -> None:
    code, out, err = invoke("verify", made / "solar", "--json")
    assert (code, err) == (0, "")
    answers = json.loads(out)
    assert all(answer["passed"] is True and answer["text"] for answer in answers)
    apart = {"journal.jsonl", "overrides.json"}
    seen = {answer["what"] for answer in answers} - {"traj/"}
    assert seen - apart == set(files(made / "solar")) - apart
    code, out, _ = invoke("verify", made / "solar")
    assert code == 0
    assert out.splitlines()[-1] == f"{len(answers)} files and facts verified, 0 wrong"
    assert "8 series, without a gap up to step 40" in out
    assert "WRONG" not in out


PLACES = [0.0, 0.1, 0.35, 0.5, 0.77, 0.999]


@pytest.mark.parametrize("at", PLACES)
@pytest.mark.parametrize(
    "kind", ["ckpt/0*20.*", "ckpt/0*40.*", "traj/0*20.*", "trajectory.h5", "scene.toml", "inputs/data/*.csv"]
)
def test_one_flipped_bit_is_seen_in_every_file(kind: str, at: float, made: Path, invoke: Callable) -> None:
    run = copied(made, "solar")
    (path,) = run.glob(kind)
    flipped(path, at)
    name = path.relative_to(run).as_posix()
    goes_back = kind == "ckpt/0*40.*"  # the master over the segment of step 40 is not that of step 30
    assert wrong(run) == [name, "trajectory.h5"][: 1 + goes_back]
    code, out, err = invoke("verify", run)
    assert (code, err) == (1, "")
    assert f"\n{name}: " in out
    assert any(line.startswith(name) and line.endswith("WRONG") for line in out.splitlines())
    assert out.endswith(f" {1 + goes_back} wrong\n")


def test_other_overrides_are_seen(made: Path) -> None:
    run = copied(made, "solar")
    right = (run / "overrides.json").read_text()
    for text in (
        right.replace("40", "41"),
        right.replace("every=5", "every=6"),
        right[:-3],
        "{}",
        "[1]",
        right.replace("run", "ran"),
    ):
        (run / "overrides.json").write_text(text)
        assert wrong(run) == ["overrides.json"], text
    (run / "overrides.json").unlink()
    assert wrong(run) == ["overrides.json"]


def test_a_changed_scene_is_seen_even_in_a_comment(made: Path) -> None:
    run = copied(made, "two")
    (run / "scene.toml").write_text((run / "scene.toml").read_text() + "# later\n")
    assert wrong(run) == ["scene.toml"]


def test_an_input_that_is_gone_is_seen(made: Path) -> None:
    run = copied(made, "solar")
    (run / "inputs/data/outer_solar_system.csv").unlink()
    assert wrong(run) == ["inputs/data/outer_solar_system.csv"]


@pytest.mark.parametrize("step", [0, 20, 40])
def test_a_deleted_segment_is_seen(step: int, made: Path, invoke: Callable) -> None:
    run = copied(made, "two")
    next(run.glob(f"traj/{step:012d}.*")).unlink()
    assert wrong(run) == ["traj/", "trajectory.h5"]
    assert (
        f"that the journal lists as saved are missing: of step {step}; copy them again"
        in invoke("verify", run)[1]
    )


@pytest.mark.parametrize("step", [20, 30, 40])
def test_a_deleted_checkpoint_is_seen(step: int, made: Path) -> None:
    run = copied(made, "two")
    gone = next(run.glob(f"ckpt/{step:012d}.*"))
    gone.unlink()
    assert f"ckpt/{gone.name}" in wrong(run)


def test_without_any_checkpoint_nothing_can_be_resumed(made: Path) -> None:
    run = copied(made, "two")
    for path in checkpoint.list_checkpoints(run / "ckpt"):
        flipped(path)
    assert wrong(run)[-1] == "ckpt/"
    shutil.rmtree(run / "ckpt")
    assert wrong(run) == ["ckpt/"]


def test_an_old_master_is_seen(made: Path, here: Path) -> None:
    run = unbroken(here / "run", 20)
    old = (run / "trajectory.h5").read_bytes()
    standin.go_on(run, 40)
    assert wrong(run) == []
    (run / "trajectory.h5").write_bytes(old)
    assert wrong(run) == ["trajectory.h5"]
    (run / "trajectory.h5").unlink()
    assert wrong(run) == ["trajectory.h5"]
    standin.go_on(run, 40)
    assert wrong(run) == [], "resume rewrites it"


def test_a_master_of_the_first_layout_is_not_called_damaged(here: Path) -> None:
    """It has no group /minusgrad; that it names the segments which are there is all that can be asked."""
    run = unbroken(here / "run", 20)
    segments = trajectory.segments(run)
    for named, found in ((segments, []), (segments[:-1], ["trajectory.h5"])):
        layout = h5py.VirtualLayout((10 * len(named),), np.float64)
        for k, path in enumerate(named):
            source = h5py.VirtualSource(f"traj/{path.name}", "observables/total/value", (10,))
            layout[10 * k : 10 * (k + 1)] = source
        with h5py.File(run / "trajectory.h5", "w") as file:
            file.create_virtual_dataset("observables/total/value", layout)
        assert wrong(run) == found


def sealed(run: Path, step: int, *steps: int) -> Path:
    """A segment more, with a total at these steps."""
    rows = standin.recorder()
    for one in steps:
        rows.record_observables(one, 0.1 * one, {"total": 1.0})
    path = rows.seal(run / "traj", step)
    assert path is not None
    return path


def test_a_series_that_repeats_or_goes_back_is_seen(here: Path) -> None:
    for number, steps in enumerate([(40,), (38, 39), (12,)]):
        run = unbroken(here / str(number))
        last = trajectory.segments(run)[-1]
        last.unlink()
        path = sealed(run, 40, *range(31, 41))
        again = sealed(run, 35, *steps)
        found = [answer for answer in verify(run) if not answer.passed]
        assert {a.what for a in found} == {
            f"traj/{path.name if steps[0] > 30 else again.name}",
            "trajectory.h5",
        }
        assert "series 'observables/total' repeats step" in found[0].text


def test_a_segment_newer_than_the_newest_checkpoint_does_not_count(here: Path, invoke: Callable) -> None:
    run = unbroken(here / "run")
    path = sealed(run, 50, *range(41, 51))
    code, out, _ = invoke("verify", run)
    assert code == 0
    assert "newer than the newest checkpoint; not used yet" in out
    assert path.name in out


@pytest.mark.parametrize("steps", [(13,), (13, 17), (10, 15), (20, 33)])
def test_an_interrupted_run_is_whole(steps: tuple[int, ...], here: Path) -> None:
    standin.start(here / "run").close()
    for step in steps:
        standin.go_on(here / "run", step)
        assert wrong(here / "run") == [], step
    assert info(here / "run")["checkpoints"][-1] == f"{steps[-1]} (interruption)"
    newest = checkpoint.list_checkpoints(here / "run/ckpt")[-1]
    newest.unlink()
    assert wrong(here / "run")[0] == f"ckpt/{newest.name}"


def test_a_run_killed_before_the_last_line_of_its_journal_is_whole(made: Path) -> None:
    """Checkpoints that the last save has pruned are not missed, though no line tells of that save."""
    run = copied(made, "two")
    lines = (run / "journal.jsonl").read_text().splitlines(keepends=True)
    last = max(k for k, line in enumerate(lines) if '"saved", "step": 40' in line)
    (run / "journal.jsonl").write_text("".join(lines[:last]))
    assert wrong(run) == []


def test_a_run_that_went_back_is_whole_again(here: Path) -> None:
    run = unbroken(here / "run")
    for path in checkpoint.list_checkpoints(run / "ckpt")[-2:]:
        flipped(path)
    assert len([what for what in wrong(run) if what.startswith("ckpt/")]) == 2
    standin.go_on(run, 35)
    assert wrong(run) == []
    standin.go_on(run, 60)
    assert wrong(run) == []


def test_a_run_of_joined_segments_is_whole(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "JOINED", 4)
    with joined.started(here / "run") as run:
        joined.simulate(run, joined.recorder(), 0, 30)
    assert max(span.level for span, _ in trajectory.spans(here / "run")) == 2
    assert wrong(here / "run") == []
    trajectory.segments(here / "run")[0].unlink()
    assert wrong(here / "run") == ["traj/", "trajectory.h5"]


def test_temporaries_of_a_killed_run_are_mentioned_and_do_not_count(made: Path, invoke: Callable) -> None:
    run = copied(made, "two")
    for folder in ("", "ckpt", "traj"):
        (run / folder / ".tmp-01234567-x.h5").write_bytes(b"half")
    code, out, err = invoke("verify", run)
    assert (code, err) == (0, "")
    for name in (".tmp-01234567-x.h5", "ckpt/.tmp-01234567-x.h5", "traj/.tmp-01234567-x.h5"):
        assert f"\n{name}: left by a killed process; `minusgrad resume` deletes it\n" in out
    assert invoke("verify", run, "--json")[0] == 0
    assert invoke("resume", run)[0] == 0
    assert "left by" not in invoke("verify", run)[1]


# compare --------------------------------------------------------------------------------------------


def test_a_run_and_its_copy_are_the_same(made: Path, invoke: Callable) -> None:
    copied(made, "two")
    code, out, err = invoke("compare", "two", made / "two")
    assert (code, err) == (0, "")
    arrays = sum(len(checkpoint.load(p).arrays) for p in checkpoint.list_checkpoints(Path("two/ckpt")))
    rows = sum(len(trajectory.series(Path("two"), name).step) for name in trajectory.names(Path("two")))
    assert out == f"the same, bit for bit: {arrays} arrays of checkpoints, {rows} rows of series\n"
    code, out, _ = invoke("compare", "two", made / "two", "--json")
    assert (code, json.loads(out)) == (0, {"differences": [], "arrays": arrays, "rows": rows, "until": None})


def bumped(path: Path, end: int, first: int, by: Callable[[float], float]) -> Path:
    """A stand-in run whose total is another from a step on; its fields are not."""
    run, x, rows = standin.start(path), np.zeros((4, 2)), standin.recorder()
    for step in range(1, end + 1):
        x = 0.99 * x + np.sin(step)
        if step % 3 == 0:
            rows.record_frame(step, 0.1 * step, {"position": x})
        total = float(x.sum())
        rows.record_observables(step, 0.1 * step, {"total": by(total) if step >= first else total})
        if step % 10 == 0:
            run.save(standin.snapshot(step, x), rows, standin.KEEP)
    run.close()
    return path


@pytest.mark.parametrize("step", [1, 10, 11, 27, 40])
def test_the_first_step_and_field_that_differ_are_found(step: int, here: Path, invoke: Callable) -> None:
    one = unbroken(here / "one")
    bumped(here / "other", 40, step, lambda total: float(np.nextafter(total, np.inf)))
    code, out, err = invoke("compare", "one", "other")
    right = trajectory.series(one, "observables/total").value[step - 1]
    other = float(np.nextafter(right, np.inf))
    assert (code, err) == (1, "")
    assert out == f"observables/total: step {step}: {float(right)!r} / {other!r} (1 of 1 numbers differ)\n"
    (difference,) = json.loads(invoke("compare", "one", "other", "--json")[1])["differences"]
    assert (difference["step"], difference["what"]) == (step, "observables/total")


def test_the_order_of_both_and_the_sign_of_zero(here: Path) -> None:
    bumped(here / "one", 10, 4, lambda total: 0.0)
    bumped(here / "other", 10, 4, lambda total: -0.0)
    (found,) = compare(here / "one", here / "other").differences
    assert found == (4, "observables/total", "0.0 / -0.0 (1 of 1 numbers differ)")
    bumped(here / "nan", 10, 4, lambda total: float("nan"))
    shutil.copytree("nan", "same")
    assert compare(here / "nan", here / "same").differences == []


def test_of_each_thing_the_first_difference_is_told(here: Path) -> None:
    unbroken(here / "one")
    standin.start(here / "other").close()
    with RunDir.open(here / "other") as run:
        run.restore()
        standin.simulate(run, np.full((4, 2), 1e-9), standin.recorder(), 0, 40)
    found = compare(here / "one", here / "other").differences
    assert [(d.step, d.what) for d in found] == [
        (1, "observables/total"),
        (3, "particles/all/position"),
        (20, "fields/x"),
    ]
    assert found[2].text.startswith("[0, 0]: ")
    assert found[2].text.endswith("(8 of 8 numbers differ)")


def test_where_a_resumed_run_parts_that_was_changed(made: Path, invoke: Callable) -> None:
    """Stopped at step 20, and gone on with another dt: equal until then."""
    run = copied(made, "two")
    for path in checkpoint.list_checkpoints(run / "ckpt")[1:]:
        path.unlink()
    changed = [*json.loads((run / "overrides.json").read_text()), "stepper.dt=0.004"]
    (run / "overrides.json").write_text(json.dumps(changed))
    assert invoke("resume", run)[0] == 2
    assert invoke("resume", run, "--allow-changed")[0] == 0
    code, out, _ = invoke("compare", made / "two", run)
    assert code == 1
    found = compare(made / "two", run).differences
    assert found[0].step == 25
    assert {d.what for d in found if d.step == 25} == {
        f"observables/{name}" for name in ("drift", "kinetic", "potential/gravity", "total")
    }
    assert out.splitlines()[0].startswith("observables/drift: step 25: ")
    assert next(d for d in found if d.what == "fields/x").step == 30
    assert wrong(run) == []


def test_what_only_one_has(here: Path) -> None:
    unbroken(here / "one", 40)
    unbroken(here / "short", 20)
    found = {d.what: d for d in compare(here / "one", here / "short").differences}
    assert found["observables/total"] == (21, "observables/total", "continues only in the first")
    assert found["particles/all/position"][0] == 21
    swapped = {d.what: d for d in compare(here / "short", here / "one").differences}
    assert swapped["observables/total"].text == "continues only in the second"
    with standin.start(here / "more") as run:
        rows = standin.recorder()
        rows.record_observables(10, 1.0, {"heat": 1.0})
        run.save(Snapshot(10, 1.0, 0.1, {"fields/y": np.zeros(2)}), rows, 3)
    differences = [tuple(d) for d in compare(here / "short", here / "more").differences]
    assert differences[:3] == [
        (None, "observables/heat", "recorded only in the second"),
        (None, "observables/total", "recorded only in the first"),
        (None, "particles/all/position", "recorded only in the first"),
    ]
    assert {(10, "fields/x", "only in the first"), (10, "fields/y", "only in the second")} <= set(differences)


def test_other_shapes_and_types_are_told(here: Path) -> None:
    for name, array in (("a", np.zeros(3)), ("b", np.zeros(4)), ("c", np.zeros(3, np.float32))):
        with standin.start(here / name) as run:
            rows = standin.recorder()
            rows.record_frame(1, 0.1, {"position": array})
            run.save(Snapshot(1, 0.1, 0.1, {"fields/x": array}), rows, 3)
    for other, text in (("b", "float64[3] / float64[4]"), ("c", "float64[3] / float32[3]")):
        assert [tuple(d) for d in compare(here / "a", here / other).differences] == [
            (1, "fields/x", text),
            (1, "particles/all/position", f"a row is {text}"),
            (1, "recorder/particles/all/position/value", text.replace("[", "[0, ")),
        ]


def test_how_segments_were_cut_does_not_matter(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with joined.started(here / "many") as run:
        joined.simulate(run, joined.recorder(), 0, 30)
    monkeypatch.setattr(compaction, "JOINED", 4)
    with joined.started(here / "few") as run:
        joined.simulate(run, joined.recorder(), 0, 30)
    with joined.started(here / "one") as run:
        rows = joined.recorder()
        for step in range(1, 31):
            joined.record(rows, step)
        run.save(joined.moment(30), rows, 3)
    counts = {name: len(trajectory.segments(here / name)) for name in ("many", "few", "one")}
    assert counts["one"] == 1 < counts["few"] < counts["many"]
    for one, other in (("many", "few"), ("few", "many"), ("one", "few")):
        found = compare(here / one, here / other)
        assert (found.differences, found.rows) == ([], 30 + 15 + 10 + 4)


def test_versions_machines_and_hours_do_not_count(here: Path, invoke: Callable) -> None:
    for name, meta in (("one", {"machine": "a", "versions": {"numpy": "1"}}), ("other", {"machine": "b"})):
        with RunDir.create(here / name, name.encode(), []) as run:
            run.save(Snapshot(0, 0.0, 0.1, {"fields/x": np.ones(2)}, {}, meta, name.encode()), None, 3)
            time.sleep(0.002)
    assert invoke("compare", "one", "other")[0] == 0


def test_two_checkpoints(made: Path, invoke: Callable) -> None:
    first, second = checkpoint.list_checkpoints(made / "two/ckpt")[:2]
    assert invoke("compare", first, first)[1].startswith(
        "the same, bit for bit: 34 arrays of checkpoints, 0 rows"
    )
    code, out, _ = invoke("compare", first, second)
    assert code == 1
    assert "step: 20 / 30\n" in out
    assert "time: step 20: 0.1 / 0.15\n" in out
    assert "fields/x: step 20: [0, 0]: " in out


def test_what_cannot_be_compared(made: Path, invoke: Callable, here: Path) -> None:
    file = checkpoint.list_checkpoints(made / "two/ckpt")[0]
    assert complaint(invoke, "compare", file, made / "two").endswith(
        ": cannot be compared; give two runs or two checkpoints"
    )
    missing = "does not exist; give a run folder or a checkpoint"
    assert complaint(invoke, "compare", made / "two", "nowhere") == f"nowhere: {missing}"
    assert complaint(invoke, "compare", "nothing", "nowhere") == f"nothing and nowhere: {missing}"
    run = copied(made, "two")
    flipped(checkpoint.list_checkpoints(run / "ckpt")[0])
    assert "damaged: its bytes have SHA-256" in complaint(invoke, "compare", run, made / "two")
    run = Path(shutil.copytree(made / "two", "again"))
    flipped(trajectory.segments(run)[0])
    assert "damaged: its bytes have SHA-256" in complaint(invoke, "compare", made / "two", run)


def test_runs_that_have_nothing_in_common(here: Path, invoke: Callable) -> None:
    for name, step in (("one", 1), ("other", 2)):
        with RunDir.create(here / name, b"", []) as run:
            run.save(Snapshot(step, 0.0, 0.1, {"fields/x": np.ones(2)}), None, 3)
    code, out, _ = invoke("compare", "one", "other")
    assert (code, out) == (
        1,
        "checkpoints: the two have no checkpoint of the same step and no series in common\n",
    )


# export ---------------------------------------------------------------------------------------------

AWKWARD = [0.1, -0.0, 1e-300, 1.7976931348623157e308, 1 / 3, -2.2250738585072014e-308, np.pi * 1e-40, 2.0**60]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of awkward numbers in three segments: every kind of series, in rhythms of their own."""
    path = tmp_path_factory.mktemp("recorded") / "run"
    chance = np.random.default_rng(8)
    units = {"total": ("J", 1.0), "momentum": ("kg m/s", 1.0), "position": ("m", 1.0), "dose": ("1", 1.0)}
    lists = {"bonds": np.array([[0, 1], [1, 2]]), "faces": np.array([[0, 1, 2]])}
    grids = {
        "canvas": trajectory.Raster((2, 3), 0.5, ("mm", 1e-3)),
        "line": trajectory.Raster((4,), 1.0, None),
        "box": trajectory.Raster((2, 1, 2), 1.0, None),
    }
    rows = Recorder(units, ("day", 86400.0), lists, ("bonds",), grids)
    with RunDir.create(path, b"", []) as run:
        for step in range(12):
            t = AWKWARD[step % 8] if step % 2 else step / 3
            rows.record_observables(step, t, {"total": AWKWARD[step % 8]})
            if step % 3 == 0:
                vector, stress = (
                    chance.normal(size=3) * 10.0 ** chance.integers(-300, 300),
                    chance.normal(size=(2, 2)),
                )
                rows.record_observables(step, t, {"momentum": vector, "stress": stress})
                rows.record_observables(step, t, {"modes": chance.normal(size=5)})
                rows.record_frame(
                    step, t, {"position": chance.normal(size=(3, 2)), "charge": chance.normal(size=3)}
                )
                rows.record_frame(step, t, {"single": chance.normal(size=(3, 2)).astype(np.float32)})
            if step % 4 == 0:
                rows.record_cells(
                    step, t, "bonds", {"stress": np.float32(chance.normal(size=2)), "pair": np.eye(2)}
                )
                rows.record_cells(step, t, "faces", {"stress": chance.normal(size=(1, 3))})
                rows.record_grid(step, t, "canvas", {"dose": chance.normal(size=6).astype(np.float32)})
                rows.record_grid(step, t, "line", {"heat": chance.normal(size=4)})
                rows.record_grid(step, t, "box", {"heat": chance.normal(size=4)})
                run.save(Snapshot(step, t, 0.1, {}), rows, 3)
        run.save(Snapshot(12, 4.0, 0.1, {}), rows, 3)
    assert len(trajectory.segments(path)) == 4
    return path


def read_back(text: str) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, and the rows."""
    head, *rows = csv.reader(text.splitlines())
    assert all(len(row) == len(head) for row in rows)
    return head, rows


def bits(values: Any) -> list[bytes]:
    return [struct.pack("<d", float(value)) for value in values]


def test_observables_of_different_rhythms_join_and_keep_their_bits(recorded: Path, invoke: Callable) -> None:
    code, out, err = invoke("export", recorded)
    assert (code, err) == (0, "")
    head, rows = read_back(out)
    modes = [f"modes.{k}" for k in range(5)]
    momentum = [f"momentum.{axis} [kg m/s]" for axis in "xyz"]
    stress = ["stress.xx", "stress.xy", "stress.yx", "stress.yy"]
    assert head == ["step", "time [day]", *modes, *momentum, *stress, "total [J]"]
    assert [int(row[0]) for row in rows] == list(range(12))
    names = ["modes"] * 5 + ["momentum"] * 3 + ["stress"] * 4 + ["total"]
    clock = trajectory.series(recorded, "observables/total").time
    assert bits(row[1] for row in rows) == bits(clock)
    for column, name in enumerate(names, start=2):
        series = trajectory.series(recorded, f"observables/{name}")
        there = [(int(row[0]), row[column]) for row in rows if row[column]]
        assert [step for step, _ in there] == series.step.tolist()
        values = series.value.reshape(len(series.step), -1)[:, column - 2 - names.index(name)]
        assert bits(cell for _, cell in there) == bits(values)
    assert bits(row[-1] for row in rows) == bits((AWKWARD * 2)[:12])


@pytest.mark.parametrize(
    ("name", "series", "what", "columns"),
    [
        ("position", "particles/all/position", ["node"], ["position.x [m]", "position.y [m]"]),
        ("charge", "particles/all/charge", ["node"], ["charge"]),
        ("single", "particles/all/single", ["node"], ["single.x", "single.y"]),
        ("pair", "cells/bonds/pair", ["tuple"], ["pair.x", "pair.y"]),
        ("cells/bonds/stress", "cells/bonds/stress", ["tuple"], ["stress"]),
        ("cells/faces/stress", "cells/faces/stress", ["tuple"], [f"stress.{axis}" for axis in "xyz"]),
        ("dose", "grids/canvas/dose", ["row", "column"], ["dose"]),
        ("grids/line/heat", "grids/line/heat", ["row"], ["heat"]),
        ("grids/box/heat", "grids/box/heat", ["row", "column", "layer"], ["heat"]),
        ("momentum", "observables/momentum", [], [f"momentum.{axis} [kg m/s]" for axis in "xyz"]),
    ],
)
def test_every_kind_of_series_keeps_its_bits(
    name: str, series: str, what: list[str], columns: list[str], recorded: Path, invoke: Callable
) -> None:
    """Single precision too: each of its numbers is one of double precision."""
    code, out, err = invoke("export", recorded, name)
    assert (code, err) == (0, "")
    head, rows = read_back(out)
    whole = trajectory.series(recorded, series)
    assert head == ["step", "time [day]", *what, *columns]
    shape = whole.value.shape[1 : 1 + len(what)]
    places = [(step, *place) for step in whole.step.tolist() for place in np.ndindex(*shape)]
    assert [tuple(map(int, [row[0], *row[2 : 2 + len(what)]])) for row in rows] == places
    cells = [cell for row in rows for cell in row[2 + len(what) :]]
    assert bits(cells) == bits(whole.value.ravel().tolist())
    assert np.array_equal(np.array(list(map(float, cells)), whole.value.dtype), whole.value.ravel())
    times = np.repeat(whole.time, len(rows) // len(whole.step))
    assert bits(row[1] for row in rows) == bits(times)


SUBNORMAL = """
import io, struct, sys
from pathlib import Path
from minusgrad.files import trajectory
from minusgrad.app.results.csv_export import export
from minusgrad.files.run_folder import RunDir
from minusgrad.files.checkpoint import Snapshot

values = [5e-324, -1e-310, 2.2250738585072009e-308, 1.2345e-320, float("inf"), float("nan")]
rows = trajectory.Recorder({}, ("s", 1.0))
for step, value in enumerate(values):
    rows.record_observables(step, 0.1 * step, {"total": value})
path = Path(sys.argv[1])
with RunDir.create(path, b"", []) as run:
    run.save(Snapshot(9, 0.9, 0.1, {}), rows, 3)
out = io.StringIO()
export(path, [], out)
read = [float(line.split(",")[2]) for line in out.getvalue().splitlines()[1:]]
print([struct.pack("<d", a) == struct.pack("<d", b) for a, b in zip(values, read, strict=True)])
"""


def test_the_smallest_numbers_keep_their_bits(here: Path) -> None:
    """In a process without Taichi, which lets the processor take subnormal numbers for zero."""
    done = subprocess.run([sys.executable, "-c", SUBNORMAL, "run"], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{[True] * 6}\n", "")


def test_series_of_the_same_places_stand_side_by_side(recorded: Path, invoke: Callable) -> None:
    head, rows = read_back(invoke("export", recorded, "position", "charge")[1])
    assert head == ["step", "time [day]", "node", "position.x [m]", "position.y [m]", "charge"]
    charge = trajectory.series(recorded, "particles/all/charge").value.ravel()
    assert bits(row[5] for row in rows) == bits(charge)
    head, _ = read_back(invoke("export", recorded, "total", "modes")[1])
    assert head[2] == "total [J]", "in the order that was asked for"


def test_names_that_are_none_or_several(recorded: Path, invoke: Callable) -> None:
    text = complaint(invoke, "export", recorded, "totl")
    there = ", ".join(series_names.shortest_names(trajectory.names(recorded)))
    assert text == f"{recorded}: no series named 'totl'; did you mean 'total'? (there are: {there})"
    text = complaint(invoke, "export", recorded, "heat")
    assert text == f"{recorded}: 'heat' may be grids/box/heat or grids/line/heat; write one of them out"
    text = complaint(invoke, "export", recorded, "total", "position")
    assert text == (
        "observables/total: have one row for each step, the others one for each node or cell;"
        " export them to separate files"
    )
    for one, other in (("position", "dose"), ("grids/box/heat", "grids/line/heat"), ("position", "pair")):
        assert complaint(invoke, "export", recorded, one, other).endswith(
            "belong to different nodes or cells; export them one by one"
        )


def test_series_looked_at_at_other_steps_are_refused_before_a_line(here: Path, invoke: Callable) -> None:
    rows = standin.recorder()
    with RunDir.create(here / "run", b"", []) as run:
        for step in (1, 2, 3, 4):
            rows.record_frame(step, 0.1, {"position": np.ones(2)})
            if step > 2:
                rows.record_frame(step, 0.1, {"late": np.ones(2)})
            run.save(Snapshot(step, 0.1, 0.1, {}), rows, 3)
    assert complaint(invoke, "export", "run", "position", "late") == (
        "particles/all/position, particles/all/late: were recorded at different steps; export them one by one"
    )


def test_a_run_without_observables_asks_for_a_name(here: Path, invoke: Callable) -> None:
    run = unbroken(here / "run", 0)
    assert complaint(invoke, "export", run) == f"{run}: has no observables; name a series (there are: none)"


def test_export_into_a_file(recorded: Path, invoke: Callable, here: Path) -> None:
    shown = invoke("export", recorded, "position")[1]
    code, out, err = invoke("export", recorded, "position", "--out", "positions.csv")
    assert (code, out, err) == (0, "positions.csv: 12 rows\n", "")
    assert (here / "positions.csv").read_bytes() == shown.encode()
    before = (here / "positions.csv").read_bytes()
    assert "no series named 'nope'" in complaint(invoke, "export", recorded, "nope", "--out", "positions.csv")
    assert (here / "positions.csv").read_bytes() == before, "what was there stands"
    assert complaint(invoke, "export", recorded, "--out", "deep/total.csv") == (
        "deep/total.csv: cannot be written: there is no folder deep; give a file with --out"
    )
    assert complaint(invoke, "export", recorded, "--out", here) == (
        f"{here}: cannot be written: is a folder; give a file with --out"
    )
    assert [path.name for path in here.iterdir()] == ["positions.csv"]


def test_a_damaged_segment_is_not_exported(made: Path, invoke: Callable, here: Path) -> None:
    run = copied(made, "two")
    flipped(trajectory.segments(run)[2])
    assert "damaged: its bytes have SHA-256" in complaint(invoke, "export", run, "--out", "x.csv")
    assert not (here / "x.csv").exists()


def test_a_full_disk_while_exporting_leaves_nothing(recorded: Path, here: Path, invoke, monkeypatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable.os, "replace", full)
    code, _, err = invoke("export", recorded, "--out", "x.csv")
    assert code == RunFailedError.exit_code
    assert (
        err == "minusgrad: x.csv: cannot be written: No space left on device; give another file with --out\n"
    )
    assert list(here.iterdir()) == []


# --max-hours ----------------------------------------------------------------------------------------

SHORT_WORDS = [f"{key}={value}" for key, value in SHORT.items()]


SECOND = 1 / 3600


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by a second whenever it is asked: after the start, once a batch."""
    ticks = itertools.count()
    monkeypatch.setattr(signals, "monotonic", lambda: float(next(ticks)))


@pytest.mark.usefixtures("ticking")
def test_a_run_whose_hours_are_over_saves_and_goes_on_to_the_same_files(
    made: Path, invoke: Callable, here: Path
) -> None:
    code, out, err = invoke("run", TWO_BODY, *SHORT_WORDS, "--out", "run", "--max-hours", 2 * SECOND)
    assert (code, out) == (4, "")
    begin, _, again = err.rstrip("\n").partition("; continue with: ")
    assert begin == "minusgrad: interrupted and saved at step 1 of 40"
    assert again == "minusgrad resume run"
    assert info(here / "run")["state"] == "interrupted"
    assert info(here / "run")["checkpoints"] == ["0", "1 (interruption)"]
    assert wrong(here / "run") == []
    steps = [1]
    for _ in range(4):
        code, _, err = invoke(*again.split()[1:], "--max-hours", 4 * SECOND)
        assert code == 4
        steps.append(info(here / "run")["step"])
        assert f"saved at step {steps[-1]} of 40; continue with: {again}\n" in err
    assert steps == sorted(set(steps)), "each goes on a little"
    assert invoke(*again.split()[1:], "--max-hours", AT_ONCE)[0] == 4
    assert info(here / "run")["step"] == steps[-1], "without time it stays where it is"
    assert invoke(*again.split()[1:], "--max-hours", "1000")[0] == 0
    assert files(here / "run") == files(made / "two")
    assert compare(here / "run", made / "two").differences == []


def test_a_fit_whose_hours_are_over_goes_on_too(invoke: Callable, here: Path) -> None:
    fit = ("fit", SCENES / "walker.toml", "run.steps=20", "fit.iterations=3")
    assert invoke(*fit, "--out", "whole")[0] in (0, 1)
    code, _, err = invoke(*fit, "--out", "cut", "--max-hours", AT_ONCE)
    assert code == 4
    assert err.endswith("; continue with: minusgrad resume cut\n")
    found = info(here / "cut")
    assert (found["kind"], found["state"], found["last"]) == ("fit", "interrupted", 3)
    assert f": fit interrupted, at iteration {found['step']} of 3\n" in invoke("info", "cut")[1]
    assert invoke("resume", "cut")[0] in (0, 1)
    assert files(here / "cut") == files(here / "whole")
    assert info(here / "cut")["state"] == "finished"
    assert wrong(here / "cut") == []


def test_enough_hours_change_nothing(made: Path, invoke: Callable, here: Path) -> None:
    assert invoke("run", TWO_BODY, *SHORT_WORDS, "--out", "run", "--max-hours", "11.5")[0] == 0
    assert files(here / "run") == files(made / "two")


@pytest.mark.parametrize("hours", ["0", "-1", "nan", "soon", "", "-inf", "1h"])
@pytest.mark.parametrize("verb", ["run", "fit", "resume"])
def test_hours_that_are_none_are_refused(verb: str, hours: str, invoke: Callable, here: Path) -> None:
    code, out, err = invoke(verb, TWO_BODY, f"--max-hours={hours}")
    assert (code, out) == (2, "")
    assert err.endswith(
        f"error: argument --max-hours: needs a number of hours above 0, like 11.5, got '{hours}'\n"
    )
    assert list(here.iterdir()) == []


def test_a_clipped_start_is_said_on_the_terminal_in_the_journal_and_in_json(tmp_path, capsys):
    bounds = ['stepper.fields.x={lower="0 m", upper="7 cm"}', "run.steps=2", "--out", str(tmp_path / "run")]
    assert main(["run", str(SCENES / "stretch.toml"), *bounds, "--json"]) in (0, 1)
    said = capsys.readouterr()
    (remark,) = json.loads(said.out)["remarks"]
    assert remark.startswith("field 'x': ")
    assert " nodes began outside its bounds, 0 to 0.07 m, and were moved onto them, by up to " in remark
    assert f"minusgrad: {remark}" in said.err
    assert remark in (tmp_path / "run" / "journal.jsonl").read_text()
