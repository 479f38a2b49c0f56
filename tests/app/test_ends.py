"""Runs that end from outside or cannot begin: closed terminals, threads, memory, Python without asserts."""

import os
import pty
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minusgrad.app import signals
from minusgrad.engine import runtime
from minusgrad.errors import RuntimeUnavailableError
from tests.support.command import MINUSGRAD, SCENES, last_saved, minusgrad

TWO_BODY = SCENES / "two_body.toml"


def test_a_closed_terminal_saves_the_run(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    command = [MINUSGRAD, "run", TWO_BODY, "run.steps=50000000", "checkpoint.every=1000", "--out", "run"]
    child = subprocess.Popen(
        list(map(str, command)), cwd=tmp_path, stdin=slave, stdout=slave, stderr=slave,
        preexec_fn=lambda: _take_terminal(slave),
    )  # fmt: skip
    os.close(slave)
    try:
        end = time.monotonic() + 60
        while last_saved(tmp_path / "run") < 1000 and time.monotonic() < end:
            time.sleep(0.05)
        os.close(master)
        assert child.wait(30) == 4
    finally:
        child.kill()
    assert '"event": "interrupted"' in (tmp_path / "run" / "journal.jsonl").read_text()


def _take_terminal(descriptor: int) -> None:
    import fcntl
    import termios

    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # one that is ignored, as below `nohup`, is inherited so
    os.setsid()
    fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)


def test_nohup_keeps_a_run(tmp_path: Path) -> None:
    script = (
        "import signal, os\n"
        "from minusgrad.app.signals import stop_requests\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with stop_requests() as asked:\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    print(asked())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("False\n", 0)


def test_more_threads_than_a_machine_can_use_are_refused(tmp_path: Path) -> None:
    done = minusgrad("run", TWO_BODY, "runtime.threads=100000", "--out", tmp_path / "run")
    most = max(256, 4 * (os.cpu_count() or 1))
    assert done.returncode == 2
    assert done.stderr == (
        f"override 'runtime.threads=100000': runtime.threads: needs at most {most} threads on this"
        f" machine of {os.cpu_count()} cores, got 100000; leave it out, which takes one for each core\n"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.unit
def test_the_bound_of_threads_grows_with_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime.refuse_many_threads(256)
    monkeypatch.setattr(runtime.os, "cpu_count", lambda: 1000)
    runtime.refuse_many_threads(4000)
    with pytest.raises(RuntimeUnavailableError, match="at most 4000 threads on this machine of 1000 cores"):
        runtime.refuse_many_threads(4001)


@pytest.mark.parametrize("error", [RuntimeError("Resource temporarily unavailable"), MemoryError()])
def test_an_engine_that_lacks_threads_or_memory_says_so(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime._Running, "options", None)
    monkeypatch.setattr(runtime, "_init_engine", lambda ti, options: (_ for _ in ()).throw(error))
    with pytest.raises(RuntimeUnavailableError) as raised:
        runtime.start(runtime.Options())
    assert str(raised.value).startswith("the engine does not start: ")
    assert "ulimit -a" in str(raised.value)
    assert "not available" not in str(raised.value)


@pytest.mark.parametrize("megabytes", [400])
def test_without_memory_there_is_one_message(megabytes: int, tmp_path: Path) -> None:
    limit = megabytes << 20
    done = subprocess.run(
        [str(MINUSGRAD), "run", str(TWO_BODY), "--out", str(tmp_path / "run")],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode in (2, 3)
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "ulimit -v" in done.stderr


@pytest.mark.parametrize("level", ["1", "2"])
def test_a_scene_runs_with_python_without_asserts_and_docstrings(level: str, tmp_path: Path) -> None:
    done = minusgrad("run", TWO_BODY, "run.steps=20", "--out", tmp_path / "run", PYTHONOPTIMIZE=level)
    assert (done.returncode, done.stderr) == (0, "")
    plain = minusgrad("compare", tmp_path / "run", tmp_path / "run", PYTHONOPTIMIZE=level)
    assert plain.returncode == 0, plain.stderr


def test_a_signal_of_a_program_around_python_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python cannot put such a handler back: it shows it as None."""
    shown = signal.getsignal
    monkeypatch.setattr(signals.signal, "getsignal", lambda s: None if s == signal.SIGTERM else shown(s))
    with signals.stop_requests() as requests:
        assert shown(signal.SIGTERM) != requests.note
        assert shown(signal.SIGINT) == requests.note
