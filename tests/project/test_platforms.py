"""Windows and macOS, as far as Linux can show them: calls that are not there, locks, flushing, renaming,
names, text.

`docs/inside/platforms.md` says what differs. What only a machine of that system shows is run by
`.github/workflows/tests.yml`.
"""

import ast
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from minusgrad.files import durable
from minusgrad.files.hashes import block_hashes
from minusgrad.files.held import held_folders, journals, system_calls
from minusgrad.plot import picture_files
from tests.support.command import files, minusgrad
from tests.support.pretended_windows import NO_CALLS, NO_MODULES

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "framework").rglob("*.py"), *(ROOT / "plugins").glob("minusgrad_*/**/*.py")])
NOT_ON_WINDOWS = {
    *NO_CALLS,
    "SIGKILL",
    "SIGHUP",
    "SIGALRM",
    "SIGCHLD",
    "SIGXCPU",
    "SIGUSR1",
    "setitimer",
    "uname",
}
GUARDED = {
    "files/bounded/process.py": {"fork"},  # FORKS
    "files/bounded/door.py": {"killpg", "SIGKILL"},  # os.name
}
"""Calls that another line keeps from Windows than a `hasattr` or an ImportError of the same function."""


# Source -----------------------------------------------------------------------------------------------------


def parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    return {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}


def above(node: ast.AST, up: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while node in up:
        yield (node := up[node])


def unguarded(source: str) -> list[str]:
    """Modules and calls of POSIX that a source uses without asking whether they are there."""
    tree = ast.parse(source)
    up, found = parents(tree), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            tried = any(isinstance(one, ast.Try) for one in above(node, up))
            module_level = not any(isinstance(one, ast.FunctionDef) for one in above(node, up))
            found += [name for name in names if name in NO_MODULES and module_level and not tried]
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("os", "signal")
        ):
            functions = [one for one in above(node, up) if isinstance(one, ast.FunctionDef | ast.If)]
            asked = any(f'"{node.attr}"' in (ast.get_source_segment(source, one) or "") for one in functions)
            if node.attr in NOT_ON_WINDOWS and not asked:
                found.append(node.attr)
    return found


@pytest.mark.unit
def test_nothing_of_posix_is_used_unasked() -> None:
    found = {}
    for path in SOURCES:
        allowed = next((names for end, names in GUARDED.items() if path.as_posix().endswith(end)), set())
        if wrong := [name for name in unguarded(path.read_text()) if name not in allowed]:
            found[path.relative_to(ROOT).as_posix()] = wrong
    assert found == {}


@pytest.mark.unit
def test_that_test_can_fail() -> None:
    assert unguarded("import fcntl\n") == ["fcntl"]
    assert unguarded("import os\ndef f(d):\n    return os.pread(d, 1, 0)\n") == ["pread"]
    assert unguarded(
        "import os\ndef f(d):\n    if hasattr(os, 'x'):\n        return os.pread(d, 1, 0)\n"
    ) == ["pread"]
    assert (
        unguarded('import os\ndef f(d):\n    return os.pread(d, 1, 0) if hasattr(os, "pread") else b""\n')
        == []
    )


