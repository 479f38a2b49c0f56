"""The workers of Dask that run points: processes on this machine, or a cluster that is there already.

A worker imports the engine once and serves one point after another. A worker that dies is replaced, and its
point is given to another one, at most `retries` times.

Whoever reaches a scheduler of Dask can run code as its owner. Ours speaks TLS, with a key that is made for
one sweep: a connection without it is refused. Neither scheduler nor workers answer HTTP, unless a dashboard
is asked for.

Decisions 0093.
"""

import hashlib
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import MissingPackageError, UserError, pip_line
from .point_run import Order, run_point
from .rows import Row
from .worker_processes import WorkerProcesses

PACKAGES = ("minusgrad", "taichi", "quadrants", "numpy", "scipy", "h5py")
"""The packages whose versions must be those of the process that leads a sweep."""
PATIENCE = 5.0
"""Seconds to wait for a scheduler that is named by its address."""
NOTHING = logging.CRITICAL + 1
"""The level of log messages that there are none of."""


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that compute; of minusgrad with a sum of its sources."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    root, sources = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        sources.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    found["minusgrad"] = f"{found.get('minusgrad', '?')} (sources {sources.hexdigest()[:8]})"
    return found


def refuse_others(where: str, theirs: dict[str, str], mine: dict[str, str]) -> None:
    """Raise `UserError` for a worker with another version of Python or of a package."""
    apart = [name for name in mine if theirs.get(name) != mine[name]]
    if apart:
        both = ", ".join(
            f"{name} {theirs.get(name, 'not installed')} there, {mine[name]} here" for name in apart
        )
        raise UserError(f"worker {where}: has other versions: {both}; install the same on all machines")


def work(order: Order) -> Row:
    """Run a point, in a worker. Raises `UserError` where its versions are others."""
    refuse_others(f"of process {os.getpid()}", versions(), dict(order.versions))
    return run_point(order)


def import_distributed() -> Any:
    """The module of Dask. Raises `MissingPackageError` without it."""
    try:
        import distributed as found
    except ModuleNotFoundError as error:
        if error.name not in ("distributed", "dask"):
            raise
        text = f"dask.distributed is not installed; {pip_line('sweep')}, or give --workers 0"
        raise MissingPackageError(text) from None
    return found


class Workers:
    """A client of Dask and its workers. processes: those on this machine, if it has any of its own."""

    def __init__(self, client: Any, processes: WorkerProcesses | None = None):
        self.client, self.processes = client, processes

    def replenish(self) -> int:
        """Start a worker for each one that died; returns how many can take points, or soon can."""
        joined = len(self.client.nthreads())
        if self.processes is not None:
            self.processes.replenish(joined)
            return self.processes.count
        return joined


def temporary_security() -> Any:
    """A key of Dask that nobody else has. Raises `MissingPackageError` without cryptography."""
    security = import_distributed().Security
    if not find_spec("cryptography"):
        text = f"cryptography is not installed; {pip_line('sweep')}, or give --workers 0"
        raise MissingPackageError(text)
    return security.temporary()


@contextmanager
def local_workers(count: int, retries: int, engine: str | None, dashboard: bool = False) -> Iterator[Workers]:
    """`count` workers on this machine, each a process with one thread for points.

    dashboard: serve that of Dask on this machine, to all of its users. Raises `MissingPackageError`.
    """
    dask, security = import_distributed(), temporary_security()
    if dashboard and not find_spec("bokeh"):
        raise MissingPackageError("--dashboard: needs bokeh; pip install bokeh", name="bokeh")
    import dask.config as config

    _silence_dask()

    settings: dict[str, Any] = {
        "distributed.scheduler.allowed-failures": retries,
        "distributed.scheduler.worker-ttl": None,  # a long kernel keeps a worker from its heartbeat
    }
    settings |= {} if dashboard else {"distributed.scheduler.http.routes": []}
    with (
        config.set(settings),
        dask.LocalCluster(
            n_workers=0, processes=True, protocol="tls://", security=security, host="127.0.0.1",
            dashboard_address="127.0.0.1:0" if dashboard else None, silence_logs=NOTHING,
        ) as cluster,
        dask.Client(cluster, set_as_default=False) as client,
        private_folder() as scratch,
        closing(WorkerProcesses(cluster.scheduler_address, count, security, scratch)) as processes,
    ):  # fmt: skip
        if not dashboard:
            client.sync(_close_http, cluster.scheduler)
        client.register_plugin(_warm_plugin(engine, scratch))
        processes.replenish(0)
        yield Workers(client, processes)


