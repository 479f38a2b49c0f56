"""What the elements of a list look like in pictures: lines as tubes and bars, facets as sheets.

    tube     an ellipse with the diameters a, b along d1, d2 around each line, with a stripe along d1
    bar      a rectangle with the sides a, b along d1, d2
    sheet    facets with a thickness, half of it on either side, and two sides of different colours

a, b and the thickness are lengths. d1, d2, d3 are the columns of the rotation of a field of quaternions
(w, x, y, z), a row for each line, d3 along it; without one a tube has no stripe.

Decisions 0138.
"""

from dataclasses import dataclass
from typing import Any, Literal


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
