"""Run folders of strangers: every verb refuses links and FIFOs, nothing elsewhere changes, texts end."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad.app import runs
from minusgrad.app.jobs import job_runs
from minusgrad.errors import RunFolderError
from minusgrad.files import checkpoint
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.held import journals
from minusgrad.files.held.json_text import DEEPEST
from tests.support import long_runs
from tests.support.command import SCENES
from tests.support.tiers import sampled

SCENE = SCENES / "two_body.toml"
SHORT = {"run.steps": 40, "checkpoint.every": 10, "observe.0.every": 5}
PLACES = ["journal.jsonl", "ckpt", "traj", "pictures", "scene.toml", "overrides.json", "trajectory.h5"]
PLACES += ["inputs", "fit.json", "fit.csv", "ckpt/x", "traj/x", "source/x"]
VERBS: dict[str, list[str]] = {
    "info": ["info", "run"],
    "verify": ["verify", "run"],
    "resume": ["resume", "run"],
    "plot": ["plot", "run"],
    "movie": ["movie", "run"],
    "view": ["view", "run", "--save", "page.html"],
    "export csv": ["export", "run"],
    "export xyz": ["export", "run", "--format", "xyz"],
    "export vtu": ["export", "run", "--format", "vtu"],
    "export pdb": ["export", "run", "--format", "pdb"],
    "export dcd": ["export", "run", "--format", "dcd", "--out", "frames.dcd"],
    "export --table": ["export", "run", "--table"],
    "export --member": ["export", "run", "--member", "0"],
    "compare": ["compare", "run", "whole"],
    "compare with": ["compare", "whole", "run"],
    "modes": ["modes", "run"],
    "buckling": ["buckling", "run"],
    "elastic": ["elastic", "run"],
    "run --force": ["run", str(SCENE), "--out", "run", "--force"],
    "run --fitted": ["run", str(SCENE), "--out", "new", "--fitted", "run"],
    "run from": ["run", "from.toml", "--out", "new"],
}
FROM = '[initial]\nrun = "run"\n'
KINDS = {"a link": "got a link", "a FIFO": "got a FIFO"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return runs.run(SCENE, SHORT, tmp_path_factory.mktemp("made") / "run").folder


def _trap(made: Path, kind: str, place: str) -> None:
    """The run of a stranger: `place` is not what it seems to be; the victim's files lie beside it."""
    shutil.copytree(made, "run")
    shutil.copytree(made, "whole")
    Path("from.toml").write_text(SCENE.read_text() + FROM)
    target, path = Path("precious") / place, Path("run") / place
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.rename(target)
    elif "." in place or "/" in place:
        target.write_text("# start-up file of a shell\n")
    else:
        target.mkdir()
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(target.absolute()) if kind == "a link" else os.mkfifo(path)


def _contents(folder: str) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(Path(folder).rglob("*")) if p.is_file()}


ROWS = [(kind, place) for kind in KINDS for place in PLACES]
IN_SHORT = [*[("a link", place) for place in ("journal.jsonl", "ckpt", "pictures")], ("a FIFO", "fit.csv")]


@pytest.mark.parametrize("row", sampled(ROWS, IN_SHORT), ids="-".join)
def test_every_verb_refuses_it_by_name_and_touches_nothing(made, invoke, row):
    kind, place = row
    _trap(made, kind, place)
    before, lines = _contents("precious"), Path("run/journal.jsonl")
    journal = lines.read_bytes() if lines.is_file() and not lines.is_symlink() else b""
    for name, arguments in VERBS.items():
        code, _, err = invoke(*arguments)
        if (
            name != "run --force" or place == "journal.jsonl"
        ):  # else it deletes what is there, of a link the link
            assert code == 2, (name, err)
            assert f"'{place}' must be a regular file or folder, {KINDS[kind]}" in err, (name, err)
            assert err.count("\n") <= 2, (name, err)
        assert _contents("precious") == before, name
        if name != "run --force":
            assert not journal or lines.read_bytes() == journal, name
        shutil.rmtree("run")
        shutil.rmtree("whole")
        shutil.rmtree("precious")
        _trap(made, kind, place)
    assert _contents("precious") == before


def test_what_the_stranger_calls_rows_reaches_no_file_and_no_terminal(made, invoke):
    """The attack of `journal.jsonl -> ~/.bashrc` with a command as the name of a segment."""
    shutil.copytree(made, "run")
    newest = checkpoint.list_checkpoints(Path("run/ckpt"))[-1]
    found = checkpoint.load(newest)
    meta = found.meta | {"interim": ["$(touch PWNED)"], "title": "\x1b]0;owned\x07\x1b[2J" + "x" * 10**5}
    bad = Snapshot(50, 0.5, found.dt, found.arrays, found.units, meta, found.scene)
    checkpoint.save(Path("run/ckpt"), bad, checkpoint.INTERIM)
    home = Path("bashrc")
    home.write_text("# mine\n")
    shutil.move("run/journal.jsonl", "kept")
    Path("run/journal.jsonl").symlink_to("../bashrc")
    assert invoke("resume", "run")[0] == 2
    assert home.read_text() == "# mine\n"
    Path("run/journal.jsonl").unlink()
    shutil.move("kept", "run/journal.jsonl")
    for verb in ("info", "verify", "resume"):
        _, out, err = invoke(verb, "run")
        assert "\x1b" not in out + err
        assert "\x07" not in out + err
        assert len(max((out + err).split("\n"), key=len)) < 3_000
    assert "touch PWNED" not in Path("run/journal.jsonl").read_text().replace("'$(touch PWNED)' names no", "")


