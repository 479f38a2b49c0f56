"""Bounded reading from the parent's side: the child process is started, asked, and ended where it is late.

Decisions 0096.
"""

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from ...engine import memory
from ...errors import PluginError, UserError, printable
from . import limits, plain_data
from .process import FORKS, READY, receive_message, send

CURE = "the file is damaged, or of another kind than its name says; save it again"
START = 300.0
"""Seconds on the clock for Python and the libraries to start: from a cold network drive it takes minutes."""
_lock = Lock()
_server: "_Child | None" = None


def _renew_lock() -> None:
    """In a fork of this process: a thread that held the lock is not there to release it."""
    global _lock
    _lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def bounded_read(
    reader: Callable[..., Any],
    file: str,
    data: bytes,
    loads: Sequence[str] = (),
    seconds: float = 0.0,
    space: int = 0,
    patience: float = 0.0,
    **options: Any,
) -> Any:
    """`reader(file, data, **options)`, called in a child process within limits of time and memory.

    reader: a function at the top of a module, or of a plugin file, that starts no engine. It returns arrays,
    numbers, texts, bytes, lists and dictionaries of these; tuples arrive as lists. loads: modules of
    libraries that it imports: the child imports them once. seconds of computing and space, bytes of address
    space, are added to the limits for a file of this size (`limits.of`), patience to the time on the clock:
    for computing that the reader allows itself (`limits.allow_seconds`).
    The first file takes about as long as Python and the libraries take to start, another one 10 ms.

    Raises `UserError` that begins with the file: with the text of the reader's own one, for any other
    exception of the reader, and where it is too slow, needs too much memory, or ends its process. Raises
    `PluginError` for a reader that no other process can import, and where no process can be started.
    """
    usual = limits.of(len(data))
    kept = limits.Limits(usual.seconds + seconds, usual.space + space)
    asked = {
        "module": reader.__module__,
        "name": reader.__name__,
        "source": _reader_file(reader),
        "loads": list(loads),
        "file": file,
        "data": data,
        "options": options,
        "seconds": kept.seconds,
        "space": kept.space,
        "path": _search_path(),
    }
    answer = _ask_child(plain_data.encode(asked), kept.wall + patience)
    if "unstarted" in answer:
        raise PluginError(
            f"'{printable(file)}': is read in a process of Python, which does not start, got sys.executable"
            f" {sys.executable!r}; set sys.executable to a Python that imports minusgrad"
        )
    if "result" in answer:
        return answer["result"]
    if "refused" in answer:
        raise UserError(answer["refused"])
    raise UserError(f"'{printable(file)}': {_failure_reason(answer, kept)}; {CURE}")


def _reader_file(reader: Callable[..., Any]) -> str:
    """The file of the reader's module. Raises `PluginError` where another process cannot import it."""
    module = sys.modules.get(reader.__module__)
    source = getattr(module, "__file__", None)
    is_found = getattr(module, reader.__name__, None) is reader
    if reader.__module__ == "__main__" or not is_found or source is None:
        raise PluginError(
            f"bounded_read: a reader is a function at the top of a module, got {reader.__module__}."
            f"{reader.__qualname__}; put it into a file of its own, and import it"
        )
    return os.path.abspath(source)


def _search_path() -> list[str]:
    """Where this process finds modules, wherever the child is."""
    return [os.path.abspath(one) for one in sys.path if isinstance(one, str)]


def _failure_reason(answer: dict[str, Any], kept: limits.Limits) -> str:
    if "raised" in answer:
        return f"cannot be read: {printable(answer['raised'])}"
    if "memory" in answer:
        return f"its reader needs more than {memory.size(kept.space)} of memory"
    if "late" in answer or answer.get("signal") == getattr(signal, "SIGXCPU", None):
        return f"its reader did not end within {round(kept.seconds, 1):g} s"
    number = answer.get("signal", 0)
    try:
        return f"its reader was ended by {signal.Signals(number).name}"
    except ValueError:
        return "its reader ended without an answer"


def _ask_child(request: bytes, wall: float) -> dict[str, Any]:
    """The answer of the child; a server that ended between two files is started again."""
    global _server
    with _lock:
        for is_last in (False, True):
            if _server is None or not _server.serves():
                try:
                    _server = _Child()
                except OSError:
                    return {"unstarted": True}
            answer = _server.ask(request, wall)
            if not FORKS or answer.keys() & {"late", "gone", "unstarted"}:
                _server.end()
                _server = None
            if not answer.keys() & {"gone", "unstarted"} or not FORKS or is_last:
                return answer
    raise AssertionError("a loop that returns")


class _Child:
    """A child process that reads files. `pid`: of the process that started it."""

    def __init__(self) -> None:
        if not sys.executable or getattr(sys, "frozen", False):  # a frozen program would start itself
            raise OSError(f"no Python at {sys.executable!r}")
        self.pid = os.getpid()
        few_threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        where = [*filter(os.path.isabs, sys.path), str(Path(__file__).resolve().parents[3])]
        code = f"import sys; sys.path[:] = {where!r}; from {__package__}.process import main; main()"
        self.child = subprocess.Popen(
            [sys.executable, "-P", "-c", code],  # -P: no module of the current folder is imported
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **few_threads},
            start_new_session=os.name == "posix",
        )
        atexit.register(self.end)

    def serves(self) -> bool:
        """False for the child of another process, and for one that ended."""
        return self.pid == os.getpid() and self.child.poll() is None

    def ask(self, request: bytes, wall: float) -> dict[str, Any]:
        """The answer; `late` without one in time, `gone` where the child ended, `unstarted` before it began.

        wall: seconds from when the libraries are there.
        """
        if self._next_message(START, request) != READY:
            return {"unstarted": True}
        return self._next_message(wall)

    def _next_message(self, wall: float, request: bytes = b"") -> dict[str, Any]:
        """The next message within so many seconds, after a request, if there is one."""
        late: list[bool] = []

        def stop() -> None:
            late.append(True)
            self._kill_group()

        timer = Timer(wall, stop)
        timer.daemon = True
        timer.start()
        try:
            if request:
                send(self.child.stdin, request)  # type: ignore[arg-type]
            answer = receive_message(self.child.stdout)  # type: ignore[arg-type]
        except (OSError, ValueError):
            answer = None
        except BaseException:  # an interrupt: the answer would be taken for that of the next file
            self.end()
            raise
        finally:
            timer.cancel()
        if isinstance(answer, dict):
            return answer
        return {"late": True} if late else {"gone": True, "signal": self._exit_signal()}

    def end(self) -> None:
        atexit.unregister(self.end)
        if self.pid == os.getpid():
            self._kill_group()
            self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def _exit_signal(self) -> int:
        with suppress(subprocess.TimeoutExpired):
            return max(0, -self.child.wait(timeout=5.0))
        return 0

    def _kill_group(self) -> None:
        """End the child and those that it forked."""
        if self.child.poll() is None:
            with suppress(OSError):
                if os.name == "posix":
                    os.killpg(self.child.pid, signal.SIGKILL)
                else:
                    self.child.kill()
