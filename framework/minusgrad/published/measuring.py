"""Compute rows one after another in a process of their own, so that a crash is an answer.

    parent                            child (`python -m minusgrad.published.worker`)
    names, as JSON on stdin      -->
                                 <--  {"doing": name}, {"numbers": [...], "seconds": s} or {"error": text}
    the end of the process       -->  the row failed; another child goes on with those behind it

Decisions 0132.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..app.plugin_kit.check_process import Drained
from .outcome import FAIL, Outcome, lacking
from .published_value import PublishedValue

Doing = Callable[[PublishedValue], None]


def outcomes(
    rows: Sequence[PublishedValue],
    data: Path | None,
    doing: Doing = lambda row: None,
    plugins: Sequence[Path] = (),
) -> Iterator[Outcome]:
    """The outcome of each row, as soon as it is known. doing: called before a row is computed.

    Rows that lack a file or a module come first. The process of the rows ends when the iterator is closed.
    """
    asked = {row.name: row for row in rows}
    for row in rows:
        if lack := lacking(row, data):
            del asked[row.name]
            yield Outcome(row, lack)
    while asked:
        for outcome in _of_one_child(asked, data, doing, plugins):
            del asked[outcome.row.name]
            yield outcome


def _of_one_child(
    asked: dict[str, PublishedValue], data: Path | None, doing: Doing, plugins: Sequence[Path]
) -> Iterator[Outcome]:
    """Outcomes until the child ends: the row during which it died is the last one, and failed."""
    call = [sys.executable, "-X", "faulthandler", "-m", f"{__package__}.worker"]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    request = {"names": [*asked], "data": None if data is None else str(data.resolve())}
    with subprocess.Popen(
        call, env={**os.environ, "MPLBACKEND": "Agg"}, encoding="utf-8", errors="replace", **pipes
    ) as child:
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(json.dumps({**request, "plugins": [*map(str, plugins)]}) + "\n")
            child.stdin.flush()  # it stays open: its end would be the child's
            lines, row = Drained(child.stderr), next(iter(asked.values()))
            for line in child.stdout:
                message = json.loads(line)
                if "doing" in message:
                    row = asked[message["doing"]]
                    doing(row)
                elif "error" in message:
                    yield Outcome(row, FAIL, (), message["error"], message["seconds"])
                else:
                    yield Outcome.of_numbers(row, message["numbers"], message["seconds"])
            if child.wait() != 0:
                yield Outcome(row, FAIL, (), f"{_end(child.returncode)}: {lines.last()}")
        finally:
            child.kill()


def _end(code: int) -> str:
    return (
        f"the process died of {signal.Signals(-code).name}" if code < 0 else f"the process ended with {code}"
    )
