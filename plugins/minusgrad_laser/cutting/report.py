"""The report of a cut: kerfs, edges as replayed, job time, remarks.

Decisions 0182.
"""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from ..jobs.toolpath import Toolpath
from ..scores import EdgePlacement
from .edges import MeasuredEdges

FINE = 5e-6
"""Distance of places of the path [m] at which the dose is asked for."""


@dataclass(frozen=True, eq=False)
class CutReport:
    """What a job leaves: kerfs of lines along y and along x [m], seconds of the job and of a plain cut, the
    edges as replayed (None if they were not measured), and remarks.
    """

    kerfs: tuple[float, float]
    seconds: float
    plain_seconds: float
    edges: EdgePlacement | None
    remarks: tuple[str, ...]

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Names and texts of a table."""
        found = [("kerf across x, across y", ", ".join(f"{1e6 * one:.3g} µm" for one in self.kerfs))]
        if (edges := self.edges) is not None:
            found += [
                ("edge off the outline, mean", f"{1e6 * edges.mean:.3g} µm"),
                ("edge off the outline, 95 %", f"{1e6 * edges.quantile(0.95):.3g} µm"),
                ("edge off the outline, largest", f"{1e6 * edges.largest_error:.3g} µm"),
            ]
        part = self.seconds / self.plain_seconds
        return [*found, ("job time", f"{self.seconds:.3g} s ({part:.2f} of a plain cut)")]


def uncut_remark(path: Toolpath, measured: MeasuredEdges, order: int = 0) -> list[str]:
    """A remark where lit moves leave less than the dose that cuts: a bridge holds the part there.

    Ends of strokes, where the dose is half of that of a line, are left out. order: of the spline between
    cells, 3 for cells of a fifth of the spot.
    """
    done = measured.replay
    x, y, piece = _places_of_strokes(path, 0.7 * max(done.waists))
    places = [(z - o) / done.pixel for z, o in zip((y, x), done.origin[::-1], strict=True)]
    dose = ndimage.map_coordinates(done.dose, places, order=order, mode="nearest")
    length = float(piece[dose < 1.0].sum())
    if length == 0.0:
        return []
    k = int(np.argmin(dose))
    return [
        f"{1e3 * length:.2g} mm of the path are not cut through; the least dose is {dose[k]:.2g} of the one"
        f" that cuts, at x = {1e3 * x[k]:.2f} mm, y = {1e3 * y[k]:.2f} mm"
    ]


def _places_of_strokes(path: Toolpath, ends: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, y and lengths [m] of short pieces of lit strokes without their ends [m]; loops have none."""
    xs, ys, pieces = [], [], []
    starts = np.flatnonzero(~path.lit[:-1] & path.lit[1:])
    for begin in np.unique(np.append(0, starts)).tolist():
        stop = begin + 1
        while stop < len(path) and path.lit[stop]:
            stop += 1
        x, y = path.x[begin:stop], path.y[begin:stop]
        along = np.append(0.0, np.cumsum(np.hypot(np.diff(x), np.diff(y))))
        closed = np.hypot(x[-1] - x[0], y[-1] - y[0]) < FINE
        low, high = (0.0, along[-1]) if closed else (ends, along[-1] - ends)
        count = int(np.ceil((high - low) / FINE))
        if count > 0:
            at = low + (np.arange(count) + 0.5) * (high - low) / count
            xs.append(np.interp(at, along, x))
            ys.append(np.interp(at, along, y))
            pieces.append(np.full(count, (high - low) / count))
    none = [np.zeros(0)]
    return np.concatenate(xs or none), np.concatenate(ys or none), np.concatenate(pieces or none)
