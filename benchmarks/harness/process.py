"""A column's process, seen from the side that asks."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from minusgrad.engine.runtime import VARIABLE

from .cases import BenchError
from .session import Settings

ROOT = Path(__file__).parents[2]


def environment(**more: str) -> dict[str, str]:
    """Of a process that finds the benchmarks."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path} | more


class Process:
    """One process on one engine; it ends with the block that it is used in."""

    def __init__(self, settings: Settings, engine: str):
        ours, theirs = socket.socketpair()
        threads = {} if not settings.threads else {"OMP_NUM_THREADS": str(settings.threads)}
        command = [sys.executable, "-m", "benchmarks.harness.worker", str(theirs.fileno())]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment(**{VARIABLE: engine}, **threads),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        theirs.close()
        self._link = ours
        self._lines = ours.makefile("rw")
        self.ask(do="begin", threads=settings.threads, quick=settings.quick)

    def ask(self, **what: Any) -> dict[str, Any]:
        """The answer to a question.

        Raises `BenchError` where the process has died, or what it was asked to do failed.
        """
        try:
            self._lines.write(json.dumps(what) + "\n")
            self._lines.flush()
            line = self._lines.readline()
        except OSError:
            line = ""
        if not line:
            assert self._process.stderr is not None
            last_words = self._process.stderr.read()[-2000:]
            raise BenchError(f"{what.get('column', 'a column')}: its process died\n{last_words}")
        answer = json.loads(line)
        if "failed" in answer:
            raise BenchError(f"{what.get('column', 'a column')}: {answer['failed']}")
        return answer

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(OSError):  # what it died before reading
            self._lines.close()
        self._link.close()
        try:
            self._process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
