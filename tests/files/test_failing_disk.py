"""A disk that fails at any request: a clear error, nothing lost, and the same files in the end."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from minusgrad.errors import RunFailedError, RunFolderError
from minusgrad.files import checkpoint, compaction
from minusgrad.files.run_folder import RECORDER, RunDir
from tests.support.long_runs import KEEP, files, go_on, moment, record, recorder, started
from tests.support.long_runs import simulate as simulated
from tests.support.tiers import sampled

JOINED, LAST, END = 2, 5, 7
"""The next save joins on two levels."""
REQUESTS = ("open", "write", "fsync", "posix_fallocate", "replace", "mkdir")
"""Requests that change the disk; with `reads` also those that open files and folders to read."""
FAULTS = [(errno.EIO, False), (errno.ENOSPC, True)]
"""One bad request; a disk that is full and stays so."""


class Failing:
    """Counts requests to the disk, and refuses the one of a number; if it lasts, all that follow too."""

    def __init__(self, number: int, reason: int = errno.EIO, lasts: bool = False, reads: bool = False):
        self.number, self.reason, self.lasts, self.count, self.refused = number, reason, lasts, 0, 0
        self.reads = reads

    def __call__(self, real: Callable) -> Callable:
        opens = real is os.open

        def request(*arguments, **options):
            if opens and not (self.reads or arguments[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
                return real(*arguments, **options)
            self.count += 1
            if self.count == self.number or (self.lasts and self.count > self.number):
                self.refused += 1
                raise OSError(self.reason, os.strerror(self.reason))
            return real(*arguments, **options)

        return request


@contextmanager
def failing(fault: Failing, requests=REQUESTS) -> Iterator[Failing]:
    with pytest.MonkeyPatch.context() as patch:
        for name in requests:
            patch.setattr(os, name, fault(getattr(os, name)))
        yield fault


@pytest.fixture(autouse=True)
def joined_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "JOINED", JOINED)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> tuple[Path, dict[str, bytes]]:
    """A run up to the last save that went well, and the files of an undisturbed one at the end."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "JOINED", JOINED)
        patch.setattr(os, "fsync", lambda descriptor: None)
        for name, end in (("begun", LAST), ("whole", END)):
            with started(folder / name) as run:
                simulated(run, recorder(), 0, end)
    return folder / "begun", files(folder / "whole")


def _save_of_one_more(path: Path, fault: Failing, requests=REQUESTS) -> None:
    with RunDir.open(path) as run:
        snapshot, _ = run.restore()
        rows = recorder()
        rows.restore(snapshot.arrays_under(RECORDER))
        record(rows, LAST + 1)
        with failing(fault, requests):
            run.save(moment(LAST + 1), rows, KEEP)


def _assert_named(error: BaseException, path: Path, reason: int) -> None:
    named = str(error).split(": cannot be ")[0]
    assert Path(named).is_relative_to(path), error
    assert os.strerror(reason) in str(error)


def _assert_saved(path: Path, least: int) -> None:
    newest, remarks = checkpoint.newest(path / "ckpt")
    assert remarks == []
    assert newest is not None
    assert checkpoint.load(newest).step >= least


@pytest.mark.exam
@pytest.mark.parametrize("refused", sampled(FAULTS, [(errno.ENOSPC, True)]))
def test_a_save_that_fails_at_any_request_loses_nothing(tmp_path, runs, refused):
    (begun, whole), (reason, lasts) = runs, refused
    failed = 0
    for number in range(1, 1000):
        path = shutil.copytree(begun, tmp_path / str(number))
        fault = Failing(number, reason, lasts)
        try:
            _save_of_one_more(path, fault)
        except RunFailedError as error:
            failed += 1
            _assert_named(error, path, reason)
        assert not list(path.rglob(".tmp-*"))
        _assert_saved(path, LAST)
        go_on(path, END)
        assert files(path) == whole
        shutil.rmtree(path)
        if not fault.refused:
            break
    assert failed == number - 1, "every refusal was reported"
    assert failed > 50


def test_a_file_that_cannot_be_deleted_is_an_error_and_loses_nothing(tmp_path, runs):
    begun, whole = runs
    failed = 0
    for number in range(1, 100):
        path = shutil.copytree(begun, tmp_path / str(number))
        fault = Failing(number)
        try:
            _save_of_one_more(path, fault, ("unlink",))
        except RunFailedError as error:
            failed += 1
            _assert_named(error, path, errno.EIO)
        _assert_saved(path, LAST)
        go_on(path, END)
        assert files(path) == whole
        if not fault.refused:
            break
    assert failed == number - 1
    assert failed >= 5


def test_a_temporary_that_cannot_be_deleted_goes_when_the_run_goes_on(tmp_path, runs):
    begun, whole = runs
    path = shutil.copytree(begun, tmp_path / "run")
    with pytest.raises(RunFailedError, match=r"traj/000000000006\.h5: cannot be written"):
        _save_of_one_more(path, Failing(1, lasts=True), ("replace", "unlink"))
    assert len(list(path.rglob(".tmp-*"))) == 1
    go_on(path, END)
    assert files(path) == whole


@pytest.mark.exam
def test_a_save_that_cannot_read_loses_nothing(tmp_path, runs):
    """Segments that cannot be read are not joined; they stay as they are, until they can."""
    begun, whole = runs
    for number in range(1, 1000):
        path, fault = shutil.copytree(begun, tmp_path / str(number)), Failing(number, reads=True)
        try:
            _save_of_one_more(path, fault)
        except (RunFailedError, RunFolderError) as error:
            _assert_named(error, path, errno.EIO)
        _assert_saved(path, LAST)
        go_on(path, END)
        assert files(path) == whole
        shutil.rmtree(path)
        if not fault.refused:
            break
    assert number > 100


@pytest.mark.parametrize("lasts", [False, True])
def test_a_run_that_cannot_be_opened_can_be_opened_later(tmp_path, runs, lasts):
    """In the same process too: the lock was given back."""
    begun, whole = runs
    failed = 0
    for number in range(1, 100):
        path = shutil.copytree(begun, tmp_path / str(number))
        (path / ".tmp-01234567-x").touch()
        fault = Failing(number, lasts=lasts)
        try:
            with failing(fault, (*REQUESTS, "unlink")):
                go_on(path, LAST)
        except (RunFailedError, RunFolderError) as error:
            failed += 1
            _assert_named(error, path, errno.EIO)
        go_on(path, END)
        assert files(path) == whole
        if not fault.refused:
            break
    assert failed == number - 1
    assert failed > 10


@pytest.mark.parametrize(("reason", "lasts"), FAULTS)
def test_a_run_that_cannot_begin_can_begin_later(tmp_path, reason, lasts):
    failed = 0
    started(tmp_path / "whole").close()
    for number in range(1, 100):
        path, fault = tmp_path / "new" / str(number), Failing(number, reason, lasts)
        try:
            with failing(fault), RunDir.create(path, b"", []) as run:
                run.save(moment(0), recorder(), KEEP)
        except (RunFailedError, RunFolderError) as error:
            failed += 1
            _assert_named(error, path, reason)
        with RunDir.create(path, b"", [], force=True) as run:
            run.save(moment(0), recorder(), KEEP)
        assert files(path) == files(tmp_path / "whole")
        if not fault.refused:
            break
    assert failed == number - 1
    assert failed > 20
