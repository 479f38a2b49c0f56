"""Parts cut to size: edges of the replayed job against the outlines, for spots that are not round."""

from dataclasses import replace

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_laser.cutting.cut import CutOptions, cut_parts
from minusgrad_laser.cutting.rings import rings_of
from minusgrad_laser.drawings.drawing import Outline
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.search.recipe import Exposure

M4 = Profile("diode", spot=(6e-5, 1.5e-4), lines_per_second=500.0, field=(0.3, 0.3))
M3 = replace(M4, dynamic_power=False, power=(0.05, 5.0), acceleration=(1.0, 1.0))
BIRCH = Exposure(full=2e6, threshold=0.5)


def rectangle(x: float, y: float, width: float, height: float) -> Outline:
    """In millimetres."""
    corners = [[x, y], [x + width, y], [x + width, y + height], [x, y + height]]
    return Outline(1e-3 * np.array(corners), True)


def comb(
    teeth: int, pitch: float = 2.0, tooth: float = 1.0, depth: float = 3.0, base: float = 2.0
) -> Outline:
    """A comb with square teeth, in millimetres."""
    wide = teeth * pitch - (pitch - tooth)
    corners = [[0.0, 0.0], [wide, 0.0]]
    for k in range(teeth):
        x = wide - k * pitch
        corners += [[x, base + depth], [x - tooth, base + depth]]
        if k < teeth - 1:
            corners += [[x - tooth, base], [x - pitch, base]]
    return Outline(1e-3 * (np.array(corners) + 1.0), True)


@pytest.mark.parametrize("machine", [M4, M3], ids=["M4", "M3"])
def test_a_part_with_a_hole_has_the_size_of_its_outlines(machine: Profile) -> None:
    outlines = [rectangle(1.0, 1.0, 3.0, 2.0), rectangle(2.0, 1.5, 0.8, 0.6)]
    cut = cut_parts(outlines, machine, BIRCH)
    edges = cut.report.edges
    assert edges is not None
    assert edges.mean < 0.6e-6
    assert edges.largest_error < 10e-6
    assert edges.missing == 0.0
    assert cut.report.seconds < 1.1 * cut.report.plain_seconds


def test_the_hole_is_cut_first() -> None:
    outlines = [rectangle(1.0, 1.0, 3.0, 2.0), rectangle(2.0, 1.5, 0.8, 0.6), rectangle(6.0, 1.0, 1.0, 1.0)]
    path = cut_parts(outlines, M4, BIRCH, CutOptions(search=False, measure=False)).toolpath
    starts = np.flatnonzero(~path.lit)
    widths = [np.ptp(part) for part in np.split(path.x, starts)[1:]]
    assert widths == pytest.approx([0.8e-3 - 64e-6, 3e-3 + 64e-6, 1e-3 + 64e-6], abs=2e-6)


def test_depths_of_rings() -> None:
    """A hole in a part in a hole of a part; the waste is to the right of each ring; a twin is left out."""
    outlines = [rectangle(0, 0, 9, 9), rectangle(1, 1, 7, 7), rectangle(2, 2, 5, 5), rectangle(3, 3, 1, 1)]
    rings, remarks = rings_of([*outlines, rectangle(2, 2, 5, 5)])
    assert [ring.depth for ring in rings] == [0, 1, 2, 3]
    assert {ring.group for ring in rings} == {0}
    assert remarks == ["outline 4 is outline 2 once more: it is cut once"]


def test_a_line_that_does_not_cut_is_refused() -> None:
    with pytest.raises(UserError, match=r"leave 0\.2 of the dose that cuts") as caught:
        cut_parts([rectangle(1, 1, 3, 2)], M4, BIRCH, CutOptions(power=5.0, speed=0.1 * 2.66))
    assert str(caught.value).endswith("take 44.3 mm/s or less")
    with pytest.raises(UserError, match="power is at most 5 W, got 6 W"):
        cut_parts([rectangle(1, 1, 3, 2)], M4, BIRCH, CutOptions(power=6.0))
    with pytest.raises(UserError, match="needs an outline"):
        cut_parts([], M4, BIRCH)
