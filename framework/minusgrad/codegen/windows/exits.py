"""Windows that leave their grid: found after a launch, and named with node, cells and place.

Kernels set one number of a map where a window is not within the grid, if that is refused (`WindowLoops`);
what the message says is computed afterwards, in Python.

Decisions 0275.
"""

import inspect
from collections.abc import Sequence

import numpy as np

from ...engine import storage
from ...errors import EnergyError
from ..map_loops import MapLoops
from .scatter_loops import LOST, WindowLoops

CURE = (
    "take a larger grid, keep what moves within walls, or give the map"
    ' outside = "cut" to lose what lies beyond'
)


def have_exits(loops: MapLoops) -> bool:
    """True if a window has left the grid, where that is refused, since `forget_exits`."""
    return isinstance(loops, WindowLoops) and loops.exits is not None and bool(storage.host(loops.exits)[0])


def forget_exits(loops: MapLoops) -> None:
    """Reset `have_exits`."""
    if isinstance(loops, WindowLoops) and have_exits(loops):
        storage.store(loops.exits, np.zeros(1, np.int32))


def first_exit(loops: MapLoops, t: float) -> str | None:
    """The first element whose window has left the grid at the present fields, as a text; None without one."""
    if not isinstance(loops, WindowLoops) or not have_exits(loops):
        return None
    lost = loops.windows[:, 0] == LOST
    if not lost.any():
        return None
    element = int(np.argmax(lost))
    term, nodes = loops.term, loops.term.elements.nodes[element]
    values = term.arguments(element, nodes, t)
    what = f"map '{term.name}', node {nodes[0]}"
    with np.errstate(all="ignore"):
        try:
            ranges = loops.map.reach()(values)
        except (ValueError, OverflowError):
            return f"{what}: its window is not finite"
    assert loops.map.window is not None
    read = [a for a in inspect.signature(loops.map.window).parameters if a in term.fields]
    place = ", ".join(f"{term.fields[a].name} = {_value_text(values[a][0])}" for a in read)
    meets = all(r.start < n and r.stop > 0 for r, n in zip(ranges, loops.shape, strict=True))
    wrong = "leaves" if meets else "does not meet"
    cells = ", ".join(f"{r.start} to {r.stop - 1}" for r in ranges)
    return (
        f"{what}: its window {wrong} the grid of {_shape_text(loops.shape)} cells, got {cells} with {place}; "
        f"{CURE}"
    )


def refuse_idle(loops: MapLoops) -> None:
    """Raise `EnergyError` if no window meets the grid, after a launch."""
    if not isinstance(loops, WindowLoops) or loops.beyond:
        return
    window = loops.windows
    inside = [(window[:, 2 * a] < n) & (window[:, 2 * a + 1] >= 0) for a, n in enumerate(loops.shape)]
    if not np.logical_and.reduce(inside).any():
        low, high = window[:, ::2].min(axis=0), window[:, 1::2].max(axis=0)
        cells = ", ".join(f"{a} to {b}" for a, b in zip(low, high, strict=True))
        raise EnergyError(
            f"map '{loops.term.name}': no window meets the grid of {_shape_text(loops.shape)} cells, got "
            f"{cells};"
            " correct the places, or the grid's spacing"
        )


def _shape_text(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


def _value_text(value: object) -> str:
    """A number or a vector, in 6 digits."""
    numbers = [f"{number:.6g}" for number in np.ravel(np.asarray(value, float))]
    return numbers[0] if np.ndim(value) == 0 else f"[{', '.join(numbers)}]"  # type: ignore[arg-type]
