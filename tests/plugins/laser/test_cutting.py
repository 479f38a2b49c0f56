"""Parts cut to size: edges of the replayed job against the outlines, for spots that are not round."""

from dataclasses import replace

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_laser.cutting.cut import CutOptions, cut_parts
from minusgrad_laser.cutting.edges import measured_edges
from minusgrad_laser.cutting.report import uncut_remark
from minusgrad_laser.cutting.rings import rings_of
from minusgrad_laser.drawings.drawing import Outline
from minusgrad_laser.jobs import gcode
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.virtual_machine import Replay, replay
from tests.plugins.laser.cut_tables import BIRCH, rectangle

M4 = Profile("diode", spot=(6e-5, 1.5e-4), lines_per_second=500.0, field=(0.3, 0.3))
M3 = replace(M4, dynamic_power=False, power=(0.05, 5.0), acceleration=(1.0, 1.0))
FAST = CutOptions(measure=False)


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
    with pytest.raises(UserError, match=r"leave 0\.53 of the dose that cuts") as caught:
        cut_parts([rectangle(1, 1, 3, 2)], M4, BIRCH, CutOptions(power=5.0, speed=0.1))
    assert str(caught.value).endswith("take 44.3 mm/s or less")
    with pytest.raises(UserError, match="power is at most 5 W, got 6 W"):
        cut_parts([rectangle(1, 1, 3, 2)], M4, BIRCH, CutOptions(power=6.0))
    with pytest.raises(UserError, match="needs an outline"):
        cut_parts([], M4, BIRCH)


def test_slots_narrower_than_the_kerf_are_cut_once_at_the_dose_of_their_width() -> None:
    """Kerfs are 64 um across x: slots of 30, 50 and 80 um; the last is cut along both sides."""
    widths = (0.03, 0.05, 0.08)
    slots = [rectangle(1.5 + 0.5 * k, 1.5, width, 1.0) for k, width in enumerate(widths)]
    cut = cut_parts([rectangle(1.0, 1.0, 2.5, 2.0), *slots], M4, BIRCH)
    path, edges = cut.toolpath, cut.report.edges
    assert edges is not None
    assert edges.mean < 1e-6
    assert edges.largest_error < 10e-6
    assert cut.report.remarks == ()
    length = np.append(0.0, path.lengths) * path.lit
    for k, width in enumerate(widths):
        beside = np.abs(path.x - 1e-3 * (1.5 + 0.5 * k + 0.5 * width)) < 1e-4
        inside = beside & (path.y > 1.4e-3) & (path.y < 2.6e-3)
        assert length[inside].sum() == pytest.approx(2e-3 if k == 2 else 1e-3, abs=2e-4)


def test_an_edge_that_two_parts_share_is_cut_once() -> None:
    """Each part loses half of the narrowest kerf that cuts, 18 um across x."""
    cut = cut_parts([rectangle(1.0, 1.0, 0.8, 0.8), rectangle(1.8, 1.0, 0.8, 0.8)], M4, BIRCH)
    edges, path = cut.report.edges, cut.toolpath
    assert edges is not None
    middle = np.abs(edges.points[:, 0] - 1.8e-3) < 1e-5
    within = middle & (np.abs(edges.points[:, 1] - 1.4e-3) < 3e-4)
    assert np.abs(edges.error[within] - 9e-6).max() < 4e-6
    assert np.abs(edges.error[~middle]).mean() < 1e-6
    assert cut.report.remarks == ()
    on_it = path.lit & (np.abs(path.x - 1.8e-3) < 2e-5)
    assert np.append(0.0, path.lengths)[on_it].sum() < 1.2e-3


@pytest.mark.parametrize("machine", [M4, M3], ids=["M4", "M3"])
def test_tabs_are_bridges_of_their_width(machine: Profile) -> None:
    """The replayed dose is below the one that cuts over the width of each bridge, and nowhere else."""
    options = CutOptions(tabs=2, tab_width=3e-4, lead=2e-4)
    cut = cut_parts([rectangle(1.0, 1.0, 3.0, 2.0), rectangle(2.0, 1.5, 0.8, 0.8)], machine, BIRCH, options)
    edges = cut.report.edges
    assert edges is not None
    assert edges.mean < 0.6e-6
    assert edges.largest_error < 8e-6
    done = replay(gcode.write(cut.toolpath, machine), machine, pixel=5e-6, full=1e6)
    bridges = [part for part in dark_stretches(done) if part > 1e-5]
    assert bridges == pytest.approx([3e-4, 3e-4], abs=1.5e-5)


