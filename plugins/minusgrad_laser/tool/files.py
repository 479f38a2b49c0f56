"""The places of the files of a job, looked at before anything is computed."""

import os
from collections.abc import Sequence
from pathlib import Path

from minusgrad.plugin import UserError


def refuse(files: Sequence[Path], force: bool, source: Path | None = None) -> None:
    """Raise `UserError` for a missing or read-only folder, and without `force` for a file that exists."""
    for file in files:
        if not file.parent.is_dir():
            raise UserError(f"{file}: there is no folder {file.parent}; make it first")
        if not os.access(file.parent, os.W_OK):
            raise UserError(f"{file}: cannot be written: the folder is read-only")
        if source is not None and file.exists() and file.samefile(source):
            raise UserError(f"{file}: is what the job is made of; give another --out")
        if file.is_dir() and not (file / "journal.jsonl").is_file():
            raise UserError(f"{file}: is a folder; give another --out")
        if file.exists() and not force:
            raise UserError(f"{file}: exists; replace it with --force, or give another --out")
