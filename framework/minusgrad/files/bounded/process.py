"""The child process of bounded reading: requests on stdin, answers on stdout, each behind its length.

On Linux it is a small server: it imports the libraries of a request once, forks for every file, and ends
after 20 s without a request. It starts no engine and has one thread, so that a fork is safe. Elsewhere it
answers one request and ends. A file's time on the clock begins with `READY`: the libraries are there.

    request     8 bytes: length; `plain_data` of {"module", "name", "loads", "file", "data", "options", ...}
    answer      8 bytes: length; `plain_data` of {"result"}, {"refused"}, {"raised"}, {"memory"} or {"signal"}

Decisions 0096.
"""

import importlib
import os
import select
import signal
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, BinaryIO

from ...errors import UserError
from . import limits, plain_data
from .python_file import import_file

READY = {"ready": True}
"""The first message after a request: its libraries are imported."""
FORKS = sys.platform == "linux"
IDLE = 20.0
"""Seconds without a request after which a server ends."""


def main() -> None:
    """Answer requests until there are none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    for name in ("SIGCHLD", "SIGXCPU"):  # a parent may ignore them, and a child inherits that
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    requests, answers = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)  # prints of libraries are no answers
    while not FORKS or select.select([requests], [], [], IDLE)[0]:
        if (asked := receive_message(requests)) is None:
            return
        _import_reader(asked)
        send(answers, plain_data.encode(READY))
        send(answers, _answer_of_fork(asked, requests, answers) if FORKS else _answer_request(asked))
        if not FORKS:
            return


def send(pipe: BinaryIO, data: bytes) -> None:
    """Write a message with its length before it."""
    rest = memoryview(len(data).to_bytes(8, "little") + data)
    while rest:
        rest = rest[pipe.write(rest) :]


def receive_message(pipe: BinaryIO) -> Any:
    """The value of the next message; None where there is none. Raises ValueError for a damaged one."""
    head = _read_exactly(pipe, 8)
    body = None if head is None else _read_exactly(pipe, int.from_bytes(head, "little"))
    return None if body is None else plain_data.decode(body)


def _read_exactly(pipe: BinaryIO, length: int) -> bytes | None:
    found = bytearray()
    while len(found) < length:
        part = pipe.read(min(length - len(found), 1 << 20))
        if not part:
            return None
        found += part
    return bytes(found)


def _import_reader(asked: Mapping[str, Any]) -> None:
    """Import before the fork; what Python does not find is imported, or reported, when it is used."""
    sys.path[:] = asked["path"]
    for name in (asked["module"], *asked["loads"]):
        try:
            importlib.import_module(name)
        except Exception:
            continue


def _answer_of_fork(asked: Mapping[str, Any], *parents: BinaryIO) -> bytes:
    """The answer of a child of this process, or the signal that ended it."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for pipe in parents:
                pipe.close()
            os.close(ours)
            with os.fdopen(theirs, "wb", 0) as pipe:
                data = _answer_request(asked)
                rest = memoryview(data)
                while rest:
                    rest = rest[pipe.write(rest) :]
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb", 0) as pipe:
        found = bytearray()
        while part := pipe.read(1 << 20):
            found += part
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return bytes(found) if code == 0 and found else plain_data.encode({"signal": -code})


def _answer_request(asked: Mapping[str, Any]) -> bytes:
    """Call the reader of a request within its limits; whatever it does is an answer."""
    try:
        limits.keep(limits.Limits(asked["seconds"], asked["space"]))
        reader = getattr(_module_named(asked["module"], asked["source"]), asked["name"])
        return plain_data.encode({"result": reader(asked["file"], asked["data"], **asked["options"])})
    except UserError as error:
        return plain_data.encode({"refused": str(error)})
    except MemoryError:
        return plain_data.encode({"memory": True})
    except BaseException as error:  # libraries raise anything, and some exit
        words = " ".join(str(error)[:2000].split())
        return plain_data.encode(
            {"raised": f"{type(error).__name__}: {words}" if words else type(error).__name__}
        )


def _module_named(name: str, source: str) -> ModuleType:
    """A module by its name; of a plugin file, which has none that Python finds, by its path."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    return import_file(name, source)
