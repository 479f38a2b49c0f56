"""What a report needs: versions, engine, machine, extras, plugins, the cache, and a kernel that runs."""

import os
import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from .... import __version__
from ....assembly.installed_plugins import OURS, listed
from ....engine import memory, runtime
from ....errors import UserError
from ..device_list import devices
from ..shipped import places
from . import trial

NAMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
PREFIXES = ("MINUSGRAD_", "TI_", "QD_", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")
"""Environment variables that change what is computed, or where."""
INTERNAL = ("bench", "devices", "docs", "test")
"""Extras for work on minusgrad itself."""


class Fact(NamedTuple):
    """A row of the report. wrong: True if minusgrad does not work because of it."""

    what: str
    found: str
    wrong: bool = False


def facts(seconds: float = trial.SECONDS) -> Iterator[Fact]:
    """All rows, the kernel's last. seconds: after which it counts as hanging."""
    yield from chain(_versions(), _machine(), _extras(), _plugins(), _variables())
    yield from _of_kernel(trial.run_trial(seconds))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _versions() -> Iterator[Fact]:
    yield Fact("minusgrad", f"{__version__} in {places.ROOT}")
    yield Fact(
        "Python", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"
    )
    yield Fact("system", platform.platform())
    found = {name: _version(name) for name in runtime.PREFIXES}
    engines = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    yield Fact("engines", engines or "none; pip install taichi or quadrants", not engines)
    needed = [_name(one) for one in metadata.requires(OURS) or [] if "extra ==" not in one]
    rest = {name: _version(name) for name in dict.fromkeys(needed) if name not in runtime.PREFIXES}
    missing = [name for name, version in rest.items() if not version]
    named = ", ".join(f"{name} {version or 'missing'}" for name, version in rest.items())
    yield Fact("packages", named, bool(missing))
    try:
        yield Fact("scenes", f"{len(places.scenes())} in {places.home() / 'scenes'}")
    except UserError as error:
        yield Fact("scenes", str(error), True)
    yield Fact("documentation", places.documentation())


def _machine() -> Iterator[Fact]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Fact("cores", f"{os.cpu_count()}, {usable} of them for this process")
    yield Fact("memory", f"{memory.size(memory.whole())}, {memory.free()}")
    found = [row for row in devices() if row["arch"] != "cpu" and row["works"]]
    yield Fact("devices", "; ".join(map(_device, found)) or "the CPU alone")


def _device(row: dict[str, Any]) -> str:
    room = "" if row["memory"] is None else f", {memory.size(row['memory'])}"
    number = "" if row["device"] is None else f" {row['device']}"
    remark = f" ({row['remark']})" if row["remark"] else ""
    return f"{row['arch']}{number}: {row['name']}{room}{remark}"


def _name(requirement: str) -> str:
    found = NAMED.match(requirement)
    return found[0] if found else requirement


def extras() -> dict[str, dict[str, str]]:
    """For each extra of a user its packages with their versions, empty where one is not installed."""
    found: dict[str, dict[str, str]] = {}
    for requirement in metadata.requires(OURS) or []:
        marked = re.search(r"""extra == ['"]([\w-]+)['"]""", requirement)
        if marked and marked[1] not in INTERNAL and _name(requirement) != OURS:
            name = _name(requirement)
            found.setdefault(marked[1], {})[name] = _version(name)
    return found


def _extras() -> Iterator[Fact]:
    """One row; extras with packages of others alone are left out, such as `laser`."""
    words = []
    for extra, packages in sorted(extras().items()):
        there = [f"{name} {version}" for name, version in packages.items() if version]
        words.append(f"{extra} ({', '.join(there)})" if len(there) == len(packages) else f"no {extra}")
    yield Fact("extras", ", ".join(words) or "none")


def _plugins() -> Iterator[Fact]:
    others = [plugin for plugin in listed() if plugin.distribution != OURS]
    yield Fact(
        "other plugins", ", ".join(f"{p.name} ({p.distribution} {p.version})" for p in others) or "none"
    )


def _variables() -> Iterator[Fact]:
    found = {name: value for name, value in sorted(os.environ.items()) if name.startswith(PREFIXES)}
    yield Fact("variables", ", ".join(f"{name}={value}" for name, value in found.items()) or "none")


def _of_kernel(kernel: dict[str, Any]) -> Iterator[Fact]:
    if cache := kernel.get("cache"):
        yield Fact("cache", f"{memory.size(size_of(Path(cache)))} in {cache}")
    if error := kernel.get("error"):
        yield Fact("kernel", f"does not run: {error}", True)
        return
    where = f"{kernel['engine']} on {kernel['arch']}, {kernel['threads']} threads"
    yield Fact("kernel", f"compiled, run and right, {where}, in {kernel['seconds']:.1f} s with its process")


def size_of(folder: Path) -> int:
    """The bytes of all files in a folder that can be seen."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
    return total
