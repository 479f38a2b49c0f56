"""Bounded reading: whatever a library does with a file ends in time, in bounds, and in one message."""

import importlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from minusgrad.assembly.registry import _imported
from minusgrad.errors import PluginError, UserError
from minusgrad.files.bounded import door, limits, plain_data
from minusgrad.plugin import bounded_read
from tests.support import greedy_readers as readers

pytestmark = pytest.mark.unit

CURE = "the file is damaged, or of another kind than its name says; save it again"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS", 1.0)
    monkeypatch.setattr(limits, "SPACE", 64 << 20)
    monkeypatch.setattr(limits, "PATIENCE", 1.0)


def test_a_result_arrives_as_it_was() -> None:
    found = bounded_read(readers.gives, "a.x", b"\0\xff", loads=("meshlane",), more=3)
    assert (found["file"], found["data"], found["more"]) == ("a.x", b"\0\xff", 3)
    square, none, truth = found["arrays"]
    np.testing.assert_array_equal(square, np.arange(6.0).reshape(2, 3))
    assert (square.dtype, square.flags.writeable) == (np.float64, True)
    assert (none.shape, none.dtype, truth.dtype) == ((0, 3), np.int32, bool)
    assert found["number"] == np.float32(0.1)
    assert found["numbers"] == [1, -0.0, 1e300, float("inf"), None, True]
    assert str(found["numbers"][1]) == "-0.0"
    assert found[""] == {"2": "é\x1b"}


def test_it_is_read_elsewhere_where_no_engine_runs() -> None:
    found = bounded_read(readers.gives, "a.x", b"", loads=("meshlane",))
    assert found["pid"] != os.getpid()
    assert found["loaded"] == ["meshlane"]
    assert found["threads"] == 1


@pytest.mark.parametrize(
    ("reader", "said"),
    [
        (readers.loops, f"'a.x': its reader did not end within 1 s; {CURE}"),
        (readers.hoards, f"'a.x': its reader needs more than 67.1 MB of memory; {CURE}"),
        (readers.aborts, f"'a.x': its reader was ended by SIGABRT; {CURE}"),
        (readers.exits, f"'a.x': cannot be read: SystemExit: said on its way; {CURE}"),
        (readers.raises, f"'a.x': cannot be read: IndexError: list index \\x1b[31m out of range; {CURE}"),
        (readers.refuses, "'a.x': has no cells; mesh it"),
        (readers.returns_code, "'a.x': cannot be read: TypeError: Object of type builtin_function_or_method"
         f" is not JSON serializable; {CURE}"),
        (readers.recurses, "'a.x': cannot be read: RecursionError: maximum recursion depth exceeded;"
         f" {CURE}"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)  # fmt: skip
def test_whatever_a_reader_does_is_one_message(reader, said: str) -> None:
    """And the next file is read."""
    with pytest.raises(UserError) as refused:
        bounded_read(reader, "a.x", b"")
    assert str(refused.value) == said
    assert bounded_read(readers.gives, "b.x", b"")["file"] == "b.x"


def test_a_reader_that_sleeps_is_ended_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS", 0.1)
    with pytest.raises(UserError, match=r"^'a\.x': its reader did not end within 0\.1 s; the file is"):
        bounded_read(readers.sleeps, "a.x", b"")
    assert bounded_read(readers.gives, "b.x", b"")["file"] == "b.x"


def test_a_server_that_is_killed_between_two_files_is_started_again() -> None:
    bounded_read(readers.gives, "a.x", b"")
    assert door._server is not None
    before = door._server.child.pid
    os.kill(before, signal.SIGKILL)
    assert bounded_read(readers.gives, "b.x", b"")["file"] == "b.x"
    assert door._server.child.pid != before


def test_the_child_keeps_them() -> None:
    """The address space beyond what the libraries have reserved; of computing, what the start took, too."""
    space, seconds = bounded_read(readers.gives, "a.x", b"")["limits"]
    assert 64 << 20 < space < 4 << 30
    assert 1 <= seconds < 60


def test_the_limits_grow_with_the_file() -> None:
    small, large = limits.of(0), limits.of(10_000_000)
    assert large.seconds - small.seconds == pytest.approx(10_000_000 / limits.BYTES_A_SECOND)
    assert large.space > small.space


def test_limits_are_of_the_child_alone() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_CPU)
    bounded_read(readers.gives, "a.x", b"")
    assert before == (resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_CPU))


@pytest.mark.parametrize(
    "damage", [b"", b"\0", b"\xff" * 8, b"\x02" + b"\0" * 7 + b"{}", b"\x01" + b"\0" * 7]
)
def test_a_damaged_answer_is_an_error_of_values(damage: bytes) -> None:
    with pytest.raises(ValueError, match=r"answer|Expecting"):
        plain_data.decode(damage)


def test_an_answer_is_no_array_of_objects() -> None:
    text = b'{"array": 0, "dtype": "|O", "shape": [1]}'
    with pytest.raises(ValueError, match="no array of numbers"):
        plain_data.decode(len(text).to_bytes(8, "little") + text + bytes(8))
    with pytest.raises(TypeError, match="arrays of object"):
        plain_data.encode(np.array([None]))


