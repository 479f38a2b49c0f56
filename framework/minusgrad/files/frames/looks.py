"""What the tuples of a list look like, as files keep it: tubes and bars around lines, sheets of facets.

    sizes    tube (E, 2) diameters of an ellipse along d1 and d2; bar (E, 2) sides of a rectangle along them;
             sheet (E, 1) the thickness

Decisions 0138.
"""

from dataclasses import dataclass

import numpy as np

TUBE, BAR, SHEET = "tube", "bar", "sheet"


@dataclass(frozen=True)
class ListLook:
    """A look as files keep it: shape "tube", "bar" or "sheet"; sizes (E, 2), of sheets (E, 1); frames: the
    label of the series of quaternions, "" for none. unit: of the sizes, its symbol and its size in SI."""

    shape: str
    sizes: np.ndarray
    frames: str = ""
    unit: tuple[str, float] | None = None

    @property
    def is_sheet(self) -> bool:
        return self.shape == SHEET

    @property
    def radii(self) -> np.ndarray:
        """The radius (E,) of circles with the area of the cross-sections."""
        return np.sqrt(self.sizes.prod(axis=1) / (np.pi if self.shape == BAR else 4.0))