def dark_stretches(done: Replay) -> list[float]:
    """Lengths [m] that are not cut along the kerf around a rectangle of 3 x 2 mm at (1, 1) mm."""
    x = np.concatenate(
        [np.linspace(1.0, 4.0, 1201), np.full(801, 4.03), np.linspace(4.0, 1.0, 1201), np.full(801, 0.97)]
    )
    y = np.concatenate(
        [np.full(1201, 0.94), np.linspace(1.0, 3.0, 801), np.full(1201, 3.06), np.linspace(3.0, 1.0, 801)]
    )
    column, row = (
        np.rint((1e-3 * z - o) / done.pixel).astype(int) for z, o in zip((x, y), done.origin, strict=True)
    )
    dark = np.append(done.dose[row, column] < 1.0, False)
    edges = np.flatnonzero(np.diff(np.append(False, dark).astype(int)))
    return (2.5e-6 * np.diff(edges.reshape(-1, 2), axis=1).ravel()).tolist()


def test_a_tab_without_room_is_remarked() -> None:
    cut = cut_parts(
        [rectangle(1.0, 1.0, 0.4, 0.4)], M4, BIRCH, CutOptions(tabs=1, tab_width=1e-3, measure=False)
    )
    assert cut.report.remarks == ("outline 0: a tab has no straight place of 1 mm",)


def test_a_place_that_is_not_cut_through_is_remarked() -> None:
    """A job whose power was lowered on one move."""
    cut = cut_parts([rectangle(1.0, 1.0, 3.0, 2.0)], M4, BIRCH, CutOptions(search=False))
    path = cut.toolpath
    k = int(np.argmax(path.lengths)) + 1
    weak = replace(path, power=np.where(np.arange(len(path)) == k, 0.2 * path.power, path.power))
    measured = measured_edges(gcode.write(weak, M4), M4, cut.samples, 1e6)
    said = "mm of the path are not cut through; the least dose is 0.8 of the one that cuts, at x = "
    assert said in uncut_remark(path, measured)[0]
    assert measured.placement.missing > 0.05


def test_a_round_spot_and_round_outlines() -> None:
    """A ring of 1 mm with a hole of 0.1 mm, which is smaller than the kerf's own round end is wide."""
    turn = np.linspace(0.0, 2.0 * np.pi, 360, endpoint=False)
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    outlines = [Outline(2e-3 + 1e-3 * circle, True), Outline(2e-3 + 5e-5 * circle, True)]
    for machine in (M4, replace(M4, spot=(1e-4, 1e-4))):
        edges = cut_parts(outlines, machine, BIRCH).report.edges
        assert edges is not None
        assert edges.mean < 0.5e-6
        assert edges.largest_error < 5e-6


def test_an_open_outline_is_cut_along_its_line_before_the_part_around_it() -> None:
    slit = Outline(1e-3 * np.array([[1.5, 1.5], [2.5, 1.5]]), False)
    path = cut_parts([rectangle(1.0, 1.0, 3.0, 2.0), slit], M4, BIRCH, CutOptions(search=False)).toolpath
    assert (path.x[:2], path.y[:2]) == (pytest.approx([1.5e-3, 2.5e-3]), pytest.approx([1.5e-3, 1.5e-3]))
    assert path.power[1] / path.speed[1] == pytest.approx(path.power[5] / path.speed[5], rel=0.01)


def test_the_path_keeps_straight_lines_and_is_never_dark_within_a_stroke() -> None:
    """Two strokes, of the hole and of the part; 3 mm of each long edge are one move."""
    cut = cut_parts([rectangle(1.0, 1.0, 4.0, 2.0), rectangle(2.0, 1.5, 1.0, 1.0)], M4, BIRCH, FAST)
    path = cut.toolpath
    assert np.count_nonzero(~path.lit) == 2
    assert np.sort(path.lengths)[-1] > 3e-3
    assert path.power[path.lit].min() > 0.0


def test_the_dose_on_the_path_must_exceed_the_one_that_cuts() -> None:
    with pytest.raises(UserError, match="exceeds the one that cuts, got 1 times it"):
        cut_parts([rectangle(1, 1, 3, 2)], M4, BIRCH, CutOptions(least=1.0))


def test_edges_of_a_large_part_are_not_measured_on_cells_that_are_too_large() -> None:
    cut = cut_parts([rectangle(1.0, 1.0, 200.0, 200.0)], M4, BIRCH, CutOptions(search=False))
    assert cut.report.edges is None
    assert cut.report.remarks == ("edges are not measured: cells of 31.9 um are too large for the spot",)
