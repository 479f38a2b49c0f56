"""Limits of devices that no engine reports: the turns of loops.

Software devices of Mesa end all loops of a thread after 65,535 turns together, without a message, so that
values of longer ones are wrong: a sum over a hundred thousand cells into one number. GPUs have no such
limit. A device that has it is refused, unless MINUSGRAD_SHORT_LOOPS says that it shall be tried all the same,
as tests of small systems do.

Decisions 0202.
"""

import linecache
import os
from logging import getLogger
from types import ModuleType
from typing import Any

from ..errors import RuntimeUnavailableError

logger = getLogger("minusgrad")
VARIABLE = "MINUSGRAD_SHORT_LOOPS"
"""Set to 1: devices that end long loops are used, with a warning."""
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


def refuse_short_loops(ti: ModuleType, arch: str) -> None:
    """Warn of a device that leaves out turns of long loops.

    Raises `RuntimeUnavailableError` for one, unless `VARIABLE` is set.
    """
    if not ends_loops(ti):
        return
    text = f"arch '{arch}': this device ends the loops of a thread after 65,535 turns, as software devices do"
    if os.environ.get(VARIABLE) == "1":
        logger.warning("%s: values of larger systems can be wrong; %s is set", text, VARIABLE)
        return
    raise RuntimeUnavailableError(
        f'{text}, and values of larger systems would be wrong; use a GPU or arch = "cpu", or set'
        f" {VARIABLE}=1 to try small ones"
    )
