"""`minusgrad info`: what a run folder is, also one that is damaged, going on, or failed."""

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from minusgrad.app.info import info
from minusgrad.files import checkpoint, trajectory
from minusgrad.files.run_folder import RunDir
from tests.support import saved_runs as standin
from tests.support.command import files
from tests.support.looked_at import complaint, copied, flipped, wrong


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
