"""Limits of this process by `ulimit`: its address space and its data. Nothing else is imported for them."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterator

ADDRESS_SPACE = "ulimit -v"
_LIMITS = (("RLIMIT_AS", "VmSize", ADDRESS_SPACE), ("RLIMIT_DATA", "VmData", "ulimit -d"))
"""The name, the figure in /proc/self/status that it bounds, and the command that sets it."""


def limits() -> Iterator[tuple[int, str, str]]:
    """The limits that are set: bytes, the figure in /proc/self/status, and the command.

    None where the system has no such limits.
    """
    try:
        import resource
    except ImportError:
        return
    for name, counted, command in _LIMITS:
        most, _ = resource.getrlimit(getattr(resource, name))
        if most != resource.RLIM_INFINITY:
            yield most, counted, command


def address_space_is_limited() -> bool:
    """True under `ulimit -v`: threads and engines reserve more than they use."""
    return any(command == ADDRESS_SPACE for _, _, command in limits())
