"""Files: same content, same bytes; a name vouches for its bytes; a failure leaves the old file."""

import errno
import fcntl
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from minusgrad.errors import CheckpointError, RunFailedError, RunFolderError
from minusgrad.files import durable, hdf5_trust
from minusgrad.files.hashes import vouched_files
from minusgrad.files.run_folder import RunDir

pytestmark = pytest.mark.unit


def _fill(file: h5py.File) -> None:
    file.attrs["unit"] = "µm"
    file["deep/er/x"] = np.arange(6.0).reshape(2, 3)
    file["again"] = file["deep/er/x"]


_ELSEWHERE = """
import hashlib
from tests.files.test_durable import _fill
from minusgrad.files import durable
print(hashlib.sha256(durable.image(_fill)).hexdigest())
"""


def test_an_image_has_the_same_bytes_later_and_in_another_process():
    first = durable.image(_fill)
    time.sleep(1.1)  # HDF5's own timestamps count whole seconds
    assert durable.image(_fill) == first
    repository = Path(__file__).parents[2]
    other = subprocess.check_output([sys.executable, "-c", _ELSEWHERE], cwd=repository, text=True)
    assert other.strip() == hashlib.sha256(first).hexdigest()


def test_opened_reads_what_image_wrote():
    with hdf5_trust.open_bytes(durable.image(_fill)) as file:
        assert file["deep/er/x"][1].tolist() == [3.0, 4.0, 5.0]
        with pytest.raises(ValueError, match="no write intent"):
            file["new"] = 1


def test_the_name_carries_the_hash(tmp_path):
    path = durable.write_new(tmp_path, "000000000600", b"hello")
    assert path.name == "000000000600.2cf24dba5fb0a30e.h5"
    assert durable.verified_bytes(path) == b"hello"
    assert durable.stem(path) == "000000000600"
    assert os.listdir(tmp_path) == [path.name]


def test_writing_the_same_again_is_fine_and_heals_a_damaged_file(tmp_path):
    path = durable.write_new(tmp_path, "a", b"hello")
    assert durable.write_new(tmp_path, "a", b"hello") == path
    assert os.listdir(tmp_path) == [path.name]
    path.write_bytes(b"hellO")
    assert durable.verified_bytes(durable.write_new(tmp_path, "a", b"hello")) == b"hello"


def test_every_flipped_bit_is_seen(tmp_path):
    data = durable.image(_fill)
    path = durable.write_new(tmp_path, "a", data)
    for place in range(0, len(data), len(data) // 50):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(CheckpointError, match=r"a\..*damaged.*copy it again"):
            durable.verified_bytes(path)


@pytest.mark.parametrize("name", ["plain.h5", "a.0123.h5", ".tmp-1234-a.0123456789abcdef"])
def test_a_name_without_a_hash_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(CheckpointError, match="no hash in its name"):
        durable.verified_bytes(tmp_path / name)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(CheckpointError, match="cannot be read: No such file"):
        durable.verified_bytes(tmp_path / "a.0123456789abcdef.h5")


@pytest.mark.parametrize("broken", ["posix_fallocate", "fsync", "replace"])
def test_a_full_disk_is_a_clear_error_and_leaves_the_old_file(tmp_path, monkeypatch, broken):
    durable.replace(tmp_path / "scene.toml", b"old")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, broken, full)
    with pytest.raises(RunFailedError, match=r"scene\.toml: cannot be written: No space left.*resume"):
        durable.replace(tmp_path / "scene.toml", b"new")
    assert (tmp_path / "scene.toml").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["scene.toml"], "no temporary stays"


@pytest.mark.parametrize("broken", ["posix_fallocate", "fsync", "replace"])
def test_a_file_of_no_run_is_replaced_only_when_all_is_written(tmp_path, monkeypatch, broken):
    path = tmp_path / "job.gcode"
    durable.write_file(path, "old\n")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, broken, full)
    message = r"job\.gcode: cannot be written: No space left on device; give another file with --out$"
    with pytest.raises(RunFailedError, match=message):
        durable.write_file(str(path), b"new\n")
    assert path.read_text() == "old\n"
    assert os.listdir(tmp_path) == ["job.gcode"]
    monkeypatch.undo()
    durable.write_file(str(path), "\u00b5m\n")
    assert path.read_bytes() == b"\xc2\xb5m\n"


