"""Evidence about a job: the maps, the path and the numbers that a report shows.

Maps are (rows, columns), row 0 at the bottom; lengths in metres, times in seconds, powers in watts.
"""

from dataclasses import dataclass, field

import numpy as np

from ..jobs.toolpath import Toolpath
from ..machine.profile import Profile
from ..scores import EdgePlacement, edge_placement, intersection_over_union, misplaced_areas


@dataclass(frozen=True, eq=False)
class Motion:
    """The motion that the machine makes of a job: at times (k,), the speed (k,) and the power (k,)."""

    time: np.ndarray
    speed: np.ndarray
    power: np.ndarray


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
    seconds: float
    violations: tuple[str, ...] = ()
    target: np.ndarray | None = None
    loss: tuple[np.ndarray, np.ndarray] | None = None
    facts: tuple[tuple[str, str], ...] = field(default=())
    """Further rows of the table: a name and a text."""

    def maps(self) -> dict[str, np.ndarray]:
        """Dose, developed map and target (rows, columns), by name."""
        target = {} if self.target is None else {"target": self.target}
        return {"dose": self.dose, "developed": self.developed} | target

    @property
    def usual_dose(self) -> float:
        """The median dose of the cells that have at least a quarter of the largest 95 %: that of a line."""
        lit = self.dose[self.dose > 0.0]
        if not len(lit):
            return 1.0
        return float(np.median(lit[lit >= 0.25 * np.quantile(lit, 0.95)]))

    def edges(self) -> EdgePlacement | None:
        """The edge placement error along the target's contour, None without a target."""
        if self.target is None:
            return None
        return edge_placement(self.developed, self.target, self.pixel, reach=2.0 * self.machine.spot)

    def rows(self) -> list[tuple[str, str]]:
        """The table of scores: a name and a text with its unit."""
        found = [] if self.target is None else self._compared(self.target)
        return [
            *found,
            ("peak dose", f"{self.dose.max():.3g} of full"),
            ("job time", clock(self.seconds)),
            ("limits broken", str(len(self.violations))),
            *self.facts,
        ]

    def _compared(self, target: np.ndarray) -> list[tuple[str, str]]:
        edges = self.edges()
        assert edges is not None
        over, under = misplaced_areas(self.developed, target, self.pixel)
        return [
            ("intersection over union", f"{intersection_over_union(self.developed, target):.4f}"),
            ("edge placement, mean", micrometres(edges.mean)),
            ("edge placement, 95 %", micrometres(edges.quantile(0.95))),
            ("edge placement, largest", micrometres(edges.most)),
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
