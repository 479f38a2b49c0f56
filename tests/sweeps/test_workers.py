"""Sweeps on workers of Dask: dying workers, a dying leader, clusters that are not there or not alike."""

import logging
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

import minusgrad
from minusgrad.app.compare import compare
from minusgrad.errors import UserError
from minusgrad.sweeps import workers
from tests.support.command import MINUSGRAD, last_saved, start
from tests.support.sweeps import TWO_BODY, table, written

psutil = pytest.importorskip("psutil")
pytest.importorskip("distributed")

LONG = {"run.steps": 2000, "checkpoint.every": 100}
VARY = {"gravity.softening": {"grid": [0.01, 0.02, 0.03, 0.04]}}
RETRIES = {"retries": 1000}


def line(points: Path, out: Path, more: Mapping[str, int] = MappingProxyType({})) -> list[object]:
    overrides = [f"{key}={value}" for key, value in (LONG | dict(more)).items()]
    return ["sweep", TWO_BODY, points, *overrides, "--out", out, "--workers", 2]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sweep in this process."""
    return calm(tmp_path_factory.mktemp("undisturbed") / "sweep", LONG)


def calm(out: Path, overrides: dict[str, int]) -> Path:
    found = minusgrad.sweep(TWO_BODY, {"sweep": RETRIES, "vary": VARY}, overrides, out, workers=0)
    assert found.counts == {"finished": 4}
    return out


def assert_the_same(out: Path, undisturbed: Path) -> None:
    """Tables but for seconds, and runs bit for bit."""
    assert table(out) == table(undisturbed)
    for point in range(4):
        found = compare(undisturbed / "points" / f"{point:04d}", out / "points" / f"{point:04d}")
        assert found.differences == []
        assert found.arrays > 0


def busy_workers(leader: int, out: Path) -> list[psutil.Process]:
    """The processes of workers, once one of them works on a point."""
    if not any(out.glob("points/*/ckpt/*.h5")):
        return []
    try:
        children = psutil.Process(leader).children(recursive=True)
        return [one for one in children if "dask_worker" in " ".join(one.cmdline())]
    except psutil.Error:
        return []


def begun(out: Path) -> set[int]:
    """The processes that have begun a point, or went on with one."""
    texts = [path.read_text() for path in out.glob("points/*/journal.jsonl")]
    return {int(pid) for text in texts for pid in re.findall(r'"pid": (\d+)', text)}


def killed(out: Path, points: Path, kills: int, more: Mapping[str, int]) -> int:
    """Run the sweep while a worker is killed again and again; returns how often."""
    child, count, rng = start(*line(points, out, more)), 0, random.Random(kills)
    until = time.monotonic() + 100 + 10 * kills
    try:
        while child.poll() is None and time.monotonic() < until:
            time.sleep(rng.uniform(0.1, 2.0))
            if count < kills and (found := busy_workers(child.pid, out)):
                at_work = [one for one in found if one.pid in begun(out)]
                rng.choice(at_work if at_work and count % 2 else found).kill()
                count += 1
        _, err = child.communicate(timeout=10)
    finally:
        child.kill()
    assert child.returncode == 0, err
    return count


def resumed(out: Path) -> int:
    """How often points went on."""
    journals = [path.read_text() for path in out.glob("points/*/journal.jsonl")]
    return sum(text.count('"event": "restored"') for text in journals)


def test_a_sweep_whose_workers_are_killed_is_that_of_an_undisturbed_one(
    undisturbed: Path, tmp_path: Path
) -> None:
    points, out = written(tmp_path, sweep=RETRIES, vary=VARY), tmp_path / "out"
    assert killed(out, points, 3, {}) == 3
    assert_the_same(out, undisturbed)
    assert resumed(out) >= 1


@pytest.mark.long
def test_fifty_kills(tmp_path: Path) -> None:
    points, out, more = written(tmp_path, sweep=RETRIES, vary=VARY), tmp_path / "out", {"run.steps": 60_000}
    assert killed(out, points, 50, more) == 50
    assert_the_same(out, calm(tmp_path / "calm", LONG | more))
    assert resumed(out) >= 5


def test_after_the_leader_is_killed_the_same_line_goes_on(undisturbed: Path, tmp_path: Path) -> None:
    points, out = written(tmp_path, sweep=RETRIES, vary=VARY), tmp_path / "out"
    child = start(*line(points, out))
    while child.poll() is None and last_saved(out / "points" / "0000") < 300:
        time.sleep(0.02)
    child.kill()
    child.communicate()
    states = {row["state"] for row in table(out)}
    assert "waiting" in states or "running" in states
    done = subprocess.run([MINUSGRAD, *map(str, line(points, out))], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert_the_same(out, undisturbed)
    assert '"event": "restored"' in (out / "points" / "0000" / "journal.jsonl").read_text()


def test_an_interrupt_ends_with_exit_code_4(tmp_path: Path) -> None:
    points, out = written(tmp_path, vary=VARY), tmp_path / "out"
    child = start(*line(points, out))
    while child.poll() is None and last_saved(out / "points" / "0000") < 100:
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 4
    assert "points have ended; give the same line again" in err
    assert "Traceback" not in err


def test_connections_that_close_late_log_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with workers.local_workers(1, 0, None):
        pass
    logging.getLogger("distributed.batched").error("a connection is closed")
    assert "a connection is closed" not in capfd.readouterr().err


def test_a_point_that_kills_its_workers_is_given_up_and_the_others_go_on(tmp_path: Path) -> None:
    plugin = tmp_path / "deadly.py"
    plugin.write_text(DEADLY)
    out, vary = tmp_path / "out", {"deadly.point": {"list": [0, 1, 2]}}
    points = written(tmp_path, sweep={"retries": 1}, vary=vary)
    options = ["run.steps=20", "--plugin", plugin, "--out", out]
    scene = tmp_path / "two_body.toml"
    text = '[[observe]]\nkind = "deadly"\nevery = 10\npoint = 0\n'
    scene.write_text(TWO_BODY.read_text().replace('plugins = ["gravity"]\n', "") + text)
    child = start("sweep", scene, points, *options)
    said, err = child.communicate(timeout=120)
    assert child.returncode == 3, err
    assert [row["state"] for row in table(out)] == ["finished", "killed", "finished"]
    assert "point 1: killed: its worker died 2 times; give the same line again, or raise `retries`" in said


DEADLY = """
import os

