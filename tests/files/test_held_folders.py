"""Folders of runs: nothing below them is reached through a link, with descriptors and without."""

import contextlib
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from minusgrad.errors import FolderGoneError, RunFolderError, UserError
from minusgrad.files import checkpoint, durable, trajectory
from minusgrad.files.held import entered_folder, held_folders, journals
from minusgrad.files.held.json_text import DEEPEST, TooDeepError, parse_json
from minusgrad.files.run_folder import RunDir
from tests.support import long_runs

pytestmark = pytest.mark.unit


@pytest.fixture(params=["descriptors", "paths"])
def system(request, monkeypatch) -> str:
    """A system with calls relative to descriptors, and one without."""
    if request.param == "paths":
        monkeypatch.setattr(entered_folder, "RELATIVE", False)
    return request.param


@pytest.fixture
def run(tmp_path) -> Path:
    """A folder of a run, and files of somebody else beside it."""
    (tmp_path / "run" / "below").mkdir(parents=True)
    (tmp_path / "run" / "below" / "plain").write_bytes(b"mine")
    (tmp_path / "run" / "plain").write_bytes(b"mine")
    (tmp_path / "other" / "below").mkdir(parents=True)
    (tmp_path / "other" / "plain").write_bytes(b"theirs")
    (tmp_path / "other" / "below" / "plain").write_bytes(b"theirs")
    held_folders.own_folder(tmp_path / "run")
    return tmp_path / "run"


def _socket(path: Path) -> None:
    there = Path.cwd()
    os.chdir(path.parent)  # a path of a socket has 108 bytes at most
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(there)


