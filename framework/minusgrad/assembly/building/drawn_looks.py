"""What the elements of lists look like, as a run records it: `State.looks`, checked.

Decisions 0138.
"""

from dataclasses import replace

import numpy as np

from ...energies.fields import State
from ...errors import EnergyError
from ...files.frames.looks import BAR, SHEET, TUBE, ListLook
from ...scene.solid_looks import Sheets, Tubes


def drawn_looks(state: State, length: tuple[str, float]) -> dict[str, ListLook]:
    """What the elements of lists look like, as it is recorded. Raises `EnergyError` for wrong ones."""
    found = {}
    for name, given in state.looks.items():
        field = given.frames if isinstance(given, Tubes) else ""
        rows = state.fields.get(field)
        one = look(name, given, state.tuples.get(name), None if rows is None else len(rows))
        found[name] = replace(one, frames=state.labels.get(field, field), unit=length)
    return found


def look(name: str, given: Tubes | Sheets, tuples: np.ndarray | None, frames: int | None = None) -> ListLook:
    """The look of a list of this name, whose elements are tuples (E, k); frames: rows of the field.

    Raises `EnergyError` for a list that there is not or that cannot look so, and for sizes that are not
    positive numbers, one for each element.
    """
    corners, what = (3, "three nodes") if isinstance(given, Sheets) else (2, "two nodes")
    if tuples is None:
        raise EnergyError(f"looks.{name}: there is no list of this name; name one of the state's tuples")
    if tuples.shape[1] != corners:
        raise EnergyError(f"looks.{name}: needs elements of {what}, got {tuples.shape[1]}; use another list")
    values = given.thickness if isinstance(given, Sheets) else given.widths
    columns = 1 if isinstance(given, Sheets) else 2
    sizes = np.asarray(values, float)
    sizes = sizes[:, None] if isinstance(given, Sheets) and sizes.ndim == 1 else sizes
    try:
        sizes = np.array(np.broadcast_to(sizes, (len(tuples), columns)))
    except ValueError:
        raise EnergyError(
            f"looks.{name}: needs sizes ({len(tuples)}, {columns}), got {sizes.shape}; give one for each"
        ) from None
    if not (np.isfinite(sizes) & (sizes > 0.0)).all():
        raise EnergyError(f"looks.{name}: sizes must be above zero, got {sizes.min():g}; correct them")
    if isinstance(given, Sheets):
        return ListLook(SHEET, sizes)
    if given.outline not in (TUBE, BAR):
        raise EnergyError(f"looks.{name}: outline must be 'tube' or 'bar', got {given.outline!r}; take one")
    if given.frames and frames != len(tuples):
        raise EnergyError(
            f"looks.{name}: frames '{given.frames}' need a row for each of {len(tuples)} lines, got {frames};"
            " name the field of their quaternions"
        )
    return ListLook(given.outline, sizes, given.frames)
