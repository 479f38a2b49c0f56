"""The trap zoo: small kernels that are wrong in one way, each beside a twin that looks alike and is right.

    tests/traps/seen/      rules of `check` were written with these at hand
    tests/traps/unseen/    written by others, who did not know the rules

Each file has `trap` and `twin`, and `answer(x)`: the derivative that a reader expects (`value(x)`, where the
value is wrong, too; `answer_of_twin(x)`, where the twin computes something else).

    python -m tests.support.trap_zoo FILE
        what Taichi gives, and what the other checks say of it, as lines of JSON
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.app.plugin_kit import check_process
from minusgrad.check.kernel_file import load
from minusgrad.engine import runtime
from minusgrad.interpreter.case import take_declared
from minusgrad.interpreter.recorded_launches import Recording

TRAPS = Path(__file__).parents[1] / "traps"
HALVES = ("seen", "unseen")
FINE = 1e-9
"""How near a right gradient is to the answer."""
SECONDS = 60.0
MOST = 100
"""Differences are taken in so many entries."""


def files(half: str) -> list[Path]:
    """The files of one half."""
    return sorted((TRAPS / half).glob("*.py"))


@cache
def checked(half: str) -> dict[str, dict[str, list[Any]]]:
    """What `check` finds, by file and kernel."""

    def one(file: Path) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {"trap": [], "twin": []}
        for finding in check_process.findings([str(file)], seconds=SECONDS):
            found.setdefault(finding.term, []).append(finding)
        return found

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip([f.stem for f in files(half)], pool.map(one, files(half)), strict=True))


@cache
def reports(half: str) -> dict[str, dict[str, dict[str, Any]]]:
    """What Taichi gives and what the other checks say: by file and kernel."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip([f.stem for f in files(half)], pool.map(report, files(half)), strict=True))


def _launches(file: Path, kernel: str) -> Recording:
    module = load(file).module
    case = next(c for c in take_declared() if c.name == kernel)
    return Recording(module, case, np.random.default_rng(0))


@cache
def report(file: Path) -> dict[str, dict[str, Any]]:
    """What Taichi gives and what the other checks say of one file, by kernel.

    Both kernels in one process; the twin in one of its own where the trap ends it.
    """
    found = _asked(file, "tell", "trap", "twin")
    if "crash" in found["trap"]:
        found |= _asked(file, "tell", "twin")
    if ".field(" in file.read_text():  # validation needs fields, and leaves an engine that cannot go on
        for kernel in ("trap", "twin"):
            found[kernel]["validation"] = _asked(file, "validate", kernel)[kernel].get("validation")
    return found


def score(half: str) -> str:
    """Who finds how many traps, and accuses how many twins: a table."""
    names = [file.stem for file in files(half)]
    rows = [("tool", "traps found", "twins reported by mistake"), ("---",) * 3]
    for title, says in JUDGES.items():
        counts = []
        for kernel in ("trap", "twin"):
            said = [says(half, name, kernel) for name in names]
            asked = len(said) - said.count(None)
            counts.append(f"{said.count(True)} of {asked}" + (" asked" if asked < len(names) else ""))
        rows.append((title, *counts))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _check_says(half: str, name: str, kernel: str) -> bool:
    return any(not finding.passed for finding in checked(half)[name][kernel])


def _taichi_says(what: str, half: str, name: str, kernel: str) -> bool | None:
    return reports(half)[name][kernel].get(what)


JUDGES: dict[str, Callable[[str, str, str], bool | None]] = {
    "`minusgrad check`": _check_says,
    "`ti.ad.Tape(validation=True)`": partial(_taichi_says, "validation"),
    "`ti.ad.Tape(grad_check=...)`": partial(_taichi_says, "grad_check"),
    "central differences": partial(_taichi_says, "differences"),
}
"""Who looks; None where it cannot be asked, or the process ends."""


def _asked(file: Path, what: str, *kernels: str) -> dict[str, dict[str, Any]]:
    """What a process tells of each; a kernel at which two processes died has a `crash`."""
    found = _once(file, what, *kernels)
    return _once(file, what, *kernels) if any("crash" in said for said in found.values()) else found