STRANGE: dict[str, Callable[[Path], None]] = {
    "a link": lambda path: path.symlink_to(path.parents[1] / "other" / "plain"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to nothing": lambda path: path.symlink_to(path.parents[1] / "nothing"),
    "a FIFO": os.mkfifo,
    "a socket": _socket,
}
USES: dict[str, Callable[[Path], object]] = {
    "opened": held_folders.open_file,
    "read": held_folders.read_file,
    "status": held_folders.status,
    "is_file": held_folders.is_file,
    "is_folder": held_folders.is_folder,
    "appended": lambda path: durable.append_line(path, "x"),
    "locked": journals.lock_journal,
    "emptied": durable.empty_file,
    "verified": lambda path: durable.verified_bytes(path),
    "make": held_folders.make,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_regular_file_is_refused_by_name(system, run, kind, use):
    STRANGE[kind](run / "0.0123456789abcdef.h5")
    what = " ".join(kind.split()[:2])
    with pytest.raises(RunFolderError, match=f"'0.0123456789abcdef.h5' must be .* got {what}; "):
        USES[use](run / "0.0123456789abcdef.h5")
    assert _others(run) == {"plain": b"theirs", "below/plain": b"theirs"}


@pytest.mark.parametrize("use", [*USES, "names", "written", "removed", "swept", "remove_tree"])
def test_a_folder_that_is_a_link_leads_nowhere(system, run, use):
    (run / "link").symlink_to(run.parent / "other" / "below")
    (run.parent / "other" / "below" / ".tmp-a").write_bytes(b"theirs")
    uses = USES | {
        "names": lambda path: held_folders.names(path.parent),
        "written": lambda path: durable.replace(path, b"mine"),
        "removed": durable.remove,
        "swept": lambda path: durable.sweep(path.parent),
        "remove_tree": held_folders.remove_tree,
    }
    with pytest.raises(RunFolderError, match=r"'link' must be a regular file or folder, got a link; copy"):
        uses[use](run / "link" / "0.0123456789abcdef.h5")
    theirs = {"plain": b"theirs", "below/plain": b"theirs", "below/.tmp-a": b"theirs"}
    assert _others(run) == theirs


def _others(run: Path) -> dict[str, bytes]:
    other = run.parent / "other"
    return {str(p.relative_to(other)): p.read_bytes() for p in other.rglob("*") if p.is_file()}


def test_a_link_itself_can_be_replaced_and_deleted_and_its_target_stays(system, run):
    for name in ("replaced", "deleted", "tree"):
        (run / name).symlink_to(run.parent / "other" / "plain")
    durable.replace(run / "replaced", b"new")
    durable.remove(run / "deleted")
    held_folders.remove_tree(run / "tree")
    assert (run / "replaced").read_bytes() == b"new"
    assert not (run / "replaced").is_symlink()
    assert not os.path.lexists(run / "deleted")
    assert not os.path.lexists(run / "tree")
    assert _others(run)["plain"] == b"theirs"


def test_the_folder_of_a_run_may_be_reached_through_a_link(system, run):
    (run.parent / "way").symlink_to(run)
    held_folders.own_folder(run.parent / "way")
    assert held_folders.read_file(run.parent / "way" / "below" / "plain") == b"mine"
    held_folders.examine(run.parent / "way")


def test_a_users_own_file_elsewhere_may_be_a_link(system, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    assert held_folders.read_file(tmp_path / "link") == b"x"
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(RunFolderError, match="got a FIFO"):
        held_folders.read_file(tmp_path / "fifo")


@pytest.mark.parametrize("name", ["../other/plain", "below/../../other/plain"])
def test_a_name_that_leads_out_is_refused(system, run, name):
    with pytest.raises(RunFolderError, match=r"leads out of its folder by '\.\.'"):
        held_folders.read_file(run / name)


def test_a_name_with_control_characters_is_escaped_in_the_message(run):
    (run / "a\x1b[31m\nb").symlink_to("plain")
    with pytest.raises(RunFolderError) as error:
        held_folders.examine(run)
    assert "a\\x1b[31m\\nb" in str(error.value)
    assert str(error.value).isprintable()


def test_a_file_exchanged_for_a_link_after_the_look_is_not_followed(run, monkeypatch):
    """The race: between a look and the opening; each system has its own way to see it."""
    for relative in (True, False):
        monkeypatch.setattr(entered_folder, "RELATIVE", relative)
        real = os.open

        def exchanged(name, flags, *rest, real=real, **options):
            if str(name).endswith("plain"):
                (run / "plain").unlink()
                (run / "plain").symlink_to(run.parent / "other" / "plain")
            return real(name, flags, *rest, **options)

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", exchanged)
            if not relative:
                patch.setattr(entered_folder, "_NOFOLLOW", 0)
            with pytest.raises(RunFolderError, match="'plain' must be a regular file or folder, got a link"):
                held_folders.read_file(run / "plain")
        (run / "plain").unlink()
        (run / "plain").write_bytes(b"mine")


def test_a_folder_that_is_held_stays_the_same_when_another_takes_its_place(tmp_path):
    run = tmp_path / "run"
    with long_runs.started(run) as folder:
        run.rename(tmp_path / "moved")
        (tmp_path / "precious" / "ckpt").mkdir(parents=True)
        (tmp_path / "precious" / "ckpt" / "0.txt").write_bytes(b"theirs")
        run.symlink_to(tmp_path / "precious")
        folder.save(long_runs.moment(5), None, 1)
    assert [p.name for p in (tmp_path / "precious").rglob("*") if p.is_file()] == ["0.txt"]
    assert [checkpoint.step_of(p) for p in checkpoint.list_checkpoints(tmp_path / "moved" / "ckpt")] == [5]


def _exchanged(run: Path) -> Path:
    """Another folder takes the place of one; returns where it is now."""
    run.rename(run.with_name("moved"))
    run.mkdir()
    return run.with_name("moved")


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("way", ["run", "link"])
def test_a_folder_is_held_until_the_last_of_its_holds_is_closed(tmp_path, first, way):
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to("run")
    holds = [held_folders.FolderHold(tmp_path / "run"), held_folders.FolderHold(tmp_path / way)]
    holds[not first].close()
    moved = _exchanged(tmp_path / "run")
    durable.replace(tmp_path / (way if first else "run") / "plain", b"mine")
    assert (os.listdir(moved), os.listdir(tmp_path / "run")) == (["plain"], [])
    holds[first].close()
    durable.replace(tmp_path / "run" / "plain", b"mine")
    assert os.listdir(tmp_path / "run") == ["plain"]


def test_a_second_writer_that_is_refused_does_not_let_the_folder_of_the_first_go(tmp_path):
    with long_runs.started(tmp_path / "run") as folder:
        with pytest.raises(RunFolderError, match="in use"):
            RunDir.open(tmp_path / "run")
        moved = _exchanged(tmp_path / "run")
        folder.save(long_runs.moment(5), None, 1)
    assert [checkpoint.step_of(p) for p in checkpoint.list_checkpoints(moved / "ckpt")] == [5]
    assert os.listdir(tmp_path / "run") == []


def test_a_run_whose_process_changes_its_working_folder_stays_where_it_is(tmp_path, monkeypatch):
    """Also where the new working folder has a run of that name."""
    _whole(tmp_path / "elsewhere" / "run")
    before = long_runs.files(tmp_path / "elsewhere" / "run")
    monkeypatch.chdir(tmp_path)
    with long_runs.started(Path("run")) as folder:
        assert folder.path == Path("run")
        monkeypatch.chdir(tmp_path / "elsewhere")
        folder.save(long_runs.moment(5), None, 1)
        assert folder.path == tmp_path / "run"
        durable.replace(folder.path / "fit.json", b"{}")
        shutil.rmtree(tmp_path / "run" / "ckpt")
        with pytest.raises(FolderGoneError, match=f"^{tmp_path}/run/ckpt: was deleted while"):
            folder.save(long_runs.moment(6), None, 1)
        monkeypatch.chdir(tmp_path)
        assert folder.path == Path("run")
    assert long_runs.files(tmp_path / "elsewhere" / "run") == before
    assert (tmp_path / "run" / "fit.json").is_file()


@pytest.mark.parametrize("below", ["", "ckpt"])
def test_a_deleted_folder_is_said_as_that(tmp_path, below):
    run = tmp_path / "run"
    folder = long_runs.started(run)
    shutil.rmtree(run / below)
    with pytest.raises(FolderGoneError, match="was deleted while it was written; what was saved in it is lo"):
        folder.save(long_runs.moment(5), None, 1)
    folder.close()


def test_a_segment_name_of_a_stranger_is_checked_before_it_is_used(tmp_path):
    run = tmp_path / "run"
    with long_runs.started(run) as folder:
        moment = long_runs.moment(3)
        for name in ("$(touch PWNED)\x1b]0;x\x07", "../../x.0123456789abcdef.h5", 7):
            bad = moment.__class__(3, 0.3, 0.1, moment.arrays, {}, {"interim": [name], "sealed": 0}, b"")
            checkpoint.save(run / "ckpt", bad, checkpoint.INTERIM)
            snapshot, remarks = folder.restore()
            assert snapshot.step == 0
            assert "names no segment" in remarks[0]
            assert all(line.isprintable() for line in remarks)
            held_folders.unlink(
                next(p for p in checkpoint.list_checkpoints(run / "ckpt") if checkpoint.step_of(p))
            )


def test_a_text_in_a_journal_is_bounded_and_has_no_control_characters(tmp_path):
    journals.append(tmp_path / "journal.jsonl", "x", text="\x1b[2J" + "a" * 10**6, of=[{"deep": "b" * 10**6}])
    line = (tmp_path / "journal.jsonl").read_text()
    assert len(line) < 3 * journals.LONGEST
    assert line[:-1].isprintable()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 101 + "]" * 101])
def test_deep_json_is_one_error(text):
    for data in (text, text.encode()):
        with pytest.raises(TooDeepError, match="nested deeper than 100"):
            parse_json(data)


def test_shallow_json_is_read_however_many_lists_it_has():
    assert parse_json("[" + ",".join(["[1]"] * 1_000) + "]") == [[1]] * 1_000
    assert parse_json("[" * DEEPEST + "]" * DEEPEST) is not None


def test_a_file_larger_than_the_memory_is_refused_before_it_is_read(run):
    with (run / "huge").open("wb") as file:
        file.truncate(1 << 42)
    with pytest.raises(UserError, match=r"huge: .* of memory needed"):
        held_folders.read_file(run / "huge")


def test_no_descriptor_is_left_open(run):
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    (run / "link").symlink_to("plain")
    for _ in range(3):
        for name in ("plain", "below/plain", "link", "nothing", "below"):
            for use in (held_folders.read_file, held_folders.names, held_folders.status):
                with contextlib.suppress(RunFolderError, OSError):
                    use(run / name)
    RunDir.open(_whole(run.parent / "whole"), read_only=True)
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def _whole(path: Path) -> Path:
    long_runs.started(path).close()
    return path


@pytest.fixture
def examined(tmp_path) -> Iterator[Path]:
    return _whole(tmp_path / "run")


@pytest.mark.parametrize("place", ["stray", "ckpt/stray", "traj/stray", "inputs/a/stray"])
@pytest.mark.parametrize("kind", ["a link", "a FIFO"])
def test_every_opening_refuses_a_strange_file_anywhere(examined, kind, place):
    (examined / place).parent.mkdir(parents=True, exist_ok=True)
    STRANGE[kind](examined / place)
    for read_only in (True, False):
        with pytest.raises(RunFolderError, match=f"'{place}' must be a regular file or folder, got {kind}; "):
            RunDir.open(examined, read_only)


def test_series_and_segments_are_not_read_through_links(tmp_path):
    one, two = _whole(tmp_path / "one"), tmp_path / "two"
    two.mkdir()
    (two / "traj").symlink_to(one / "traj")
    with pytest.raises(RunFolderError, match="'traj' must be a regular file or folder, got a link"):
        trajectory.names(two)


def test_mode_of_new_files_follows_the_mask(run):
    before = os.umask(0o027)
    try:
        durable.replace(run / "new", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((run / "new").stat().st_mode) == 0o640


def test_a_folder_above_need_not_be_listed():
    """Folders of others on a cluster often let one pass, and show no names: mode 0711."""
    with tempfile.TemporaryDirectory() as above:
        run = Path(above) / "run"
        run.mkdir()
        (run / "plain").write_bytes(b"mine")
        (Path(above) / "scene.toml").write_bytes(b"mine")
        os.chmod(above, 0o711)
        if not (child := os.fork()):
            try:
                os.seteuid(os.geteuid() or 65534)  # root may list every folder
                if os.geteuid() == os.stat(above).st_uid:
                    os.chmod(above, 0o311)
                seen = [held_folders.read_file(Path(above) / "scene.toml")]
                held_folders.own_folder(run)
                seen += [held_folders.read_file(run / "plain"), held_folders.is_folder(run)]
                os._exit(seen != [b"mine", b"mine", True])
            except BaseException:
                os._exit(2)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.chmod(above, 0o711)
        assert code == 0


def test_a_folder_of_ones_own_is_made_once_and_is_a_folder(tmp_path, system):
    held_folders.make(tmp_path / "a" / "b")
    held_folders.make(tmp_path / "a" / "b")
    (tmp_path / "plain").touch()
    with pytest.raises(NotADirectoryError, match="plain"):
        held_folders.make(tmp_path / "plain")
    (tmp_path / "linked").symlink_to(tmp_path / "a")
    held_folders.make(tmp_path / "linked" / "c")
    assert (tmp_path / "a" / "c").is_dir()
