"""The processes of workers on this machine: started, replaced when they die, and ended.

A worker has no nanny of Dask, because a nanny gives up once its worker dies while it starts. It ends with the
process that leads: it waits for the end of its standard input.

Decisions 0093.
"""

import os
import subprocess
import sys
import tempfile
from typing import IO, Any

from ..errors import RunFailedError

FRUITLESS = 30
"""Deaths of workers in a row, none of which came to take points, after which no more is started."""


class WorkerProcesses:
    """`count` processes, each a worker with one thread of the scheduler at an address.

    security: the key of the cluster (`distributed.Security`), which they get by their environment: that of a
    process is read by its user alone. scratch: a folder for them that nobody else can write.
    """

    def __init__(self, address: str, count: int, security: Any, scratch: str):
        self.address, self.count, self.scratch = address, count, scratch
        self._key = environment(security)
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
            self._running.append(self._start_worker())

    def close(self) -> None:
        """End all; their runs are safe in their folders."""
        for one, _ in self._running:
            one.kill()
        for one, said in self._running:
            one.wait()
            said.close()

    def _start_worker(self) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
        """A new worker, and the file of what it says."""
        paths = [os.path.abspath(path) for path in sys.path]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "DASK_LOGGING__DISTRIBUTED": "error"}
        env |= self._key
        said = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0"]
        command = [sys.executable, "-P", "-m", "distributed.cli.dask_worker", self.address, *options]
        command += ["--death-timeout", "60", "--local-directory", self.scratch, "--host", "127.0.0.1"]
        command += ["--dashboard-address", "127.0.0.1:0"]  # closed once it has joined
        made = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=said, stderr=said, start_new_session=True
        )
        return made, said


def environment(security: Any) -> dict[str, str]:
    """The settings of Dask by which a worker has the key of a cluster, and serves no pages."""
    key = security.get_tls_config_for_role("worker")
    tls = "DASK_DISTRIBUTED__COMM__TLS__"
    return {
        f"{tls}CA_FILE": key["ca_file"],
        f"{tls}WORKER__CERT": key["cert"],
        f"{tls}WORKER__KEY": key["key"],
        "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
        "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
    }


def _last_line(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "without a word"
