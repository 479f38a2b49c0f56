"""Evidence about a job: the maps, the path and the numbers that a report shows.

Maps are (rows, columns), row 0 at the bottom; lengths in metres, times in seconds, powers in watts.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import ndimage

from ..jobs.toolpath import Toolpath
from ..machine.profile import Profile
from ..scores import EdgePlacement, edge_placement, intersection_over_union, misplaced_areas
from ..virtual_machine.survey import Survey

OVERBURN = 2.0
"""Dose over the dose that is meant that is a finding: the head stood, or slowed, with the laser on."""


@dataclass(frozen=True, eq=False)
class Motion:
    """The motion that the machine makes of a job: at times (k,), the speed (k,) and the power (k,)."""

    time: np.ndarray
    speed: np.ndarray
    power: np.ndarray


@dataclass(frozen=True)
class Burn:
    """A place with `times` the dose that is meant, at x, y [m] of the job file; area [m^2]."""

    times: float
    x: float
    y: float
    area: float

    def __str__(self) -> str:
        return (
            f"over-burn: {self.times:.3g} times the dose that is meant at x = {self.x * 1e3:.2f} mm,"
            f" y = {self.y * 1e3:.2f} mm; {self.area * 1e6:.2g} mm² have more than {OVERBURN:g} times"
        )


@dataclass(frozen=True, eq=False)
class LayerPath:
    """The lit moves (n, 2, 2) [m] of a layer, in coordinates of the job file, and its name."""

    title: str
    moves: np.ndarray


@dataclass(frozen=True, eq=False)
class Evidence:
    """A job, and what the virtual machine made of its file.

    target is None where a file is replayed without its image; loss are the iterations and the values of a
    search. violations are sentences, one for each limit that is broken.
    """

    title: str
    machine: Profile
    pixel: float
    dose: np.ndarray
    developed: np.ndarray
    path: Toolpath
    motion: Motion
    overburn: np.ndarray
    """Dose over the dose that the program means, 1 at the median along the path; NaN where it means none."""
    seconds: float
    violations: tuple[str, ...] = ()
    origin: tuple[float, float] = (0.0, 0.0)
    """The centre of the first cell, in coordinates of the job file [m]."""
    target: np.ndarray | None = None
    loss: tuple[np.ndarray, np.ndarray] | None = None
    remarks: tuple[str, ...] = ()
    """Sentences about how far the numbers can be trusted."""
    facts: tuple[tuple[str, str], ...] = field(default=())
    """Further rows of the table: a name and a text."""
    survey: Survey | None = None
    """Of a job file whose maps here are pictures: the numbers of all its cells."""
    layers: tuple[LayerPath, ...] = ()
    """Of a job from a drawing, in their order."""

    def maps(self) -> dict[str, np.ndarray]:
        """Dose, developed map and target (rows, columns), by name."""
        target = {} if self.target is None else {"target": self.target}
        return {"dose": self.dose, "developed": self.developed} | target

    @cached_property
    def burns(self) -> list[Burn]:
        """Places with more than `OVERBURN` of the dose that is meant, the hottest first."""
        if self.survey is not None:
            return [self._burn_region(*one) for one in self.survey.hot]
        part = np.nan_to_num(self.overburn)
        regions, count = ndimage.label(part > OVERBURN)
        found = []
        for k in range(1, count + 1):
            inside = np.where(regions == k, part, 0.0)
            row, column = np.unravel_index(np.argmax(inside), inside.shape)
            area = np.count_nonzero(regions == k) * self.pixel**2
            x, y = (o + z * self.pixel for o, z in zip(self.origin, (column, row), strict=True))
            found.append(Burn(float(inside.max()), float(x), float(y), area))
        return sorted(found, key=lambda burn: -burn.times)

    def _burn_region(self, times: float, row: int, column: int, cells: int) -> Burn:
        assert self.survey is not None
        pixel, (x, y) = self.survey.pixel, self.survey.origin
        return Burn(times, x + column * pixel, y + row * pixel, cells * pixel**2)

    @property
    def size(self) -> tuple[tuple[int, int], float]:
        """Rows and columns of all cells, and the side of one [m]."""
        if self.survey is None:
            return self.dose.shape, self.pixel
        return self.survey.shape, self.survey.pixel

    @cached_property
    def edges(self) -> EdgePlacement | None:
        """The edge placement error along the target's contour, None without a target."""
        if self.target is None:
            return None
        return edge_placement(self.developed, self.target, self.pixel, reach=2.0 * max(self.machine.spot))

    @cached_property
    def rows(self) -> list[tuple[str, str]]:
        """The table of scores: a name and a text with its unit."""
        found = [] if self.target is None else self._compared_scores(self.target)
        if self.survey is None:
            peak, worst = float(self.dose.max()), float(np.nanmax(self.overburn))
        else:
            peak, worst = self.survey.peak, self.survey.worst
        return [
            *found,
            ("peak dose", f"{peak:.3g} of full"),
            ("over-burn, largest", f"{worst:.3g}"),
            ("job time", clock(self.seconds)),
            ("limits broken", str(len(self.violations))),
            *self.facts,
        ]

    def _compared_scores(self, target: np.ndarray) -> list[tuple[str, str]]:
        edges = self.edges
        assert edges is not None
        over, under = misplaced_areas(self.developed, target, self.pixel)
        return [
            ("intersection over union", f"{intersection_over_union(self.developed, target):.4f}"),
            ("edge placement, mean", micrometres(edges.mean)),
            ("edge placement, 95 %", micrometres(edges.quantile(0.95))),
            ("edge placement, largest", micrometres(edges.largest_error)),
            ("over-exposed area", f"{over * 1e6:.4g} mm²"),
            ("under-exposed area", f"{under * 1e6:.4g} mm²"),
        ]


def micrometres(length: float) -> str:
    return f"{length * 1e6:.3g} µm"


def clock(seconds: float) -> str:
    """`42.1 s`, `3 min 07 s`, `1 h 02 min`."""
    if seconds < 99.95:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
