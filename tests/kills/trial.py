"""One job in a process of its own, a fork of this one: whole, or killed and then gone on with."""

import ctypes
import hashlib
import os
import random
import re
import signal
import subprocess
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from . import spoiled
from .jobs import JOBS, OUT
from .promises import REWRITTEN, broken, journals, lost

CALLS = ("fsync", "rename", "unlink", "write")
_SECONDS = re.compile(rb'"seconds": [^,\n]*')


class Whole(NamedTuple):
    """A job that was never killed: its files, how long it took, how often it asked the disk for what.

    code: its exit code, 1 for a fit that has not converged.
    """

    code: int
    files: Mapping[str, str]
    seconds: float
    counts: Mapping[str, int]


def library() -> Path:
    """The library of `kill.c`, built by gcc."""
    folder = Path(tempfile.mkdtemp())
    source = Path(__file__).with_name("kill.c")
    line = ["gcc", "-O1", "-shared", "-fPIC", "-o", str(folder / "kill.so"), str(source), "-ldl"]
    subprocess.run(line, check=True)
    return folder / "kill.so"


def whole(kind: str, folder: Path) -> Whole:
    """Run a job to its end. Raises RuntimeError if it fails."""
    began = time.monotonic()
    code, counts = _forked(kind, folder, False, None)
    if code not in (0, 1):
        raise RuntimeError(f"{kind}: exit code {code}; {(folder / 'log').read_text()[-600:]}")
    return Whole(code, contents(folder / OUT), time.monotonic() - began, counts)


def trial(kind: str, folder: Path, right: Whole, chance: random.Random) -> str:
    """Kill a job once or twice and let it end; what is wrong then, empty if nothing is."""
    before: dict[str, bytes] = {}
    at: list[str] = []
    for attempt in range(chance.choice((1, 1, 2))):
        how = chance.choice((*CALLS, *CALLS, "time"))
        if how == "time" or not right.counts[how]:
            how = f"time {chance.uniform(0.05, 1.0) * right.seconds}"
        else:
            how = f"{how} {chance.randint(1, right.counts[how])}"
        at.append(how)
        code, _ = _forked(kind, folder, attempt > 0, how)
        if code not in (-signal.SIGKILL, right.code):
            return f"{at}: exit code {code}; {(folder / 'log').read_text()[-600:]}"
        after = journals(folder / OUT)
        if wrong := lost(before, after, False) or broken(folder / OUT, right.files, contents(folder / OUT)):
            return f"{at}: {wrong}"
        before = after
    code, _ = _forked(kind, folder, True, None)
    if code != right.code:
        return f"{at}: exit code {code}; {(folder / 'log').read_text()[-600:]}"
    if wrong := lost(before, journals(folder / OUT), True):
        return f"{at}: {wrong}"
    found = contents(folder / OUT)
    wrong = ", ".join(
        sorted(n for n in found.keys() | right.files.keys() if found.get(n) != right.files.get(n))
    )
    return f"{at}: other files: {wrong}" if wrong else ""


def contents(folder: Path) -> dict[str, str]:
    """SHA-256 of each file but journals and locks; seconds in rows of sweeps are left out."""
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if path.name in ("journal.jsonl", ".table.lock"):
            continue
        name, data = str(path.relative_to(folder)), path.read_bytes()
        if path.parent.name == "points":
            data = _SECONDS.sub(b"", data)
        if path.name in REWRITTEN[1:]:  # with seconds, too
            data = b""
        found[name] = hashlib.sha256(data).hexdigest()
    return found


def _forked(kind: str, folder: Path, again: bool, how: str | None) -> tuple[int, dict[str, int]]:
    """Run in a fork; how: "write 12" or "time 3.5". Returns the exit code, negative if killed, and counts."""
    folder.mkdir(parents=True, exist_ok=True)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        _child(kind, folder, again, how, write)
    os.close(write)
    if how and how.startswith("time"):
        time.sleep(float(how.split()[1]))
        os.kill(child, signal.SIGKILL)
    with os.fdopen(read) as pipe:
        counted = [int(word) for word in pipe.read().split()]
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), dict(zip(CALLS, counted, strict=False))


def _child(kind: str, folder: Path, again: bool, how: str | None, write: int) -> None:
    code = 70
    try:
        os.chdir(folder)
        log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for stream in (1, 2):
            os.dup2(log, stream)
        job = JOBS[kind]()
        job.prepared()
        os.environ["KILLS_UNDER"] = str(Path(OUT).absolute())
        counter = ctypes.CDLL(None)
        counter.kills_reset()
        if how and not how.startswith("time"):
            os.environ["KILLS_AT"] = how
        if "KILLS_SPOILED" in os.environ:
            spoiled.WAYS[os.environ["KILLS_SPOILED"]]()
        code = job.run(again)
        os.write(write, " ".join(str(counter.kills_count(k)) for k in range(len(CALLS))).encode())
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
