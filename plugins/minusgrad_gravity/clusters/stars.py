"""The stars that an observer of a cluster sees: some bodies of the state or all, about their centre.

centre = "mass"        the centre of mass
centre = "shrinking"   that of the stars inside of a sphere about it which shrinks by 2.5 % at a time until
                       it holds 1 % of them, but 100 at least: the densest place (Power et al. 2003, MNRAS
                       338, 14)
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from minusgrad.plugin import ObserverContext, UserError

Centre = Literal["mass", "shrinking"]
Names = str | tuple[str, ...]
"""A body, or several."""
SHRUNK, LEAST, PART = 0.975, 100, 0.01


@dataclass(frozen=True)
class Stars:
    """Numbers of the stars (n,), and how their centre is found."""

    nodes: np.ndarray
    centre: Centre

    @classmethod
    def of(cls, kind: str, context: ObserverContext, body: Names | None, centre: Centre) -> "Stars":
        """All stars, or those of bodies. Raises `UserError` without point masses in space or such a body."""
        fields: Any = context.stepper.potential.fields
        if missing := [name for name in "xvm" if name not in fields]:
            raise UserError(f"{kind}: the state has no field '{missing[0]}'; take a state of point masses")
        if (d := fields["x"].values.shape[1]) != 3:
            raise UserError(f"{kind}: is of stars in space, got {d} axes; leave it out")
        bodies = {one.name: one.nodes for one in context.state.bodies}
        names = (body,) if isinstance(body, str) else body
        if names == ():
            raise UserError(f"{kind}: body = [] names no body; leave it out for all stars")
        if missing := [one for one in names or () if one not in bodies]:
            raise UserError(
                f"{kind}: no body named '{missing[0]}' (there are: {', '.join(bodies) or 'none'}); leave"
                f" `body` out for all stars{', or name one of these' if bodies else ''}"
            )
        every = np.arange(len(fields["x"].values))
        return cls(np.unique(np.concatenate([bodies[one] for one in names])) if names else every, centre)

    @staticmethod
    def stem(series: str, body: Names | None) -> str:
        """The name of a series, of bodies followed by their names."""
        return series if body is None else f"{series}/{body if isinstance(body, str) else '_'.join(body)}"

    def radii(self, fields: Any) -> tuple[np.ndarray, np.ndarray]:
        """Distances from the centre, ascending, and the masses in this order, (n,)."""
        x, m = (fields[name].values[self.nodes].astype(np.float64) for name in "xm")
        r = np.linalg.norm(x - centre_of(x, m, self.centre), axis=1)
        order = np.argsort(r, kind="stable")
        return r[order], m[order]


def centre_of(x: np.ndarray, m: np.ndarray, kind: Centre) -> np.ndarray:
    """The centre (3,) of stars x (n, 3) of masses m (n,)."""
    place = m @ x / m.sum()
    if kind == "mass":
        return place
    r = np.linalg.norm(x - place, axis=1)
    reach, least = r.max(), max(LEAST, int(PART * len(x)))
    while (inside := r < reach).sum() >= least:
        place = m[inside] @ x[inside] / m[inside].sum()
        r, reach = np.linalg.norm(x - place, axis=1), SHRUNK * reach
    return place