@pytest.mark.parametrize("where", ["overrides.json", "journal.jsonl"])
@pytest.mark.parametrize("verb", ["info", "verify", "resume"])
def test_deep_json_of_a_stranger_is_one_message(made, invoke, verb, where):
    shutil.copytree(made, "run")
    with Path("run", where).open("w" if where == "overrides.json" else "a") as file:
        file.write("[" * 100_000 + "\n")
    code, out, err = invoke(verb, "run")
    if (verb, where) == ("info", "overrides.json"):  # not read
        assert code == 0
    elif (verb, where) == ("verify", "overrides.json"):
        assert code == 1
        assert "not those of the checkpoints, or damaged" in out
    else:
        assert (code, err.count("\n")) == (2, 1)
        assert f"nested deeper than {DEEPEST}" in err


@pytest.mark.parametrize("where", ["journal", "sealed", "scene.run", "plugins", "atoms"])
def test_facts_of_another_kind_are_one_message(made, invoke, where):
    """Of every verb: in the newest line of the journal, and in the newest checkpoint."""
    shutil.copytree(made, "run")
    shutil.copytree(made, "whole")
    Path("from.toml").write_text(SCENE.read_text() + FROM)
    newest = checkpoint.list_checkpoints(Path("run/ckpt"))[-1]
    found = checkpoint.load(newest)
    if where == "journal":
        with Path("run/journal.jsonl").open("a") as file:
            file.write('{"event": "saved", "step": 1e400}\n')
    else:
        table, _, name = where.rpartition(".")
        (found.meta[table] if table else found.meta)[name] = [1]
        newest.unlink()
        checkpoint.save(Path("run/ckpt"), found)
    said = f"'{'step' if where == 'journal' else where}' must be a "
    for verb, arguments in VERBS.items():
        if verb == "run --force" or (where == "journal" and verb not in ("info", "verify", "resume")):
            continue
        code, out, err = invoke(*arguments)
        assert "Traceback" not in err, (verb, err)
        if verb in ("info", "verify", "resume"):
            assert said in out + err, (verb, out, err)
            assert code == (
                0
                if verb == "info" and where != "journal"
                else 1
                if verb == "verify" and where != "journal"
                else 2
            )


def test_a_failure_of_a_stranger_shows_no_control_characters(made, invoke):
    shutil.copytree(made, "run")
    journals.append(Path("run/journal.jsonl"), "failed", error="\x1b[31mred\u202e\nline")
    _, out, _ = invoke("info", "run")
    assert "\\x1b[31mred\\u202e" in out
    assert "\x1b" not in out


def test_a_title_is_one_line_of_two_hundred_characters(made, invoke):
    shutil.copytree(made, "run")
    found = checkpoint.load(checkpoint.list_checkpoints(Path("run/ckpt"))[-1])
    meta = found.meta | {"title": "a\n8 files verified, 0 wrong " + "x" * 10_000}
    moment = Snapshot(50, 0.5, found.dt, found.arrays, found.units, meta, found.scene)
    checkpoint.save(Path("run/ckpt"), moment)
    _, out, _ = invoke("info", "run")
    assert "a\\n8 files verified" in out
    assert max(map(len, out.split("\n"))) < 300


@pytest.mark.parametrize("below", ["", "traj"])
def test_a_folder_that_is_deleted_during_a_run_is_said_as_that(invoke, below, monkeypatch):
    from minusgrad.files.run_folder import RunDir

    save, count = RunDir.save, iter(range(100))

    def deleting(folder, *arguments, **options):
        if next(count) == 2:
            shutil.rmtree(folder.path / below)
        return save(folder, *arguments, **options)

    monkeypatch.setattr(RunDir, "save", deleting)
    code, _, err = invoke("run", SCENE, "--out", "gone", "run.steps=40", "checkpoint.every=10")
    assert code == 3
    assert "was deleted while it was written; what was saved in it is lost" in err
    assert "intact" not in err
    assert "resume" not in err


def test_a_fault_before_the_first_save_does_not_advise_to_resume(invoke, monkeypatch):
    monkeypatch.setattr(os, "posix_fallocate", _full)
    code, _, err = invoke("run", SCENE, "--out", "full", "run.steps=40")
    assert code == 3
    assert "No space left on device; nothing has been saved yet; repair the disk" in err
    assert "resume" not in err
    assert "intact" not in err


def _full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_run_begun_elsewhere_is_read_through_a_link_to_its_folder(made, invoke):
    Path("way").symlink_to(made)
    assert invoke("info", "way")[0] == 0
    assert invoke("verify", "way")[0] == 0
    assert invoke("export", "way", "total")[0] == 0


def test_a_start_from_the_folder_of_a_stranger_reads_no_link(tmp_path: Path) -> None:
    long_runs.started(tmp_path / "one").close()
    (tmp_path / "one" / "inputs").symlink_to(tmp_path)
    with pytest.raises(RunFolderError, match="'inputs' must be a regular file or folder, got a link"):
        job_runs.resume(tmp_path / "one")


def test_a_sweep_writes_into_no_linked_point(invoke: Callable, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('[vary]\n"stepper.dt" = { grid = [0.005, 0.01] }\n')
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "mine").write_text("mine")
    line = ["sweep", SCENE, "plan.toml", "--out", "s", "--workers", "0", "run.steps=3"]
    assert invoke(*line)[0] == 0
    shutil.rmtree("s/points/0001")
    (tmp_path / "s/points/0001").symlink_to(tmp_path / "precious")
    Path("s/points/0001.json").unlink()
    code, out, err = invoke(*line)
    assert code != 0
    assert "got a link" in out + err
    assert [p.name for p in (tmp_path / "precious").iterdir()] == ["mine"]
