"""What is said of the critical points of a path."""

from collections.abc import Mapping

import numpy as np

from .critical_points import LIMIT, CriticalState


def named_point(kind: str, load: float) -> str:
    """A critical point in words: `a limit point at load 0.5 of 1`."""
    return f"a {kind} at load {load:.7g} of 1"


def described_point(point: CriticalState, slopes: Mapping[str, np.ndarray]) -> str:
    """A remark on a critical point; slopes: d(load)/d(name) there, by name."""
    where = f"{named_point(point.kind, point.load)}, whose mode moves node {point.node} most"
    if point.kind == LIMIT:
        single = {n: float(s.reshape(-1)[0]) for n, s in slopes.items() if s.size == 1}
        change = "".join(f"; its load changes by {s:.7g} per unit of {n}" for n, s in single.items())
        return f"{where}: the load turns there{change}"
    several = f" ({point.count} modes at once)" if point.count > 1 else ""
    return (
        f"{where}{several}: another path branches off, and stability changes; `branch` in load_steps follows"
        " it, and an imperfect body goes there by itself"
    )