def _once(file: Path, what: str, *kernels: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {kernel: {} for kernel in kernels}
    command = [sys.executable, __file__, str(file), what, *kernels]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        lines, code = done.stdout.splitlines(), done.returncode
    except subprocess.TimeoutExpired as late:
        lines, code = (late.stdout or b"").decode().splitlines(), 1
    reports = [json.loads(line) for line in lines if line.startswith("{")]
    for line in reports:
        found[line.pop("kernel")] |= line
    ended = [kernel for kernel in kernels if "ended" in found[kernel]]
    if code and len(ended) < len(kernels):
        found[kernels[len(ended)]]["crash"] = code
    return found


# The process of one kernel --------------------------------------------------------------------------


def tell(file: Path, kernel: str) -> Iterator[dict[str, Any]]:
    """How far Taichi is from the answer; what plain differences, validation and grad_check say."""
    launches = _launches(file, kernel)
    module = launches.module
    x = {h.name: h.start for h in launches.inputs}
    single = next(iter(x.values())) if len(x) == 1 else x
    twins = kernel == "twin" and hasattr(module, "answer_of_twin")
    answer = (module.answer_of_twin if twins else module.answer)(single)
    answer = answer if isinstance(answer, dict) else {launches.inputs[0].name: answer}
    if hasattr(module, "value") and not twins:
        yield {"value": _off({"": np.array(launches.value())}, {"": np.array(module.value(single))})}
    launches.gradients()
    found = launches.gradients()  # the second: what was left from the first shows
    yield {"gradient": _off(found, answer)}
    yield {"differences": _by_differences(launches, found)}
    if not hasattr(launches.loss.array, "snode") or launches.own_gradient is not None:
        return
    taped = runtime.engine().ad.Tape
    launches.begin()
    try:
        with taped(loss=launches.loss.array, grad_check=[h.array for h in launches.inputs]):
            launches.run()
    except Exception:  # an assertion, or a word about an array that it cannot follow
        yield {"grad_check": True}
    else:
        yield {"grad_check": False}


def validate(file: Path, kernel: str) -> Iterator[dict[str, Any]]:
    """What `Tape(validation=True)` says; it needs the engine's debug mode, and fields."""
    runtime.start()
    ti = runtime.engine()
    ti.init(arch=ti.cpu, default_fp=ti.f64, debug=True, log_level=ti.ERROR)
    launches = _launches(file, kernel)
    if not hasattr(launches.loss.array, "snode"):
        return
    launches.begin()
    try:
        with ti.ad.Tape(loss=launches.loss.array, validation=True):
            launches.run()
    except Exception:
        yield {"validation": True}
    else:
        yield {"validation": False}


def _off(found: dict[str, Any], expected: dict[str, Any]) -> float | None:
    """The largest difference, in parts of the largest number; None where it is not finite."""
    worst = 0.0
    for name, right in expected.items():
        given = found[name]
        if given is None or not np.isfinite(given).all():
            return None
        right = np.asarray(right, float).reshape(np.shape(given))
        worst = max(worst, float(np.abs(given - right).max()) / (float(np.abs(right).max()) or 1.0))
    return worst


def _by_differences(launches: Any, found: dict[str, Any]) -> bool:
    """Whether a check by central differences, as everybody writes it, complains: of some entries, if many."""
    for handle in launches.inputs:
        start, h = handle.start.astype(float), 1e-6
        given = found[handle.name]
        if given is None:
            return True
        for k in np.random.default_rng(0).permutation(start.size)[:MOST]:
            sides = []
            for side in (h, -h):
                moved = start.copy()
                moved.ravel()[k] += side
                launches.set(handle, moved)
                sides.append(launches.value())
            launches.set(handle, start)
            slope = (sides[0] - sides[1]) / (2.0 * h)
            if not abs(slope - given.ravel()[k]) <= 1e-4 * max(1.0, abs(slope)):
                return True
    return False


if __name__ == "__main__":
    asked = {"tell": tell, "validate": validate}[sys.argv[2]]
    for name in sys.argv[3:]:
        for said in (*asked(Path(sys.argv[1]), name), {"ended": True}):
            print(json.dumps({"kernel": name, **said}), flush=True)
