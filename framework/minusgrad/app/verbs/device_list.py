"""The devices that scenes can name on this machine, by architecture: number, name, memory.

Decisions 0206.
"""

import os
import platform
from typing import Any

from ...engine import device_limits, memory, runtime
from ...engine.devices import devices as of_driver

ABSENT = "not on this machine"
SOFTWARE = f"computed by the CPU, for trials of small systems; {device_limits.VARIABLE}=1 allows it"
UNNAMED = "works; its driver tells neither name nor memory"


def devices() -> list[dict[str, Any]]:
    """Rows with arch, works, device (its number, as `[runtime] device` takes it), name, memory and a remark.

    One of the CPU, and at least one of each other architecture. memory: in bytes; None where the driver
    does not report it.
    works: True if the engine of this process finds the driver; nothing is started.
    """
    return [row for arch in runtime.ARCHS for row in _of(arch)]


def _of(arch: str) -> list[dict[str, Any]]:
    if arch == "cpu":
        cores = f"{platform.machine()}, {os.cpu_count()} cores"
        return [_row(arch, True, None, cores, memory.whole(), "")]
    if not runtime.is_there(arch):
        return [_row(arch, False, None, "", None, ABSENT)]
    found = of_driver(arch)
    if not found:
        return [_row(arch, True, None, "", None, UNNAMED)]
    return [_row(arch, True, d.number, d.name, d.memory, SOFTWARE if d.software else "") for d in found]


def _row(
    arch: str, works: bool, device: int | None, name: str, size: int | None, remark: str
) -> dict[str, Any]:
    return {
        "arch": arch,
        "works": works,
        "device": device,
        "name": name,
        "memory": size,
        "remark": remark,
    }
