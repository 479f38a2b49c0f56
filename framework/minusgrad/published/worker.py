"""The process that computes rows: names on stdin, numbers on stdout, one line of JSON each.

A row that raises is an answer; one that ends the process is noticed by the parent (`measuring`). stdin stays
open as long as the parent lives: at its end this process ends, too, in the middle of a row.

Decisions 0132.
"""

import json
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import numpy as np

from ..app.verbs.shipped import places
from ..assembly.registry import Registry
from . import rows
from .published_value import PublishedValue, Workplace


def main() -> int:
    """Compute the rows of the request on stdin; answer on the original stdout."""
    with os.fdopen(os.dup(1), "w", buffering=1) as out:
        os.dup2(2, 1)  # prints of rows must not reach the parent
        asked = json.loads(sys.stdin.readline())
        Thread(target=_end_with_the_parent, daemon=True).start()
        by_name = {
            row.name: row for row in rows.of_all(Registry.load(None, list(map(Path, asked["plugins"]))))
        }
        data = None if asked["data"] is None else Path(asked["data"])
        for name in asked["names"]:
            out.write(json.dumps({"doing": name}) + "\n")
            out.write(json.dumps(computed(by_name[name], data)) + "\n")
    return 0


def _end_with_the_parent() -> None:
    while os.read(0, 1024):  # of the descriptor: a reader of `sys.stdin` would disturb the end of Python
        pass
    os._exit(1)


def computed(row: PublishedValue, data: Path | None) -> dict[str, Any]:
    """The numbers of a row and its seconds, or the error that it raised, as plain data."""
    began = time.perf_counter()
    try:
        with TemporaryDirectory(prefix="minusgrad-validate-") as folder:
            found = row.compute(Workplace(Path(folder), data, places.scenes()))
        numbers = [float(one) for one in np.ravel(np.asarray(found, np.float64))]
        return {"numbers": numbers, "seconds": time.perf_counter() - began}
    except (Exception, SystemExit) as error:  # of a row, whatever it is
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return {"error": said, "seconds": time.perf_counter() - began}


if __name__ == "__main__":
    sys.exit(main())
