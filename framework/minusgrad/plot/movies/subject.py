"""The thing that moves in a movie."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .. import mesh_artists
from .reel import ReelFrame

if TYPE_CHECKING:
    from matplotlib.figure import Figure


USUAL = 99.5
"""The percentile of values that colours reach at least."""


class MovieSubject(Protocol):
    """A drawing that follows the frames of a run.

    `survey` is called with every frame, then `prepare` once, then `show` with every frame again; `when` is
    the label of its time.
    """

    stem: str
    """Of the file's name."""

    @property
    def series(self) -> Sequence[str]:
        """The series that are read; the first one has the frames."""

    def survey(self, frame: ReelFrame) -> None: ...

    def prepare(self, figure: "Figure") -> None: ...

    def show(self, frame: ReelFrame, when: str) -> None: ...


def numbers(row: np.ndarray) -> np.ndarray:
    """A number for each node or tuple, (n,): of vectors and matrices their norm."""
    flat = row.astype(float).reshape(len(row), -1)
    return flat[:, 0] if row.ndim == 1 else np.linalg.norm(flat, axis=1)


class Extent:
    """The box of all points that it was given."""

    def __init__(self) -> None:
        self.low, self.high = np.array(np.inf), np.array(-np.inf)

    def add(self, points: np.ndarray) -> None:
        """Include points (n, d)."""
        self.low = np.minimum(self.low, points.min(axis=0))
        self.high = np.maximum(self.high, points.max(axis=0))

    def widened(self, edge: float) -> tuple[np.ndarray, np.ndarray]:
        """Its corners, and this part of its longest side around them; never without area."""
        reach = float((self.high - self.low).max()) or 1.0
        least = np.maximum(0.2 * reach - (self.high - self.low), 0.0) / 2
        return self.low - edge * reach - least, self.high + edge * reach + least


class ColourSample:
    """Values for a colour scale: the lowest and the highest of all frames, and some of each."""

    def __init__(self) -> None:
        self._kept: list[np.ndarray] = []

    def add(self, values: np.ndarray) -> None:
        flat = np.asarray(values, float).ravel()
        flat = flat[np.isfinite(flat)]
        if len(flat):
            self._kept.append(np.append(flat[:: 1 + len(flat) // 1000], [flat.min(), flat.max()]))

    def scale(self, kind: mesh_artists.Kind) -> mesh_artists.Colours:
        """The colour scale of all frames, which need not reach the few values far above the others."""
        size = np.abs(self.values)
        usual, most = float(np.percentile(size, USUAL)), float(size.max())
        if not 0.05 * most < usual < 0.7 * most:
            return mesh_artists.colours(self.values, kind)
        scale = mesh_artists.colours(np.clip(self.values, -usual, usual), kind)
        return scale._replace(beyond="both" if scale.beyond == "min" or self.values.min() < -usual else "max")

    @property
    def values(self) -> np.ndarray:
        """The values (n,); zero if none is finite."""
        return np.concatenate(self._kept) if self._kept else np.zeros(1)
