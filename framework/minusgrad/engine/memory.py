"""Memory limits: requests that do not fit are refused before anything is allocated."""

import os
import re
from pathlib import Path

from pydantic import AfterValidator

from ..errors import UserError

_CGROUP = Path("/sys/fs/cgroup")
_UNREADABLE = "is not a size of memory; write it like '500 MB', '1 GiB', or in bytes"
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([kMGT]?)(i?)B\s*")


def available() -> int:
    """Free memory in bytes: that of the machine, or of its container if that is less."""
    return min(_of_machine(), _of_container())


def require(count: int, what: str, cure: str = "", error: type[Exception] = UserError) -> None:
    """Refuse what does not fit into the free memory, before it is allocated.

    count: bytes. what: the object, which begins the message. cure: the end of the message. error: the
    exception's class; a validator of a record raises ValueError. Raises `error` if more bytes
    are needed than are free.
    """
    if count > (free := available()):
        text = f"{what}: {size(count)} of memory needed, {size(free)} free"
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
