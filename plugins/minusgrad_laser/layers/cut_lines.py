"""The path of a layer that is cut: by the dose that cuts, known from the kerf of a line, or the material.

    h_x(H) + h_y(H) = kerf      half the kerfs of lines along y and x (`cutting.kerf`), for the H that cuts

H [J/m^2] is the fluence of all passes. Without a kerf it is the threshold of the material.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from minusgrad.plugin import UserError

from ..cutting.cut import CutOptions, cut_parts
from ..cutting.kerf import PEAK, half_kerfs
from ..cutting.samples import Samples
from ..drawings.drawing import Outline
from ..jobs.toolpath import Toolpath
from ..machine.profile import Profile
from ..search.recipe import Exposure
from .settings import Settings


@dataclass(frozen=True, eq=False)
class CutLines:
    """A cut: its toolpath, the samples of its outlines, the fluence of all passes that cuts [J/m^2], the mean
    kerf [m], and remarks.
    """

    path: Toolpath
    samples: Samples
    fluence: float
    kerf: float
    remarks: tuple[str, ...]


def cut_rings(
    rings: Sequence[np.ndarray], settings: Settings, machine: Profile, material: Exposure
) -> CutLines:
    """The cut of closed lines (k, 2) [m], none of which repeats its first point.

    Raises `UserError` for a line that does not cut, and for a kerf that is none of the layer's line.
    """
    title, density = settings.title, settings.passes * settings.power / settings.speed
    fluence = material.full * material.threshold
    if settings.kerf is not None:
        fluence = cutting_fluence(settings.kerf, density, machine, title)
    options = CutOptions(
        settings.power,
        settings.speed,
        passes=settings.passes,
        tabs=settings.tabs,
        tab_width=settings.tab_width,
        lead=settings.lead,
        measure=False,
    )
    outlines = [Outline(ring, True) for ring in rings]
    try:
        cut = cut_parts(
            outlines, machine, Exposure(fluence / material.threshold, material.threshold), options
        )
    except UserError as error:
        raise UserError(f"{title}: {str(error).removeprefix('cut: ')}") from None
    kerf = 0.5 * sum(cut.report.kerfs)
    return CutLines(
        cut.toolpath, cut.samples, fluence, kerf, tuple(f"{title}: {one}" for one in cut.report.remarks)
    )


def cutting_fluence(kerf: float, density: float, machine: Profile, title: str) -> float:
    """The fluence that cuts [J/m^2] if lines of an energy on a length [J/m] have this mean kerf [m]."""
    peaks = density * PEAK / np.array(machine.waists)

    def kerf_of(fluence: float) -> float:
        return float(half_kerfs(density, machine.waists, np.eye(2), fluence).sum())

    low, high = 1e-12 * peaks.min(), (1.0 - 1e-9) * peaks.min()
    if not kerf_of(high) < kerf < kerf_of(low):
        most = kerf_of(low)
        raise UserError(
            f"{title}: a kerf of a spot of {machine.spot_text} um is {kerf_of(high) * 1e6:.3g} to"
            f" {most * 1e6:.3g} um, got {kerf * 1e6:.4g} um; give kerf and spot as measured"
        )
    return float(brentq(lambda fluence: kerf_of(fluence) - kerf, low, high, rtol=1e-12))
