"""Readers for `bounded_read` that do what damaged files make libraries do; child processes import them."""

import os
import resource
import sys
import threading
from typing import Any

import numpy as np

from minusgrad.errors import UserError


def gives(file: str, data: bytes, more: int = 0) -> dict[str, Any]:
    """A value of every kind that travels."""
    return {
        "file": file,
        "data": data,
        "more": more,
        "pid": os.getpid(),
        "loaded": sorted(name for name in ("taichi", "quadrants", "meshlane") if name in sys.modules),
        "limits": [resource.getrlimit(one)[0] for one in (resource.RLIMIT_AS, resource.RLIMIT_CPU)],
        "threads": threading.active_count(),
        "arrays": [np.arange(6.0).reshape(2, 3), np.zeros((0, 3), np.int32), np.array([True])],
        "number": np.float32(0.1),
        "numbers": (1, -0.0, 1e300, float("inf"), None, True),
        "": {"2": "é\x1b"},
    }


def loops(file: str, data: bytes) -> None:
    while True:
        pass


def sleeps(file: str, data: bytes) -> None:
    threading.Event().wait()


def rests(file: str, data: bytes) -> str:
    threading.Event().wait(1.0)
    return "rested"


def hoards(file: str, data: bytes) -> None:
    kept = []
    while True:
        kept.append(bytes(1 << 20))


def aborts(file: str, data: bytes) -> None:
    os.abort()


def exits(file: str, data: bytes) -> None:
    sys.exit("said on its way")


def raises(file: str, data: bytes) -> None:
    raise IndexError("list index\n\x1b[31m out of range")


def refuses(file: str, data: bytes) -> None:
    raise UserError(f"'{file}': has no cells; mesh it")


def returns_code(file: str, data: bytes) -> Any:
    return os.system


def recurses(file: str, data: bytes) -> Any:
    return recurses(file, data)
