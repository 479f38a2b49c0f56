"""How far a long computation is: what films, saved pages, runs and sweeps call with each number reached.

A display is asked with the first and the last number, and gives a context manager; its value is called with
each number in turn.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Progress = Callable[[int, int], AbstractContextManager[Callable[[int], None]]]


def quiet(first: int, last: int) -> AbstractContextManager[Callable[[int], None]]:
    """No display."""
    return nullcontext(lambda number: None)
