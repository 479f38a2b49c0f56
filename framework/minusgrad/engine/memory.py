"""Memory limits: requests that do not fit are refused before anything is allocated.

Decisions 0216.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import AfterValidator

from ..errors import UserError
from . import devices, process_limits

_PROC, _CGROUP = Path("/proc"), Path("/sys/fs/cgroup")
_UNREADABLE = "is not a size of memory; write it like '500 MB', '1 GiB', or in bytes"
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([kMGT]?)(i?)B\s*")


@dataclass(frozen=True, order=True)
class Free:
    """Free bytes, and whose limit it is: "" for the machine's memory; of a device `on` it."""

    count: int
    limit: str = ""
    on: str = ""

    def __str__(self) -> str:
        if self.on:
            return f"{size(self.count)} free on device '{self.on}'"
        return f"{size(self.count)} free" + (f" under {self.limit}" if self.limit else "")


def free() -> Free:
    """Free memory: the least of the machine's, of the cgroups', under `ulimit` and on the device."""
    return min([_of_machine(), *_of_cgroups(), *_of_process(), *_of_device()])


def whole() -> int:
    """The memory of this machine, used or not: bytes that the system reports, whatever limits a process."""
    if not hasattr(os, "sysconf"):
        return _of_windows()[0]
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def address_space() -> Free | None:
    """The bytes that `ulimit -v` leaves to this process; None without such a limit.

    Reserved memory counts, whether it is used or not: an engine reserves more than it uses.
    """
    return next((one for one in _of_process() if one.limit == process_limits.ADDRESS_SPACE), None)


def used() -> int:
    """The resident memory of this process in bytes; 0 where the system does not say.

    Source: VmRSS of /proc/self/status.
    """
    return _process_status().get("VmRSS", 0)


def require(count: int, what: str, cure: str = "", error: type[Exception] = UserError) -> None:
    """Refuse arrays that do not fit into the free memory, before they are allocated.

    count: bytes. what: the object, which begins the message. cure: the end of the message. error: the
    exception's class; a validator of a record raises ValueError. Raises `error` if more bytes
    are needed than are free.
    """
    if count > (left := free()).count:
        text = f"{what}: {size(count)} of memory needed, {left}"
        raise error(f"{text}; {cure}" if cure else text)


def fits(bytes_each: int) -> AfterValidator:
    """Validator of a count in a record: so many things of `bytes_each` bytes must fit into the free memory.

        n: Annotated[int, Field(ge=1), memory.fits(600)]

    A count that does not fit is reported at its place in the scene.
    """

    def judge(count: int) -> int:
        require(count * bytes_each, f"{count} are too many", error=ValueError)
        return count

    return AfterValidator(judge)


def size(count: int) -> str:
    """A number of bytes as text, 1500000000 as '1.5 GB'; powers of 1000."""
    power, prefix = next(
        ((p, s) for p, s in ((12, "T"), (9, "G"), (6, "M"), (3, "k")) if count >= 10**p), (0, "")
    )
    return f"{count / 10**power:.3g} {prefix}B"


def bytes_of(text: int | str) -> int:
    """'1.5 GB' as 1500000000, '1 GiB' as 2^30, a number as itself. Raises ValueError for other texts."""
    parts = _SIZE.fullmatch(text) if isinstance(text, str) and len(text) < 40 else None
    if isinstance(text, str) and parts is None:
        raise ValueError(f"'{text[:40]}' {_UNREADABLE}")
    step = 1024 if parts and parts[3] else 1000
    count = int(float(parts[1]) * step ** " kMGT".index(parts[2] or " ")) if parts else int(text)
    if count < 1:
        raise ValueError(f"'{text}' {_UNREADABLE}")
    return count


def _of_machine() -> Free:
    facts = _kernel_facts(_PROC / "meminfo")
    if "MemAvailable" in facts:
        return Free(facts["MemAvailable"])
    return Free(whole() if hasattr(os, "sysconf") else _of_windows()[1])


def _of_windows() -> tuple[int, int]:
    """Bytes of memory in all, and those that are free. Source: Microsoft, GlobalMemoryStatusEx."""
    import ctypes

    class MemoryStatus(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            ("whole", ctypes.c_uint64),
            ("free", ctypes.c_uint64),
            ("others", ctypes.c_uint64 * 5),
        )

    status = MemoryStatus(length=ctypes.sizeof(MemoryStatus))
    ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
    return status.whole, status.free


def _of_process() -> Iterator[Free]:
    """Memory that `ulimit` leaves."""
    status = _process_status()
    for most, counted, command in process_limits.limits():
        if counted in status:
            yield Free(max(0, most - status[counted]), command)


def _of_device() -> Iterator[Free]:
    """Memory of the device that kernels run on: arrays of fields lie there."""
    left, device = devices.free(), devices.device_in_use()
    if left is not None and device is not None:
        yield Free(left, on=device.name)


def _of_cgroups() -> Iterator[Free]:
    """Memory left by the control groups of this process, and by their parents (Slurm, systemd, Docker).

    Version 2 has one tree, `0::/path`; version 1 has one for memory, `4:memory:/path`. In a container the
    path may be that of the host; the root is then the container's own.
    """
    for folder, names in _cgroup_folders():
        usage = _read_number(folder / names[0])
        limits = [most for name in names[1:] if (most := _read_number(folder / name)) is not None]
        if usage is None or not limits:
            continue
        cache = _kernel_facts(folder / "memory.stat", " ", 1)
        idle = cache.get("inactive_file", cache.get("total_inactive_file", 0))  # can be dropped at any time
        yield Free(max(0, min(limits) - max(0, usage - idle)), f"cgroup limit {folder}")


def _cgroup_folders() -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The folders of the groups, and the files with their usage and limits."""
    try:
        lines = (_PROC / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        names: tuple[str, ...] = ("memory.usage_in_bytes", "memory.limit_in_bytes")
        roots = [_CGROUP / "memory"]
        if not controllers:
            names = ("memory.current", "memory.max", "memory.high")
            roots = [_CGROUP, _CGROUP / "unified"]
        for root in roots:
            inner = root / path.lstrip("/")
            for folder in (inner, *inner.parents):
                if folder == root or root in folder.parents:
                    yield folder, names


def _read_number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # "max": no limit
        return None


def _process_status() -> dict[str, int]:
    return _kernel_facts(_PROC / "self" / "status")


def _kernel_facts(path: Path, separator: str = ":", unit: int = 1024) -> dict[str, int]:
    """Lines `name: number kB` of a file of the kernel, in bytes."""
    try:
        pairs = (line.split(separator, 1) for line in path.read_text(encoding="utf-8").splitlines())
        found = ((pair[0], pair[1].split()) for pair in pairs if len(pair) == 2)
        return {name: int(words[0]) * unit for name, words in found if words and words[0].isdigit()}
    except OSError:
        return {}
