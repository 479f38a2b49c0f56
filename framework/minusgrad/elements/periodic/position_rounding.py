"""Rounding of positions far from a periodic box: they are not wrapped, and lose digits on the way.

    eps |s| > 1e-6        s: coordinates in units of the edge vectors, eps: that of the precision

In f32 that is 9 boxes away, where forces of pairs are about ten times as coarse as within the box; in f64
5e9 boxes. Wrapped positions would need the images of tuples, constraints and frames to follow.

Decisions 0051.
"""

import numpy as np

from ..periodic_box import FAR, PeriodicBox

COARSE = 1e-6
"""Parts of an edge: coarser positions are worth a warning. Within the box forces of f32 are off by 1e-6."""


class PositionRounding:
    """A warning where positions are rounded coarsely; again where it is ten times as coarse."""

    def __init__(self) -> None:
        self._warned = COARSE

    def warning(self, x: np.ndarray, box: PeriodicBox | None) -> str | None:
        """The text of a warning about positions x (n, d) of a box; None if there is nothing new to say."""
        if box is None:
            return None
        s = np.abs(np.where(box.periodic, box.fractions(x), 0.0)).max(axis=1)
        node, eps = int(np.argmax(s)), float(np.finfo(x.dtype).eps)
        if not self._warned < eps * s[node] or s[node] >= FAR:
            return None
        self._warned = 10.0 * eps * s[node]
        cure = "wrap whole molecules into the box before"
        if x.dtype == np.float32:
            cure = f'use precision = "f64", or {cure}'
        gap = float(np.spacing(np.abs(x[node]).max()))
        return (
            f"field 'x', node {node}: is {s[node]:.3g} boxes away, got {x[node].tolist()}, where two numbers"
            f" of this precision are {gap:.2g} apart, {s[node]:.3g} times as far as in the box: forces"
            f" lose as many digits; {cure}"
        )
