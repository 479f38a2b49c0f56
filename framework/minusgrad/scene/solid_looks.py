"""What the elements of a list look like in pictures: lines as tubes and bars, facets as sheets.

    tube     an ellipse with the diameters a, b along d1, d2 around each line, with a stripe along d1
    bar      a rectangle with the sides a, b along d1, d2
    sheet    facets with a thickness, half of it on either side, and two sides of different colours

a, b and the thickness are lengths. d1, d2, d3 are the columns of the rotation of a field of quaternions
(w, x, y, z), a row for each line, d3 along it; without one a tube has no stripe.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..errors import EnergyError

TUBE, BAR, SHEET = "tube", "bar", "sheet"


@dataclass(frozen=True)
class Tubes:
    """Lines (E, 2) as tubes, or as bars.

    widths: (E, 2), or (2,) for all: along d1 and along d2. frames: the name of the field of quaternions, ""
    for none. outline: "tube" for ellipses, "bar" for rectangles.
    """

    widths: Any
    frames: str = ""
    outline: Literal["tube", "bar"] = "tube"


@dataclass(frozen=True)
class Sheets:
    """Facets (E, 3) as a sheet. thickness: (E,), or one number for all."""

    thickness: Any


@dataclass(frozen=True)
class Look:
    """A look as files keep it: shape "tube", "bar" or "sheet"; sizes (E, 2), of sheets (E, 1); frames: the
    label of the series of quaternions, "" for none. unit: of the sizes, its symbol and its size in SI."""

    shape: str
    sizes: np.ndarray
    frames: str = ""
    unit: tuple[str, float] | None = None

    @property
    def is_sheet(self) -> bool:
        return self.shape == SHEET


def look(name: str, given: Tubes | Sheets, tuples: np.ndarray | None, frames: int | None = None) -> Look:
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
        return Look(SHEET, sizes)
    if given.outline not in (TUBE, BAR):
        raise EnergyError(f"looks.{name}: outline must be 'tube' or 'bar', got {given.outline!r}; take one")
    if given.frames and frames != len(tuples):
        raise EnergyError(
            f"looks.{name}: frames '{given.frames}' need a row for each of {len(tuples)} lines, got {frames};"
            " name the field of their quaternions"
        )
    return Look(given.outline, sizes, given.frames)