async def _close_http(node: Any) -> None:
    """Close the port on which a scheduler or a worker answers HTTP; it opens one even without a dashboard."""
    node.http_server.stop()


@contextmanager
def private_folder() -> Iterator[str]:
    """A folder that this user alone can enter. A worker imports modules from its folder."""
    path = tempfile.mkdtemp(prefix="minusgrad-sweep-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _silence_dask() -> None:
    """Drop the messages of Dask, in this process and from now on.

    Its connections close after the cluster does, where `silence_logs` has ended: they would log tracebacks.
    """
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(NOTHING)


@contextmanager
def cluster_workers(
    address: str, retries: int, engine: str | None, patience: float = PATIENCE
) -> Iterator[Workers]:
    """The workers of the scheduler at an address.

    Raises `UserError` if no scheduler answers there, and for workers of other versions.
    """
    dask = import_distributed()
    try:
        client = dask.Client(address, timeout=patience, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError, ImportError):
        raise UserError(
            f"--cluster {address}: no scheduler of Dask answers within {patience:g} s; start one with"
            " `dask scheduler`, and workers with `dask worker`"
        ) from None
    with client:
        _refuse_cluster(client, address)
        client.run_on_scheduler(_retry_allowance(retries))
        client.register_plugin(_warm_plugin(engine))
        yield Workers(client)


def dashboard_of(client: Any) -> str:
    """The address of a cluster's dashboard; empty where bokeh is not installed."""
    return client.dashboard_link if find_spec("bokeh") else ""


def _retry_allowance(retries: int) -> Any:
    """A function for the scheduler's process, sent as its code: minusgrad need not be there."""

    def allow(dask_scheduler: Any) -> None:
        dask_scheduler.allowed_failures = retries

    return allow


def _refuse_cluster(client: Any, address: str) -> None:
    """Compare Python first: code that is sent to another one cannot be run there."""
    mine = versions()
    for where, one in client.get_versions()["workers"].items():
        there = str(one["host"]["python"]).split(".final")[0]
        refuse_others(where, mine | {"python": there}, mine)
    for where, theirs in client.run(_version_question()).items():
        if theirs is None:
            raise UserError(
                f"worker {where}: has no minusgrad, or one that is older; install {mine['minusgrad']}"
            )
        refuse_others(where, theirs, mine)


def _version_question() -> Any:
    """A function for workers, sent as its code: their minusgrad may be another, or none."""

    def ask() -> Any:
        try:
            from minusgrad.sweeps.workers import versions
        except ImportError:
            return None
        return versions()

    return ask


def _warm_plugin(engine: str | None, scratch: str = "") -> Any:
    """A plugin of Dask for workers: imports the engine before the first point.

    scratch: the folder of workers of this machine, which end with the process that leads.
    """

    class Warm(import_distributed().WorkerPlugin):  # type: ignore[misc]
        name = "minusgrad"

        def setup(self, worker: Any) -> None:
            if scratch:
                worker.http_server.stop()
            from threading import Thread

            from minusgrad.engine import runtime
            from minusgrad.sweeps import point_run, workers

            assert point_run
            if scratch:
                Thread(target=workers.end_with_leader, args=(scratch,), daemon=True).start()
            with suppress(UserError):  # a point says so
                runtime.engine(engine)

    return Warm()


def end_with_leader(scratch: str) -> None:
    """End this process at the end of its standard input, which the leading process holds open."""
    while os.read(0, 1):
        pass
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(1)