def test_the_child_ends_with_its_parent_and_imports_nothing_of_the_folder(tmp_path: Path) -> None:
    """A module of the current folder, such as one that came with a stranger's scene, is not run."""
    for name in ("json", "numpy", "select"):
        (tmp_path / f"{name}.py").write_text("import pathlib; pathlib.Path('RAN').touch()")
    script = tmp_path / "elsewhere" / "script.py"
    script.parent.mkdir()
    script.write_text(
        "import os, sys\nsys.path.append(sys.argv[1])\n"
        "from minusgrad.files.bounded import door\nfrom tests.support import greedy_readers\n"
        "found = door.bounded_read(greedy_readers.gives, 'a.x', b'')\n"
        "print(door._server.child.pid)\nos._exit(0)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-P", script, str(root)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    pid = int(done.stdout)
    deadline = time.monotonic() + 10.0
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(pid)
    assert not (tmp_path / "RAN").exists()


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without a server that was started before, or is left to other tests."""
    monkeypatch.setattr(door, "_server", None)
    yield
    if door._server is not None:
        door._server.end()


def test_the_reader_of_a_plugin_file_is_found_and_read_again(tmp_path: Path) -> None:
    """`--plugin FILE` gives a module that Python finds by no name; one that was edited is read as it is."""
    for number in (1, 2):
        file = tmp_path / "own_reader.py"
        file.write_text(f"def reads(file, data):\n    return [len(data), {number}]\n")
        assert bounded_read(_imported(file).reads, "a.x", b"123") == [3, number]


def _here(file: str, data: bytes) -> None: ...


def test_a_reader_that_no_other_process_imports_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is not to blame."""
    for reader in (lambda file, data: None, _here):
        monkeypatch.setattr(_here, "__module__", "__main__")
        with pytest.raises(
            PluginError, match=r"^bounded_read: a reader is a function at the top of a module, got"
        ):
            bounded_read(reader, "a.x", b"")


def test_a_relative_path_of_modules_and_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "read_beside.py").write_text("def reads(file, data):\n    return 7\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["lib", *sys.path])
    reads = importlib.import_module("read_beside").reads
    bounded_read(readers.gives, "a.x", b"")
    monkeypatch.chdir("/")
    assert bounded_read(reads, "a.x", b"") == 7


@pytest.mark.parametrize("program", ["", "/bin/true", "/bin/cat", "/nowhere/python"])
def test_a_program_without_python_is_said(program: str, monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    """An embedded or a frozen Python, whose `sys.executable` is another program. The file is not to blame."""
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(
        PluginError, match=rf"^'a\.x': is read in a process of Python.*got .*'{program}'; set"
    ):
        bounded_read(readers.gives, "a.x", b"")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(door.subprocess, "Popen", None)  # a frozen program would start itself
    with pytest.raises(PluginError, match="does not start"):
        bounded_read(readers.gives, "a.x", b"")


def test_libraries_that_start_slowly_take_nothing_of_a_files_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    """A cold network drive: the file is not to blame."""
    (tmp_path / "slow_library.py").write_text("import time\ntime.sleep(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(limits, "PATIENCE", -2.0)  # two seconds on the clock
    assert bounded_read(readers.gives, "a.x", b"", loads=("slow_library",))["file"] == "a.x"
    monkeypatch.setattr(door, "START", 0.5)
    (tmp_path / "slower_library.py").write_text("import time\ntime.sleep(60)\n")
    with pytest.raises(PluginError, match="does not start"):
        bounded_read(readers.gives, "a.x", b"", loads=("slower_library",))


def test_patience_is_beyond_the_time_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flat picture of many pixels has few bytes: the reader allows itself more when it has the header."""
    monkeypatch.setattr(limits, "PATIENCE", -3.5)  # half a second on the clock
    with pytest.raises(UserError, match="did not end"):
        bounded_read(readers.rests, "a.x", b"")
    assert bounded_read(readers.rests, "a.x", b"", patience=20.0) == "rested"


def test_a_fork_and_signals_that_are_ignored() -> None:
    """A fork while another thread reads; a batch system that ignores the end of children."""
    script = """
import os, signal
from minusgrad.files.bounded import door
from tests.support import greedy_readers as readers
for name in ("SIGCHLD", "SIGXCPU"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
assert door.bounded_read(readers.gives, "a.x", b"")["file"] == "a.x"
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
with door._lock:
    if not (pid := os.fork()):
        signal.alarm(20)
        os._exit(door.bounded_read(readers.gives, "b.x", b"")["file"] != "b.x")
assert os.waitpid(pid, 0)[1] == 0
assert door.bounded_read(readers.gives, "c.x", b"")["file"] == "c.x"
"""
    root = Path(__file__).parents[2]
    env = os.environ | {"PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_one_process_with_its_libraries_serves_many_files() -> None:
    """Python and a library start once: a further file costs a fork."""
    served = set()
    for _ in range(10):
        bounded_read(readers.gives, "a.x", b"", loads=("meshlane",))
        served.add(door._server and door._server.child.pid)
    assert len(served) == 1
    assert None not in served
