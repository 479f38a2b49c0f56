"""The name of this machine's processor, which figures of time are stated with."""

import platform
from contextlib import suppress
from pathlib import Path


def processor_name() -> str:
    """The model's name, where the system tells it."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return platform.processor() or platform.machine()