def without_encoding(source: str) -> list[int]:
    """Lines that read or write text in the encoding of the system, which is not UTF-8 on Windows."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        given = {keyword.arg for keyword in node.keywords}
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        text = name in ("write_text", "TextIOWrapper") or (name == "read_text" and not node.args)
        text |= bool(given & {"text", "universal_newlines"}) and name in ("run", "Popen", "check_output")
        modes = [
            one.value for one in node.args[:2] if isinstance(one, ast.Constant) and isinstance(one.value, str)
        ]
        text |= name == "open" and isinstance(node.func, ast.Name) and not any("b" in mode for mode in modes)
        if text and "encoding" not in given:
            found.append(node.lineno)
    return found


@pytest.mark.unit
def test_text_has_an_encoding() -> None:
    assert without_encoding(
        "p.write_text(x)\np.read_text()\nopen(p)\nopen(p, 'rb')\np.read_text(encoding='utf-8')"
    ) == [1, 2, 3]
    found = {path.relative_to(ROOT).as_posix(): without_encoding(path.read_text()) for path in SOURCES}
    assert {name: lines for name, lines in found.items() if lines} == {}


# Calls ------------------------------------------------------------------------------------------------------


@pytest.mark.unit
def test_macos_flushes_the_cache_of_the_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    mac = SimpleNamespace(
        F_FULLFSYNC=51,
        fcntl=lambda d, call: asked.append(call),
        flock=lambda d, how: None,
        LOCK_EX=2,
        LOCK_NB=4,
    )
    monkeypatch.setattr(system_calls, "fcntl", mac)
    monkeypatch.setattr(os, "fsync", lambda d: asked.append("fsync"))
    durable.write_new(tmp_path, "a", b"hello")
    assert asked == [51, 51]

    def unknown(descriptor: int, call: int) -> None:
        raise OSError(errno.ENOTSUP, "a file system of a network")

    mac.fcntl, asked[:] = unknown, []
    durable.write_new(tmp_path, "b", b"hello")
    assert asked == ["fsync", "fsync"]


@pytest.mark.unit
def test_windows_renames_once_a_reader_has_closed_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_calls, "OPEN_NAMES_STAY", True)
    pauses: list[float] = []
    monkeypatch.setattr(system_calls, "sleep", pauses.append)
    real = os.replace

    def in_use(*paths: str, **folders: int) -> None:
        if len(pauses) < readers:
            raise PermissionError(errno.EACCES, "in use")
        real(*paths, **folders)

    monkeypatch.setattr(os, "replace", in_use)
    readers = 3
    durable.replace(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert pauses == [*system_calls.PAUSES[:3]]
    readers = 99
    with pytest.raises(Exception, match="cannot be written: in use"):
        durable.replace(tmp_path / "a", b"newer")
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.unit
def test_a_place_is_read_without_pread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = durable.write_new(tmp_path, "a", bytes(range(200)) * 100)
    with held_folders.stream(path) as file:
        expected = block_hashes.of_file(file)
    monkeypatch.delattr(os, "pread")
    with held_folders.stream(path) as file:
        assert file.read(3) == b"\x00\x01\x02"
        assert block_hashes.of_file(file) == expected
        assert system_calls.read_at(file.fileno(), 2, 5) == b"\x05\x06"
        assert file.read(2) == b"\x03\x04"


@pytest.mark.unit
def test_names_of_files_differ_on_every_system() -> None:
    stems = ["u", "U", "con", "Aux.x", "com1", "u_", "common", "U"]
    found = picture_files.distinct_stems(stems)
    assert found == ["u", "U_", "con_", "Aux_.x", "com1_", "u__", "common", "U___"]
    assert len({one.lower() for one in found}) == len(found)


# A Windows that is pretended
# ----------------------------------------------------------------------------------


def pretended(*commands: str, cwd: Path) -> list[int]:
    """The exit codes of commands, in one process that sees a Windows."""
    call = [sys.executable, "-X", "warn_default_encoding", "-m", "tests.support.pretended_windows"]
    call += " + ".join(commands).split()
    path = os.pathsep.join(map(str, (ROOT / "framework", ROOT / "plugins", ROOT)))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(call, cwd=cwd, env=environment, capture_output=True, encoding="utf-8")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stdout + done.stderr
    return [int(code) for code in done.stdout.splitlines()[-1].split()]


def test_runs_are_written_resumed_and_drawn_there_with_the_same_bytes(tmp_path: Path) -> None:
    few = "two_body run.steps=200"
    assert minusgrad("run", *few.split(), "--out", "here", cwd=tmp_path).returncode == 0
    cut = f"run {few} --max-hours 1e-9 --out there"
    rest = ("resume there", "verify there", "plot there", "export there --out there.csv")
    assert pretended(cut, *rest, cwd=tmp_path) == [4, 0, 0, 0, 0]
    assert (tmp_path / "there/pictures/orbits.png").is_file()
    shutil.rmtree(tmp_path / "there/pictures")
    assert files(tmp_path / "there") == files(tmp_path / "here")
    assert b"\r" not in (tmp_path / "there.csv").read_bytes()


def test_a_journal_is_locked_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By another descriptor of one process, which `msvcrt.locking` refuses as it refuses another process."""
    import fcntl

    locked: set[int] = set()

    def locking(descriptor: int, mode: int, count: int) -> None:
        assert (mode, count, os.lseek(descriptor, 0, os.SEEK_CUR)) == (2, 1, system_calls.FAR)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locked.add(descriptor)

    monkeypatch.setattr(system_calls, "fcntl", None)
    monkeypatch.setattr(system_calls, "_msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    journal = tmp_path / "journal.jsonl"
    held = journals.lock_journal(journal)
    journals.append(journal, "begun", pid=7)
    assert journals.is_locked(journal)
    with pytest.raises(Exception, match="is in use by process 7"):
        journals.lock_journal(journal)
    os.close(held)
    assert not journals.is_locked(journal)
    assert [event["event"] for event in journals.events(journal)] == ["begun"]