from minusgrad.plugin import Observer, Record, hookimpl


class Deadly(Observer):
    point = 0

    def observe(self):
        if self.point == 1 and self.stepper.step == 10:
            os.kill(os.getpid(), 9)


class DeadlyBlock(Record):
    every: int
    point: int = 0

    def make(self, context):
        made = Deadly(context.stepper, context.recorder, self.every)
        made.point = self.point
        return made


@hookimpl
def register_observers():
    return {"deadly": DeadlyBlock}
"""


def test_a_cluster_that_is_not_there() -> None:
    began = time.monotonic()
    with pytest.raises(UserError) as error, workers.cluster_workers("tcp://127.0.0.1:9", 3, None, 0.5):
        pass
    assert time.monotonic() - began < 20
    assert str(error.value) == (
        "--cluster tcp://127.0.0.1:9: no scheduler of Dask answers within 0.5 s; start one with"
        " `dask scheduler`, and workers with `dask worker`"
    )
    with pytest.raises(UserError, match="--cluster nonsense://x: no scheduler of Dask answers"):
        workers.cluster_workers("nonsense://x", 3, None, 0.5).__enter__()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler with one worker, each a process of its own; its address."""
    folder = tmp_path_factory.mktemp("cluster")
    file, modules = folder / "scheduler.json", [sys.executable, "-m"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dashboard = ["--no-dashboard"]
    scheduler = subprocess.Popen(
        [
            *modules,
            "distributed.cli.dask_scheduler",
            "--port",
            "0",
            "--scheduler-file",
            str(file),
            *dashboard,
        ],
        **quiet,  # type: ignore[call-overload]
    )
    worker = subprocess.Popen(
        [
            *modules,
            "distributed.cli.dask_worker",
            "--scheduler-file",
            str(file),
            "--nthreads",
            "1",
            *dashboard,
        ],
        cwd=folder,
        **quiet,  # type: ignore[call-overload]
    )
    try:
        import json

        until = time.monotonic() + 60
        text = ""
        while not text.strip().endswith("}") and time.monotonic() < until:
            time.sleep(0.1)
            text = file.read_text() if file.is_file() else ""
        yield json.loads(text)["address"]
    finally:
        for process in (worker, scheduler):
            process.kill()
        for process in (worker, scheduler):
            process.wait(timeout=30)


def test_the_workers_of_a_cluster(cluster: str, undisturbed: Path, tmp_path: Path) -> None:
    points = {"sweep": RETRIES, "vary": VARY}
    out = tmp_path / "out"
    found = minusgrad.sweep(TWO_BODY, points, LONG, out, cluster=cluster)
    assert found.counts == {"finished": 4}
    assert_the_same(out, undisturbed)
    pids = {line for path in out.glob("points/*/journal.jsonl") for line in path.read_text().splitlines()[:1]}
    assert not any(f'"pid": {os.getpid()}' in line for line in pids)


def test_nothing_listens_here_beside_a_cluster_that_is_brought(cluster: str) -> None:
    psutil = pytest.importorskip("psutil")

    def listening() -> set[tuple[str, int]]:
        found = psutil.Process().net_connections("inet")
        return {(c.laddr.ip, c.laddr.port) for c in found if c.status == psutil.CONN_LISTEN}

    before = listening()
    with workers.cluster_workers(cluster, 0, None) as found:
        assert found.processes is None
        assert listening() == before


def test_workers_of_other_versions_are_refused(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = workers.versions()
    monkeypatch.setattr(workers, "versions", lambda: mine | {"numpy": "9.9"})
    with pytest.raises(UserError) as error:
        minusgrad.sweep(TWO_BODY, {"vary": VARY}, LONG, tmp_path / "out", cluster=cluster)
    assert str(error.value).endswith(
        f": has other versions: numpy {mine['numpy']} there, 9.9 here; install the same on all machines"
    )
    assert str(error.value).startswith("worker tcp://")


def test_one_without_the_package_is_refused() -> None:
    with pytest.raises(UserError, match=r"minusgrad not installed there, 1\.0 here"):
        workers.refuse_others("tcp://a", {"numpy": "2"}, {"minusgrad": "1.0", "numpy": "2"})
