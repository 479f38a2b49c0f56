"""Which run is the newest, and what is said of a path that is no run, by every verb that reads one."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad.errors import RunFolderError
from minusgrad.files.held.run_listing import newest_run, runs_below
from minusgrad.files.run_folder import RunDir

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def as_run(name: str, written: int) -> Path:
    """The two files of a run; the journal was written to at that second."""
    path = Path(name)
    path.mkdir(parents=True)
    for file in ("scene.toml", "journal.jsonl"):
        (path / file).write_text("")
        os.utime(path / file, (written, written))
    return path


def test_the_newest_run_is_the_one_that_was_written_to_last() -> None:
    for name, written in (("runs/a", 30), ("runs/b", 10), ("runs/demo/c", 20), ("elsewhere", 99)):
        as_run(name, written)
    (Path("runs") / "notes").mkdir()
    assert [str(run) for run in runs_below(Path("runs"))] == ["runs/a", "runs/demo/c", "runs/b"]
    os.utime("runs/b/journal.jsonl", (40, 40))  # it was resumed
    assert newest_run() == Path("runs/b")


def test_without_a_run_there_is_no_newest_one() -> None:
    with pytest.raises(RunFolderError, match="runs: contains no run; `minusgrad run SCENE` makes one"):
        newest_run()


@pytest.mark.parametrize("verb", ["info", "verify", "plot", "movie", "view", "modes", "buckling", "elastic"])
def test_every_verb_that_reads_one_run_takes_the_newest(verb: str, invoke: Callable) -> None:
    assert invoke(verb)[::2] == (
        2,
        "minusgrad: runs: contains no run; `minusgrad run SCENE` makes one, or give a folder\n",
    )
    as_run("runs/a", 1)
    assert invoke(verb)[2].startswith("minusgrad: runs/a is the newest run here\n")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("magnets.toml", "is a scene, not a run; run it first: `minusgrad run magnets.toml`"),
        ("runs/nothing", "no such folder; runs here: runs/b, runs/a"),
        ("nothing", "no such folder; runs here: runs/b, runs/a, runs/demo/c"),
        ("film.webp", "is a file, not the folder of a run; runs here: runs/b, runs/a, runs/demo/c"),
        ("runs/demo", "not a run, but has runs in it; give one: runs/demo/c"),
        ("empty", "not a run (it lacks scene.toml or journal.jsonl); `minusgrad run` makes one"),
    ],
)
def test_a_path_that_is_no_run_is_told_what_it_is(path: str, said: str) -> None:
    for name, written in (("runs/a", 2), ("runs/b", 3), ("runs/demo/c", 1)):
        as_run(name, written)
    Path("film.webp").write_text("")
    Path("empty").mkdir()
    with pytest.raises(RunFolderError) as caught:
        RunDir.open(Path(path))
    assert str(caught.value) == f"{path}: {said}"
