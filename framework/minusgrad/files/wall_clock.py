"""Wall-clock time for saves: when one is due. It decides when files are written, never their contents.

Decisions 0235.
"""

import time

FIRST = 30.0
"""Seconds to the first save by the clock, so that a running run can be looked at early."""


def now() -> float:
    """Seconds since some moment; tests replace this function."""
    return time.monotonic()


class Alarm:
    """Due `first` seconds after its start and then every `seconds`; never, if `seconds` is 0."""

    def __init__(self, seconds: float, first: float = FIRST):
        self._seconds = seconds
        self._next = now() + min(first, seconds)

    def due(self) -> bool:
        """Whether the time has come."""
        return self._seconds > 0 and now() >= self._next

    def wind(self) -> None:
        """Count from now on."""
        self._next = now() + self._seconds
