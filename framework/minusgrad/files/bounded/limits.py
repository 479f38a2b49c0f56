"""Limits of a reader: computing time and address space, in proportion to the size of its file.

Of the system they need `resource`: Linux keeps both, macOS the computing time, Windows neither; the time on
the clock is kept everywhere, by the parent.

Decisions 0096.
"""

import sys
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from ...engine import memory

SECONDS, BYTES_A_SECOND = 2.0, 50_000
"""Computing time of a reader: of any file, and the pace from which on a large file has more."""
SPACE, SPACE_A_BYTE = 512 << 20, 64
"""Address space of a reader beyond that of its libraries [bytes]: for any file, and for each byte of it."""
PATIENCE = 30.0
"""Time on the clock beyond four times the computing time [s], for a machine that others use, too."""


@dataclass(frozen=True)
class Limits:
    """seconds: of computing; space: bytes of address space beyond those of the libraries."""

    seconds: float
    space: int

    @property
    def wall(self) -> float:
        """Seconds on the clock after which the parent ends the child."""
        return 4.0 * self.seconds + PATIENCE


def of(size: int) -> Limits:
    """The limits for a file of `size` bytes; the space is no more than what is free."""
    room = max(SPACE, memory.free().count)
    return Limits(SECONDS + size / BYTES_A_SECOND, min(SPACE + SPACE_A_BYTE * size, room))


def keep(limits: Limits) -> None:
    """In the child: end this process beyond the limits. More memory is a MemoryError, more time a signal."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _lower_limit(resource.RLIMIT_CORE, 0)
    _lower_limit(resource.RLIMIT_CPU, _computing_seconds() + max(1, ceil(limits.seconds)))
    if sys.platform == "linux":
        _lower_limit(resource.RLIMIT_AS, _address_space() + limits.space)


def allow_seconds(seconds: float) -> None:
    """In the child: so much computing time from now on, where a header shows that a file needs it.

    Does nothing in a process without a limit.
    """
    try:
        import resource
    except ImportError:
        return
    if resource.getrlimit(resource.RLIMIT_CPU)[0] != resource.RLIM_INFINITY:
        _lower_limit(resource.RLIMIT_CPU, _computing_seconds() + max(1, ceil(seconds)))


def _computing_seconds() -> int:
    """Seconds of computing of this process so far."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return int(used.ru_utime + used.ru_stime)


def _lower_limit(which: int, to: int) -> None:
    """Set a soft limit, as far as the hard one lets it."""
    import resource

    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (to if hard == resource.RLIM_INFINITY else min(to, hard), hard))


def _address_space() -> int:
    """Bytes that this process has reserved. Source: the first number of /proc/self/statm, in pages."""
    import resource

    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