def test_a_file_of_no_run_needs_a_folder(tmp_path):
    with pytest.raises(RunFailedError, match="cannot be written: No such file or directory; give another"):
        durable.write_file(tmp_path / "nowhere" / "job.gcode", "")


def test_a_file_system_without_fallocate_is_fine(tmp_path, monkeypatch):
    def unable(*_):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", unable)
    assert durable.write_new(tmp_path, "a", b"hello").read_bytes() == b"hello"
    monkeypatch.delattr(os, "posix_fallocate")
    assert durable.write_new(tmp_path, "b", b"hello").read_bytes() == b"hello"


def test_bytes_and_name_are_synced_in_this_order(tmp_path, monkeypatch):
    order = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *a, name=name, real=real, **b: (order.append(name), real(*a, **b))[1]
        )
    durable.write_new(tmp_path, "a", b"hello")
    assert order == ["fsync", "replace", "fsync"]


def test_short_writes_are_continued(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:1000]))
    path = durable.write_new(tmp_path, "a", b"long" * 1234)
    assert durable.verified_bytes(path) == b"long" * 1234


def test_a_torn_last_line_is_closed_before_the_next(tmp_path):
    journal = tmp_path / "journal.jsonl"
    durable.append_line(journal, "one")
    with journal.open("a") as file:
        file.write("tor")
    durable.append_line(journal, "two")
    assert journal.read_text() == "one\ntor\ntwo\n"


def test_sweep_takes_only_temporaries(tmp_path):
    (tmp_path / ".tmp-0123-a.h5").touch()
    (tmp_path / "kept.h5").touch()
    assert durable.sweep(tmp_path) == [".tmp-0123-a.h5"]
    assert os.listdir(tmp_path) == ["kept.h5"]
    assert durable.sweep(tmp_path / "nowhere") == []


def test_a_fifo_in_a_run_folder_is_not_waited_for(tmp_path):
    """As a checkpoint or a segment, as the master file, and as scene and overrides."""
    name = tmp_path / "000000000600.0123456789abcdef.h5"
    os.mkfifo(name)
    in_context = [
        lambda p, of=of: of(p).__enter__() for of in (hdf5_trust.opened_file, vouched_files.open_vouched)
    ]
    for reader in (durable.check, durable.verified_bytes, *in_context):
        with pytest.raises(
            RunFolderError, match=r"'0+600\.\w+\.h5' must be a regular file .* got a FIFO; move it"
        ):
            reader(name)
    run = RunDir.create(tmp_path / "run", b"", [])
    for file in ("scene.toml", "overrides.json"):
        (run.path / file).unlink()
        os.mkfifo(run.path / file)
    for read in ("scene", "overrides"):
        with pytest.raises(RunFolderError, match=r"must be a regular file"):
            getattr(run, read)


@pytest.mark.parametrize("write", ["replace", "rewritten"])
def test_what_a_killed_writer_left_of_a_file_is_deleted_when_it_is_written_again(tmp_path, write):
    for name in (".tmp-0123abcd-a.csv", ".tmp-0123abcd-b.csv", ".tmp-mine-a.csv"):
        (tmp_path / name).write_bytes(b"half")
    with (tmp_path / ".tmp-aaaaaaaa-a.csv").open("wb") as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        if write == "replace":
            durable.replace(tmp_path / "a.csv", b"new")
        else:
            with durable.rewritten(tmp_path / "a.csv") as file:
                file.write("new")
    assert (tmp_path / "a.csv").read_bytes() == b"new"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        *(".tmp-0123abcd-b.csv", ".tmp-aaaaaaaa-a.csv", ".tmp-mine-a.csv", "a.csv")
    ]


def test_a_folder_of_many_files_is_listed_once(tmp_path, monkeypatch):
    """What killed writers left is looked for at the first file, not before each of n."""
    listed, real = [], os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: listed.append(path) or real(path))
    for folder in ("a", "b"):
        durable.make_folder(tmp_path / folder)
        for k in range(20):
            durable.replace(tmp_path / folder / f"{k}.json", b"{}")
            with durable.rewritten(tmp_path / folder / f"{k}.csv") as file:
                file.write("x")
    assert len(listed) == 2


def test_a_temporary_file_whose_writer_dies_later_is_deleted_at_the_next_writing(tmp_path):
    stray = tmp_path / ".tmp-0123abcd-a.csv"
    with stray.open("wb") as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        durable.replace(tmp_path / "a.csv", b"1")
        assert stray.exists()
    durable.replace(tmp_path / "a.csv", b"2")
    assert not stray.exists()
