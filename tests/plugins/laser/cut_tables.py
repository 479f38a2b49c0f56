"""Table of cuts, by hand: edges of replayed jobs against the outlines, beside those of one kerf.

    python -m tests.plugins.laser.cut_tables [NAME ...]

One kerf is that of lines along y, as who measures the width of a square along x finds it. Edges are measured
on cells of 5 um of the replayed file, by the distance of the line of threshold dose from the outline.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from minusgrad_laser.cutting.cut import CutOptions, cut_parts, cutting_speed
from minusgrad_laser.cutting.edges import measured_edges
from minusgrad_laser.cutting.kerf import PEAK
from minusgrad_laser.cutting.plain import plain_cut
from minusgrad_laser.cutting.rings import rings_of
from minusgrad_laser.drawings.drawing import Outline
from minusgrad_laser.jobs import gcode
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.scores import EdgePlacement
from minusgrad_laser.search.recipe import Exposure

M4 = Profile("M4", spot=(6e-5, 1.5e-4), lines_per_second=500.0, field=(0.3, 0.3))
"""A diode engraver with GRBL, whose power follows the speed; its spot is 60 x 150 um."""
M3 = replace(M4, name="M3", dynamic_power=False, power=(0.05, 5.0), acceleration=(1.0, 1.0))
"""One whose power is constant along a move."""
BIRCH = Exposure(full=2e6, threshold=0.5)
"""1 J/mm^2 cuts."""


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


def circle(x: float, y: float, radius: float, corners: int = 360) -> Outline:
    turn = np.linspace(0.0, 2.0 * np.pi, corners, endpoint=False)
    return Outline(1e-3 * (np.stack([np.cos(turn), np.sin(turn)], axis=1) * radius + [x, y]), True)


def gear(teeth: int, root: float, tip: float, middle: float) -> Outline:
    """A wheel with straight flanks, in millimetres."""
    parts = ((0.0, root), (0.2, root), (0.3, tip), (0.55, tip), (0.65, root))
    turn = 2.0 * np.pi / teeth
    places = [((k + part) * turn, radius) for k in range(teeth) for part, radius in parts]
    corners = [[middle + r * np.cos(t), middle + r * np.sin(t)] for t, r in places]
    return Outline(1e-3 * np.array(corners), True)


@dataclass(frozen=True)
class Row:
    """A job: outlines, machine, how often over a line cuts where the spot is widest across it."""

    outlines: Sequence[Outline]
    machine: Profile
    over: float = 4.0


SQUARE = [rectangle(1.0, 1.0, 20.0, 20.0)]
WHEEL = [gear(24, 9.0, 11.0, 13.0), circle(13.0, 13.0, 3.0)]
LARGE = (1e-4, 3e-4)
SLOTS = [
    rectangle(1.0, 1.0, 6.0, 3.0),
    *(rectangle(1.5 + k, 1.5, w, 2.0) for k, w in enumerate((0.03, 0.05, 0.08, 0.12))),
]
ROWS = {
    "square": Row(SQUARE, M4),
    "square M3": Row(SQUARE, M3),
    "square, 13 times over": Row(SQUARE, M4, 13.0),
    "square, 100 x 300 um, 9 times over": Row(SQUARE, replace(M4, spot=LARGE), 9.0),
    "comb of 20 teeth": Row([comb(20)], M4),
    "comb of 20 teeth M3": Row([comb(20)], M3),
    "comb of 20 teeth, 13 times over": Row([comb(20)], M4, 13.0),
    "gear": Row(WHEEL, M4),
    "gear M3": Row(WHEEL, M3),
    "gear, round spot of 100 um": Row(WHEEL, replace(M4, spot=(1e-4, 1e-4))),
    "slots of 30 to 120 um": Row(SLOTS, M4),
    "two squares that share an edge": Row([rectangle(1, 1, 10, 10), rectangle(11, 1, 10, 10)], M4),
}


def options_of(row: Row, **more: float) -> CutOptions:
    """Full power, and the speed at which a line cuts so often over."""
    fluence, wide = BIRCH.full * BIRCH.threshold, max(row.machine.waists)
    speed = min(row.machine.power[1] * PEAK / (row.over * wide * fluence), *row.machine.speed)
    power = row.over * wide * fluence / PEAK * speed
    return CutOptions(power=power, speed=speed, **more)


def plain_edges(row: Row) -> tuple[EdgePlacement, EdgePlacement]:
    """The edges that one kerf leaves, and those of them across y alone."""
    cut = cut_parts(row.outlines, row.machine, BIRCH, options_of(row, search=False, measure=False))
    fluence = BIRCH.full * BIRCH.threshold
    power, speed = cutting_speed(row.machine, fluence, options_of(row))
    offset = 0.5 * cut.report.kerfs[0]
    rings, _ = rings_of(row.outlines)
    text = gcode.write(plain_cut(rings, [], offset, power, speed, row.machine.waists), row.machine)
    every = measured_edges(text, row.machine, cut.samples, fluence).placement
    across = np.abs(every.normals[:, 1]) > 0.99
    chosen = {name: getattr(every, name)[across] for name in EdgePlacement.__dataclass_fields__}
    return every, EdgePlacement(**chosen)


def main(names: Sequence[str]) -> None:
    heads = ("one kerf: mean", "across y", "largest", "ours: mean", "95 %", "largest", "time", "took")
    print(f"{'[um]':36}" + "".join(f"{head:>15}" for head in heads))
    for name in names or ROWS:
        row = ROWS[name]
        plain, across = plain_edges(row)
        begun = perf_counter()
        report = cut_parts(row.outlines, row.machine, BIRCH, options_of(row)).report
        took = perf_counter() - begun
        edges = report.edges
        assert edges is not None
        lengths = (
            plain.mean,
            across.mean,
            plain.largest_error,
            edges.mean,
            edges.quantile(0.95),
            edges.largest_error,
        )
        texts = [f"{1e6 * one:.2f}" for one in lengths]
        texts += [f"{report.seconds / report.plain_seconds:.3f}", f"{took:.1f} s"]
        print(f"{name:36}" + "".join(f"{text:>15}" for text in texts), flush=True)
        for remark in report.remarks:
            print(f"    {remark}")


if __name__ == "__main__":
    main(sys.argv[1:])
