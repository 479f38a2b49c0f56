"""The running engine in tests: started again; the memory that its process holds."""

import os
from pathlib import Path

from minusgrad.engine import runtime


def restarted() -> None:
    """Start the engine again with the options that hold: every kernel is compiled when it is next called."""
    runtime.start()
    options, runtime._Running.options = runtime._Running.options, None
    runtime.start(options)


def resident() -> float:
    """Megabytes of memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
