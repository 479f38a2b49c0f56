"""The files of a job, written at once when all of them are made: a failure leaves none behind."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from minusgrad.plugin import UserError


def refuse(files: Sequence[Path], force: bool) -> None:
    """Raise `UserError` for a missing or read-only folder, and without `force` for a file that exists."""
    for file in files:
        if not file.parent.is_dir():
            raise UserError(f"{file}: there is no folder {file.parent}; make it first")
        if not os.access(file.parent, os.W_OK):
            raise UserError(f"{file}: cannot be written: the folder is read-only")
        if file.is_dir() and not (file / "journal.jsonl").is_file():
            raise UserError(f"{file}: is a folder; give another --out")
        if file.exists() and not force:
            raise UserError(f"{file}: exists; replace it with --force, or give another --out")


def write(contents: Mapping[Path, bytes]) -> None:
    """Write all files, each by a rename. Raises `UserError` where the disk refuses."""
    made: dict[Path, str] = {}
    try:
        for file, data in contents.items():
            handle, made[file] = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
            with os.fdopen(handle, "wb") as opened:
                opened.write(data)
        umask = os.umask(0)
        os.umask(umask)
        for file, temporary in made.items():
            os.chmod(temporary, 0o666 & ~umask)
            os.replace(temporary, file)
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror}") from None
    finally:
        for temporary in made.values():
            Path(temporary).unlink(missing_ok=True)
