"""The processes of workers on this machine: started, replaced when they die, and ended.

A worker has no nanny of Dask, because a nanny gives up once its worker dies while it starts. It ends with the
process that leads: it waits for the end of its standard input.
"""

import os
import subprocess
import sys
import tempfile
from typing import IO

from ..errors import RunFailedError

FRUITLESS = 30
"""Deaths of workers in a row, none of which came to take points, after which no more is started."""


class WorkerProcesses:
    """`count` processes, each a worker with one thread of the scheduler at an address."""

    def __init__(self, address: str, count: int):
        self.address, self.count = address, count
        self._running: list[tuple[subprocess.Popen[bytes], IO[bytes]]] = []
        self._fruitless = 0

    def replenish(self, joined: int) -> None:
        """Start a process for each one that is missing. joined: the workers that can take points.

        Raises `RunFailedError` if they die again and again, with the last line of one.
        """
        self._fruitless = 0 if joined else self._fruitless
        for one, said in [*self._running]:
            if one.poll() is not None:
                self._running.remove((one, said))
                self._fruitless += 1
                if self._fruitless >= FRUITLESS:
                    raise RunFailedError(f"workers: die while they start: {_last_line(said)}")
                said.close()
        while len(self._running) < self.count:
            self._running.append(self._started())

    def close(self) -> None:
        """End all; their runs are safe in their folders."""
        for one, _ in self._running:
            one.kill()
        for one, said in self._running:
            one.wait()
            said.close()

    def _started(self) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
        """A new worker, and the file of what it says."""
        paths = [os.path.abspath(path) for path in sys.path]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "DASK_LOGGING__DISTRIBUTED": "error"}
        said = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0"]
        command = [sys.executable, "-P", "-m", "distributed.cli.dask_worker", self.address, *options]
        command += ["--death-timeout", "60", "--local-directory", tempfile.gettempdir()]
        made = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=said, stderr=said, start_new_session=True
        )
        return made, said


def _last_line(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "without a word"
