"""The program Gmsh as a reference, where it is installed and starts."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def gmsh_session() -> Iterator[Any]:
    """The module `gmsh`, begun and quiet; the test is skipped where it is not installed, or lacks a library.

    Gmsh takes the signal of broken pipes, which would end the process of later tests.
    """
    try:
        import gmsh
    except (ImportError, OSError) as error:  # OSError: a library of the system
        pytest.skip(f"needs gmsh: {error}")
    pipes = getattr(signal, "SIGPIPE", None)  # Windows has none
    before = signal.getsignal(pipes) if pipes else None
    gmsh.initialize(interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        yield gmsh
    finally:
        gmsh.finalize()
        if pipes:
            signal.signal(pipes, before)
