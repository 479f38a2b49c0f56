"""`minusgrad verify`: every flipped bit and lost file is seen, and no whole run is accused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from minusgrad.app.info import info
from minusgrad.app.verify import verify
from minusgrad.files import checkpoint, compaction, trajectory
from tests.support import long_runs as joined
from tests.support import saved_runs as standin
from tests.support.command import files
from tests.support.looked_at import copied, flipped, unbroken, wrong


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
