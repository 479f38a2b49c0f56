"""How much memory there is: counts that cannot fit are refused in the scene, before anything is allocated."""

import os
import re
from pathlib import Path

from pydantic import AfterValidator

_CGROUP = Path("/sys/fs/cgroup")
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([kMGT]?)(i?)B\s*")


def available() -> int:
    """Bytes that may still be taken: on this machine, or in this container."""
    return min(_of_machine(), _of_container())


def fits(bytes_each: int) -> AfterValidator:
    """For a count in a record: so many things of `bytes_each` bytes must fit into the memory."""

    def judge(count: int) -> int:
        if count * bytes_each > (free := available()):
            raise ValueError(
                f"{count} are too many: they need {size(count * bytes_each)} of memory, {size(free)} are free"
            )
        return count

    return AfterValidator(judge)


def size(count: int) -> str:
    """1500000000 as '1.5 GB'."""
    power, prefix = next(
        ((p, s) for p, s in ((12, "T"), (9, "G"), (6, "M"), (3, "k")) if count >= 10**p), (0, "")
    )
    return f"{count / 10**power:.3g} {prefix}B"


def bytes_of(text: int | str) -> int:
    """'1.5 GB' as 1500000000, '1 GiB' as 2^30, a number as itself. Raises ValueError for what is no size."""
    parts = _SIZE.fullmatch(text) if isinstance(text, str) and len(text) < 40 else None
    if isinstance(text, str) and parts is None:
        raise ValueError(f"'{text[:40]}' is no size of memory; write it like '500 MB', '1 GiB', or in bytes")
    step = 1024 if parts and parts[3] else 1000
    count = int(float(parts[1]) * step ** " kMGT".index(parts[2] or " ")) if parts else int(text)
    if count < 1:
        raise ValueError(f"'{text}' is no memory; write it like '500 MB', '1 GiB', or in bytes")
    return count


def _of_machine() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        facts = dict(line.split(":", 1) for line in lines)
        return int(facts["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_container() -> int:
    try:
        most, used = (int((_CGROUP / f"memory.{what}").read_text()) for what in ("max", "current"))
        return max(0, most - used)
    except (OSError, ValueError):
        return _of_machine()
