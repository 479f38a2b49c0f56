"""Ways to lose data on purpose, so that a test sees the kills see them: `KILLS_SPOILED="in place"`.

A kill loses nothing of what was asked of the disk. What a power cut loses (an fsync that is missing, or comes
too late) is the matter of `tests/files/test_crash_points.py`.
"""

import os
from collections.abc import Callable
from pathlib import Path

from minusgrad.files import checkpoint, durable
from minusgrad.files.run_folder import RunDir


def _in_place() -> None:
    """Files get their name before their bytes."""

    def put(path: Path, data: bytes) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for at in range(0, len(data), 100):
            os.write(descriptor, data[at : at + 100])
        os.close(descriptor)

    durable.replace = put


def _saved_before_it_is() -> None:
    """The journal speaks of a save before it is made."""
    save = RunDir.save

    def hasty(run: RunDir, snapshot, *arguments, **options):
        run.journal("saved", step=snapshot.step)
        return save(run, snapshot, *arguments, **options)

    RunDir.save = hasty


def _old_go_first() -> None:
    """Checkpoints are deleted before the new one is there."""
    save = checkpoint.save

    def hasty(folder: Path, *arguments, **options):
        for path in checkpoint.list_checkpoints(folder):
            durable.remove(path)
        return save(folder, *arguments, **options)

    checkpoint.save = hasty


def _newest_forgotten() -> None:
    """A run that goes on deletes its newest checkpoint first."""
    restore = RunDir.restore

    def forgetful(run: RunDir):
        durable.remove(checkpoint.list_checkpoints(run.path / "ckpt")[-1])
        return restore(run)

    RunDir.restore = forgetful


def _rows_dropped() -> None:
    """Rows that a checkpoint holds for the next segment are not taken up again."""
    restore = RunDir.restore

    def forgetful(run: RunDir):
        snapshot, remarks = restore(run)
        for path in (run.path / "traj").glob("*.h5"):
            path.unlink()
        return snapshot, remarks

    RunDir.restore = forgetful


WAYS: dict[str, Callable[[], None]] = {
    "in place": _in_place,
    "saved before it is": _saved_before_it_is,
    "old go first": _old_go_first,
    "newest forgotten": _newest_forgotten,
    "rows dropped": _rows_dropped,
}
