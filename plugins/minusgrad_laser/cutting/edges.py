"""Edges of a cut, measured on the replay of its job file: how far the line of threshold dose is off.

Beside each sample of an outline, the dose along its normal is read from the cells of the replay, bilinear;
the edge is where it falls through the dose that cuts, towards the part, nearest to the outline
(`scores.edge_placement`). Near corners another place of the edge may be nearer: it is sought among those
where the edge crosses lines of the grid and the dose falls towards the part. The distance is the smaller one
of these two, neither of which is below the true one. Above 0 the part is too small there.

Decisions 0182.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

from minusgrad.plugin import UserError

from ..contours import Contour, contour_crossings
from ..machine.profile import Profile
from ..scores import EdgePlacement, edge_placement
from ..virtual_machine import Replay, replay
from .samples import Samples

PIXEL, CELLS = 5e-6, 4e7
"""Side of a cell [m], and the most cells of a replay."""
COARSE = 0.15
"""Cells of a fifth of the spot by which linear places between them are off."""
NEIGHBOURS = 32
"""Crossings among which the nearest one is sought that is an edge of the part."""
REACH = 3e-4
"""How far from an outline its edge is sought [m]."""


@dataclass(frozen=True, eq=False)
class MeasuredEdges:
    """The edges of a job: `placement` along the samples that count, the replay."""

    placement: EdgePlacement
    replay: Replay


def measured_edges(
    text: str, profile: Profile, samples: Samples, fluence: float, pixel: float = PIXEL, reach: float = REACH
) -> MeasuredEdges:
    """The edges of a job file beside samples. fluence [J/m^2]: that cuts. pixel, reach [m].

    Raises `UserError` for a job whose cells are too many.
    """
    cells = float(np.prod(np.ptp(samples.points, axis=0) / pixel + 200.0))
    if cells > CELLS:
        raise UserError(
            f"cut: edges are measured on {CELLS:.2g} cells at most, got {cells:.2g}; take larger cells, or"
            " parts one by one"
        )
    done = replay(text, profile, pixel=pixel, full=fluence)
    return MeasuredEdges(edges_of_dose(done.dose, done.origin, pixel, samples, reach), done)


def edges_of_dose(
    dose: np.ndarray,
    origin: tuple[float, float],
    pixel: float,
    samples: Samples,
    reach: float = REACH,
    order: int = 1,
) -> EdgePlacement:
    """The edges of a dose (rows, columns) in parts of the one that cuts, whose first cell is centred at
    `origin` [m]. order: of the spline along normals, 3 for cells of a fifth of the spot.
    """
    places = (samples.points - origin)[:, ::-1] / pixel
    inwards = -samples.normals[:, ::-1]
    contour = Contour(places, inwards, samples.pieces / pixel)
    found = edge_placement(0.5 * dose, np.zeros_like(dose), pixel, reach, contour, order)
    found = replace(found, points=samples.points, normals=-samples.normals)
    crossings, _ = contour_crossings(0.5 * dose)
    if not len(crossings):
        return found
    falls = -np.stack(
        [ndimage.map_coordinates(g, crossings.T, order=1, mode="nearest") for g in np.gradient(dose)], axis=1
    )
    apart, which = cKDTree(crossings).query(places, k=min(NEIGHBOURS, len(crossings)))
    apart, which = apart.reshape(len(places), -1), which.reshape(len(places), -1)
    towards = (falls[which] * inwards[:, None]).sum(axis=2) > 0.3 * np.hypot(*falls[which].transpose(2, 0, 1))
    nearest = (np.where(towards, apart, np.inf).min(axis=1) + (COARSE if order > 1 else 0.0)) * pixel
    shorter = np.copysign(np.minimum(np.abs(found.error), nearest), found.error)
    return replace(found, error=shorter, found=np.abs(shorter) < reach)
