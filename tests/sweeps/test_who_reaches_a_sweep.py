"""Who reaches the workers of a sweep on this machine: whoever has its key, and nobody else."""

import asyncio
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minusgrad.errors import MissingPackageError
from minusgrad.sweeps import workers

psutil = pytest.importorskip("psutil")
distributed = pytest.importorskip("distributed")

from distributed.comm.core import CommClosedError, connect  # noqa: E402


async def _identity(address: str, **key: Any) -> str:
    comm = await connect(address, timeout=3, **key)
    try:
        await comm.write({"op": "identity", "reply": True})
        return (await asyncio.wait_for(comm.read(), 3))["type"]
    finally:
        comm.abort()


def answer(address: str, security: Any = None) -> str:
    """What a scheduler or a worker says of itself to a caller with this key; nothing if it refuses."""
    key = security.get_connection_args("client") if security else {}
    try:
        return asyncio.run(_identity(address, **key))
    except (OSError, TimeoutError, CommClosedError):
        return ""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with workers.local_workers(1, 0, None) as found:
        until = time.monotonic() + 60
        while not found.client.nthreads() and time.monotonic() < until:
            time.sleep(0.1)
        while found.client.submit(loaded, pure=False).result(30) is False and time.monotonic() < until:
            time.sleep(0.1)
        yield found


def loaded() -> bool:
    """True in a worker that is ready for points."""
    import sys

    return "minusgrad.sweeps.point_run" in sys.modules


def listening(cluster: Any) -> list[tuple[str, int]]:
    """The addresses at which a sweep's processes are called."""
    me = psutil.Process()
    of_workers = [psutil.Process(one.pid) for one, _ in cluster.processes._running]
    every = [c for one in (me, *of_workers) for c in one.net_connections("inet")]
    return [(c.laddr.ip, c.laddr.port) for c in every if c.status == psutil.CONN_LISTEN]


def test_a_client_without_the_key_is_refused(cluster: Any) -> None:
    places = {"Scheduler": cluster.client.scheduler.address, "Worker": next(iter(cluster.client.nthreads()))}
    for kind, address in places.items():
        assert address.startswith("tls://127.0.0.1:")
        assert kind in answer(address, cluster.client.security)
        assert answer(address, distributed.Security.temporary()) == ""
        assert answer(address.replace("tls", "tcp")) == ""


def test_only_two_ports_of_this_machine_are_open_and_neither_answers_http(cluster: Any) -> None:
    import http.client

    open_ports = listening(cluster)
    assert len(open_ports) == 2, open_ports
    for ip, port in open_ports:
        assert ip == "127.0.0.1"
        caller = http.client.HTTPConnection(ip, port, timeout=5)
        caller.request("GET", "/info/main/workers.html")
        with pytest.raises((http.client.HTTPException, OSError)):
            caller.getresponse()
        caller.close()


def test_the_key_is_in_no_argument_and_the_folder_of_workers_is_private(cluster: Any) -> None:
    scratch = Path(cluster.processes.scratch)
    assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
    (process,) = cluster.processes._running
    line = psutil.Process(process[0].pid).cmdline()
    assert not any("PRIVATE" in word or "CERTIFICATE" in word for word in line)
    keys = [path for path in scratch.rglob("*") if path.is_file() and b"PRIVATE" in path.read_bytes()]
    assert keys == []


def test_the_folder_of_workers_is_gone_after_the_sweep() -> None:
    with workers.local_workers(1, 0, None) as found:
        scratch = Path(found.processes.scratch)  # type: ignore[union-attr]
        assert scratch.is_dir()
    assert not scratch.exists()


def test_without_cryptography_no_worker_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError) as error, workers.local_workers(1, 0, None):
        pass
    assert "cryptography is not installed" in str(error.value)
    assert "--workers 0" in str(error.value)


def test_what_a_dashboard_serves_can_only_be_read() -> None:
    """The routes of Dask's scheduler, beside the pages of bokeh: none answers more than a question."""
    from importlib import import_module
    from inspect import isclass

    import dask.config
    import distributed  # noqa: F401 - adds its defaults, which no setting of a sweep changes
    from tornado.web import RequestHandler

    key = "distributed.scheduler.http.routes"
    routes = next(
        found for known in dask.config.defaults if (found := dask.config.get(key, (), config=known))
    )
    handlers = [route[1] for name in routes for route in import_module(name).routes if isclass(route[1])]
    assert len(handlers) > 10
    ways = [(one, way) for one in handlers for way in ("post", "put", "delete", "patch")]
    assert [(one, way) for one, way in ways if getattr(one, way) is not getattr(RequestHandler, way)] == []


def test_a_dashboard_without_bokeh_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    present = workers.find_spec
    monkeypatch.setattr(workers, "find_spec", lambda name: None if name == "bokeh" else present(name))
    with (
        pytest.raises(MissingPackageError, match="--dashboard: needs bokeh"),
        workers.local_workers(1, 0, None, dashboard=True),
    ):
        pass
