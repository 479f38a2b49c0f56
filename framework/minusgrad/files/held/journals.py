"""Journals: one JSON line per event, with the wall-clock time; a journal is the lock of its folder, too.

Decisions 0091.
"""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...errors import RunFolderError
from .. import durable
from . import facts, held_folders, system_calls
from .json_text import TooDeepError, parse_json

LONGEST = 10_000
"""Characters of one text in a journal."""


def append(journal: Path, event: str, **more: Any) -> None:
    """Add one line of JSON-able facts, with the wall-clock time (UTC); returns when it is on disk."""
    clock = datetime.now(UTC).isoformat(timespec="milliseconds")
    durable.append_line(journal, json.dumps(_bound_text({"time": clock, "event": event} | more)))


def _bound_text(value: Any) -> Any:
    """The value with no text longer than `LONGEST`: it may come from a file of a stranger."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[: LONGEST - 3]}..."
    if isinstance(value, dict):
        return {name: _bound_text(one) for name, one in value.items()}
    return list(map(_bound_text, value)) if isinstance(value, list | tuple) else value


def events(journal: Path) -> Iterator[dict[str, Any]]:
    """The events of all complete lines; none without a journal."""
    if not held_folders.is_file(journal):
        return
    for number, line in enumerate(held_folders.read_file(journal).splitlines(), 1):
        try:
            event = parse_json(line)
        except TooDeepError as error:
            raise RunFolderError(
                f"{journal}: {error}; restore the original file, or delete the line"
            ) from None
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        if said := facts.wrong(event, facts.OF_EVENTS):
            cure = "restore the original file, or delete the line"
            raise RunFolderError(f"{journal}, line {number}: {said}; {cure}")
        yield event


def lock_journal(journal: Path) -> int:
    """Open and lock a journal; the lock ends with the descriptor or the process.

    Raises RunFolderError if another process has locked it, or if it cannot be written.
    """
    folder = journal.parent
    try:
        descriptor = held_folders.open_file(journal, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise RunFolderError(f"{folder}: cannot be written: {error.strerror}; use another --out") from error
    try:
        system_calls.lock(descriptor)
    except OSError as error:
        os.close(descriptor)
        owners = [event["pid"] for event in events(journal) if "pid" in event]
        owner = f"process {owners[-1]}" if owners else "another process"
        raise RunFolderError(f"{folder}: is in use by {owner}; wait for it, or use another --out") from error
    return descriptor


def is_locked(journal: Path) -> bool:
    """True if another process has locked a journal, which exists."""
    with held_folders.stream(journal) as file:
        return system_calls.is_locked(file.fileno())
