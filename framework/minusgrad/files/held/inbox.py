"""Numbers for a run that goes on, from its page: one small file in its folder, which the run takes away.

    page: put(run, {"goal": 0.3})     inbox.json, written whole or not at all, for its owner alone
    run:  take(run)                   the numbers; the file is gone

A number is not safe before the run has it in its journal: a page that is killed loses what nobody has taken.
The file is judged like one of a stranger: its owner is that of the process, it is short, and it is a table
of names. What a number may be is judged by the run.

Decisions 0144.
"""

import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import RunFolderError, UserError
from .. import durable
from . import held_folders
from .json_text import TooDeepError, parse_json

INPUTS, CHANGED, REPEATED, REFUSED = "inputs", "input", "repeated", "input refused"
"""Events of a journal: the numbers that a run takes; one that it took; those of another run; none."""
NAME = "inbox.json"
LONGEST = 4096
"""Bytes of the file."""


def judged_number(name: str, value: Any, lowest: float, highest: float) -> float:
    """The value as a number. Raises `UserError` unless it is between these ends, or one of them."""
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not lowest <= number <= highest:
        plain = isinstance(value, (int, float)) and not isinstance(value, bool)
        shown = f"{number:.9g}" if plain else f"a {type(value).__name__}"
        ends = f"{lowest:g} and {highest:g}"
        raise UserError(f"'{name}': needs a number between {ends}, got {shown}; move it back")
    return number


def put(run: Path, numbers: Mapping[str, float]) -> None:
    """Leave numbers for a run, by name, beside those that it has not taken yet.

    Raises RunFailedError where the folder cannot be written.
    """
    held_folders.own_folder(run)
    try:
        waiting = _numbers_in(run / NAME)
    except (UserError, OSError):
        waiting = {}  # nothing waits, or nothing that is ours
    durable.replace(run / NAME, json.dumps({**waiting, **numbers}).encode() + b"\n", mode=0o600)


def take(run: Path) -> dict[str, Any]:
    """The numbers that were left for a run, by name; they are taken away.

    Raises `UserError` for a file that no page has left.
    """
    held_folders.own_folder(run)
    taken = run / f"{durable.TEMPORARY}{NAME}"
    try:
        if held_folders.status(run / NAME) is None:
            return {}
        held_folders.replace(run / NAME, taken)
    except FileNotFoundError:
        return {}
    except RunFolderError as error:  # a link, or a FIFO
        held_folders.unlink(run / NAME)
        raise UserError(f"{NAME}: is no file, got {error}; it was deleted") from None
    try:
        return _numbers_in(taken)
    finally:
        held_folders.unlink(taken)


def _numbers_in(path: Path) -> dict[str, Any]:
    """The table in a file. Raises `UserError` for a file of somebody else, and for other contents."""
    with held_folders.stream(path) as file:
        status = os.fstat(file.fileno())
        if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o022):
            raise UserError(f"{NAME}: is not of this user alone, got numbers of others; delete it")
        text = file.read(LONGEST + 1)
    try:
        found = parse_json(text) if len(text) <= LONGEST else None
    except (TooDeepError, RunFolderError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise UserError(f"{NAME}: needs a short table of numbers by name, got {len(text)} bytes; delete it")
    return found
