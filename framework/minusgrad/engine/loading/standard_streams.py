"""The standard streams of the process, on which the engines' C++ code writes beside Python's.

Decisions 0339.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def mute_descriptor(descriptor: int) -> Iterator[None]:
    """Context manager: what is written to this descriptor of the process is thrown away."""
    before, null = os.dup(descriptor), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    try:
        yield
    finally:
        os.dup2(before, descriptor)
        os.close(before)
        os.close(null)
