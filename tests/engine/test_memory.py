"""Memory limits: of the machine, of nested control groups in both versions, and of `ulimit`."""

import subprocess
import sys
from pathlib import Path

import pytest

from minusgrad.engine import memory
from minusgrad.errors import UserError
from tests.support.command import MINUSGRAD, SCENES

MEGA = 1_000_000


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folders /proc and /sys/fs/cgroup of a machine with 8 GB free, and no limits."""
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path / "cgroup")
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 16000000 kB\nMemAvailable:    7812500 kB\n")
    return tmp_path


def group(root: Path, path: str, **files: object) -> None:
    folder = root / "cgroup" / path
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"memory.{name}").write_text(f"{text}\n")


@pytest.mark.unit
def test_the_machine_alone(root: Path) -> None:
    assert str(memory.free()) == "8 GB free"
    assert memory.free().count == 8000 * MEGA


@pytest.mark.unit
@pytest.mark.parametrize("mount", ["", "unified/"])
def test_version_2_obeys_every_level(mount: str, root: Path) -> None:
    """Slurm and systemd nest groups: the job's limit is that of an ancestor."""
    (root / "proc/self/cgroup").write_text("0::/slurm/job_7/step_0\n")
    group(root, f"{mount}slurm/job_7/step_0", current=100 * MEGA, max="max")
    group(root, f"{mount}slurm/job_7", current=900 * MEGA, max=2000 * MEGA, high="max")
    group(root, f"{mount}slurm", current=1000 * MEGA, max=4000 * MEGA, high=1500 * MEGA)
    assert memory.free().count == 500 * MEGA
    assert str(memory.free()) == f"500 MB free under cgroup limit {root}/cgroup/{mount}slurm"
    (root / "cgroup" / mount / "slurm/memory.high").write_text("max\n")
    assert memory.free().count == 1100 * MEGA


@pytest.mark.unit
def test_files_that_are_cached_can_be_dropped(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("0::/\n")
    group(root, "", current=1900 * MEGA, max=2000 * MEGA, stat=f"anon 5\ninactive_file {800 * MEGA}")
    assert memory.free().count == 900 * MEGA


@pytest.mark.unit
def test_version_1_has_a_tree_for_memory(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("3:cpuset:/elsewhere\n4:memory:/docker/ab:c\n0::/\n")
    group(root, "memory/docker/ab:c", usage_in_bytes=100 * MEGA, limit_in_bytes=700 * MEGA)
    group(root, "memory", usage_in_bytes=5000 * MEGA, limit_in_bytes=9223372036854771712)
    assert memory.free().count == 600 * MEGA


@pytest.mark.unit
def test_a_container_sees_its_group_as_the_root(root: Path) -> None:
    """The path is the host's, and does not exist inside."""
    (root / "proc/self/cgroup").write_text("4:memory:/docker/abc\n")
    group(root, "memory", usage_in_bytes=100 * MEGA, limit_in_bytes=400 * MEGA)
    assert memory.free().count == 300 * MEGA


@pytest.mark.unit
@pytest.mark.parametrize(
    ("limit", "counted", "command"),
    [("RLIMIT_AS", "VmSize", "ulimit -v"), ("RLIMIT_DATA", "VmData", "ulimit -d")],
)
def test_limits_of_the_process(
    limit: str, counted: str, command: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    (root / "proc/self/status").write_text(f"Name:\tpython\n{counted}:\t  1000000 kB\n")
    limits = {getattr(resource, limit): (1_524_000_000, -1)}
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits.get(which, (resource.RLIM_INFINITY, -1)))
    assert str(memory.free()) == f"500 MB free under {command}"
    text = f"600 points: 600 MB of memory needed, 500 MB free under {command}; use fewer"
    with pytest.raises(UserError) as refusal:
        memory.require(600 * MEGA, "600 points", "use fewer")
    assert str(refusal.value) == text


def test_an_engine_without_room_says_which_limit() -> None:
    """It was "arch 'cpu' is not available on this machine"."""
    run = f"ulimit -v 700000; exec {MINUSGRAD} run {SCENES / 'two_body.toml'}"
    done = subprocess.run(["sh", "-c", run], capture_output=True, text=True)
    assert done.returncode == 2
    place, _, text = done.stderr.partition(": runtime.engine: ")
    assert place.endswith("two_body.toml:1:1")
    assert text.startswith("the engine needs 1.2 GB of address space, ")
    assert text.endswith(" MB free under ulimit -v; raise that limit\n")


def test_what_a_process_uses() -> None:
    code = "from minusgrad.engine import memory; print(memory.used())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 10 * MEGA < int(done.stdout) < 500 * MEGA
