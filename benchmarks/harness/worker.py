"""The process of one column: it makes the column, and then calls it whenever it is asked to.

    python -m benchmarks.harness.worker DESCRIPTOR          (started by `columns.Process`)

Lines of JSON come and go on the socket DESCRIPTOR, because libraries print what they like. `make` is answered
with the seconds of the first call, peak memory and where the answer was saved; `turn` with the seconds of a
call.
"""

import json
import resource
import socket
import sys
import time
import traceback
from typing import Any

import numpy as np

from . import session
from .cases import Call, Clocked, MissingColumnError, Posed, numbers
from .session import Settings

LONG = 0.5  # seconds; a call that takes longer needs none before it to wake its threads


class Worker:
    """The columns that this process has made."""

    def __init__(self) -> None:
        self.calls: dict[str, Call] = {}

    def make(self, case: str, column: str, answer: str) -> dict[str, Any]:
        """Make a column, call it once, and save what it answers."""
        from ..works import find

        found = find(case)
        try:
            made = found.columns[column].make()
            call, energy = made if isinstance(made, Posed) else (made, None)
            self.calls[f"{case} {column}"] = call
            first, result, memory = clocked(call)
        except MissingColumnError as reason:
            return {"missing": str(reason)}
        figures = {"first": first, "energy": energy, "memory": memory}
        if found.expected is not None:
            np.save(answer, numbers(result))
        return figures

    def turn(self, case: str, column: str, calls: int, wake: bool) -> dict[str, Any]:
        """Seconds of one of so many calls."""
        call = self.calls[f"{case} {column}"]
        if wake:
            call()
        began, inside = time.perf_counter(), 0.0
        for _ in range(calls):
            result = call()
            inside += result.seconds if isinstance(result, Clocked) else 0.0
        return {"seconds": (inside or time.perf_counter() - began) / calls}


def clocked(call: Call) -> tuple[float, Any, int]:
    """Seconds of a call, its answer, and peak memory of this process, or of those that have computed it."""
    began = time.perf_counter()
    result = call()
    if isinstance(result, Clocked):
        return result.seconds, result.answer, result.memory or peak_memory(True)
    return time.perf_counter() - began, result, peak_memory(False)


def peak_memory(abroad: bool) -> int:
    """Bytes that this process, or the largest of those it started, has held at most."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_CHILDREN if abroad else resource.RUSAGE_SELF).ru_maxrss


def main(descriptor: int) -> None:
    """Answer until the other side hangs up."""
    with socket.socket(fileno=descriptor) as link, link.makefile("rw") as lines:
        worker = Worker()
        for line in lines:
            asked = json.loads(line)
            do = asked.pop("do")
            try:
                answer = _begin(asked) if do == "begin" else getattr(worker, do)(**asked)
            except Exception:
                answer = {"failed": traceback.format_exc()}
            lines.write(json.dumps(answer) + "\n")
            lines.flush()


def _begin(asked: dict[str, Any]) -> dict[str, Any]:
    session.begin(Settings(**asked))
    return {}


if __name__ == "__main__":
    main(int(sys.argv[1]))
