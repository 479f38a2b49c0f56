"""What a folder promises: journals speak of saves, and files are whole as soon as they have their name."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import h5py

from minusgrad.errors import MinusgradError
from minusgrad.files import durable

JOURNAL = "journal.jsonl"
REWRITTEN = ("trajectory.h5", "table.h5", "table.csv")
"""Files that grow with a job, each replaced as a whole."""


def journals(folder: Path) -> dict[str, bytes]:
    """The journals of a job by their folders: of a run its own, of a sweep those of its points, too."""
    return {str(p.parent.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob(JOURNAL))}


def _events(text: bytes) -> Iterator[dict]:
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def acknowledged(text: bytes) -> int:
    """The last step that a journal calls saved; -1 if none."""
    last = -1
    for event in _events(text):
        if event.get("event") == "started":
            last = -1
        elif event.get("event") == "saved":
            last = max(last, event["step"])
    return last


def lost(before: Mapping[str, bytes], after: Mapping[str, bytes], ended: bool) -> str:
    """What a job that went on says was lost: a save that the journals before spoke of; empty if none.

    ended: the job has come to its end, so that each of its journals says where it went on.
    """
    for folder, text in before.items():
        if (said := acknowledged(text)) < 0:
            continue
        if folder not in after or not after[folder].startswith(text):
            return f"{folder}: step {said} was called saved, the run was begun again"
        events = list(_events(after[folder][len(text) :]))
        begun = [event["step"] for event in events if event.get("event") == "restored"]
        if begun and begun[0] < said:
            return f"{folder}: step {said} was called saved, it went on from {begun[0]}"
        was_over = any(event.get("event") == "finished" for event in _events(text))
        if ended and not begun and not was_over:
            return f"{folder}: step {said} was called saved, and nothing went on from it"
    return ""


def broken(folder: Path, right: Mapping[str, str], found: Mapping[str, str]) -> str:
    """The files that are not whole although they have their name; empty if all are.

    right, found: SHA-256 by name, of the job that was never killed, and of what is there.
    """
    wrong = []
    for name, digest in found.items():
        path = folder / name
        if path.name.startswith(durable.TEMPORARY) or right.get(name) == digest:
            continue
        try:
            if durable.stem(path):
                durable.check(path)
            elif path.name in REWRITTEN:
                _ = h5py.File(path).close() if path.suffix == ".h5" else path.read_bytes()
            elif name in right:
                wrong.append(name)
        except (MinusgradError, OSError):
            wrong.append(name)
    return f"not whole: {', '.join(sorted(wrong))}" if wrong else ""
