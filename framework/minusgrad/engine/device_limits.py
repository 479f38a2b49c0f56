"""Limits of devices that no engine reports: the turns of loops.

Software devices of Mesa end all loops of a thread after 65,535 turns together, without a message, so that
values of longer ones are wrong. GPUs have no such limit.
"""

import linecache
from logging import getLogger
from types import ModuleType
from typing import Any

logger = getLogger("minusgrad")
_TURNS = 1 << 17
_PROBE = """\
def turns(most: ti.i32, found: ti.types.ndarray(dtype=ti.i32, ndim=1)):
    for one in range(found.shape[0]):
        count = 0
        for turn in range(most):
            count += turn & 1
        found[one] = 2 * count
"""


def ends_loops(ti: ModuleType) -> bool:
    """True if the device that the engine runs on leaves out turns of long loops."""
    file, scope = "<minusgrad turns of a loop>", dict[str, Any](ti=ti)
    linecache.cache[file] = (len(_PROBE), None, _PROBE.splitlines(keepends=True), file)
    exec(compile(_PROBE, file, "exec"), scope)
    found = ti.ndarray(ti.i32, 1)
    ti.kernel(scope["turns"])(_TURNS, found)
    return int(found.to_numpy()[0]) != _TURNS


def warn_of_loops(ti: ModuleType, arch: str) -> None:
    """Log a warning if the device leaves out turns of long loops."""
    if ends_loops(ti):
        logger.warning(
            "arch '%s': this device ends the loops of a thread after 65,535 turns, as software devices do,"
            ' and longer ones give wrong values without a message; use arch = "cpu"',
            arch,
        )
