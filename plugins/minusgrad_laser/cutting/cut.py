"""Cut to size: from the outlines of parts to a toolpath whose line of threshold dose is the outlines.

    cut = cut_parts(outlines, Profile.load("grbl_diode"), Exposure(full=2e6))
    text = gcode.write(cut.toolpath, machine)

The path begins half a kerf from the outlines (`first_path`), by the direction of the spot; places and
energies of its moves are then sought so that the edge is the outline (`solve`), corners included; power and
speed leave these energies on the machine (`powers`). What the report says is measured on the replay of the
job (`edges`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minusgrad.plugin import UserError

from ..drawings.drawing import Outline
from ..jobs import gcode
from ..jobs.toolpath import Toolpath
from ..machine.profile import Profile
from ..search.recipe import Exposure
from .bridges import Gap, Tabs, with_leads, with_tabs
from .edges import CELLS, PIXEL, measured_edges
from .first_path import first_path, slot_widths
from .kerf import PEAK, half_kerfs, waists_across
from .path import Path
from .plain import plain_cut, slit_strokes
from .powers import toolpath_of_strokes
from .report import CutReport, uncut_remark
from .rings import Ring, rings_of
from .samples import Samples, sample_rings
from .solve import Edges, Physics, best_path
from .strokes import ordered_strokes, repeat_stroke, strokes_of

OVER = 4.0
"""Peak of a line over the fluence that cuts, where the spot is widest across it, without power and speed."""
POINTS = 0.5
"""Distance of points of the path at corners, in half kerfs."""
MEASURED = 5e-5
"""Distance of places at which edges are measured [m], at most."""
FINER = (1.0, 0.5, 0.25, 0.12)
"""How much finer points of the path are kept; the first that takes at most `SLOWER` of a plain cut's time."""
SLOWER = 1.05
COARSE = 0.4
"""The largest cell on which edges are measured, in the smaller waist."""


@dataclass(frozen=True)
class CutOptions:
    """How to cut. power [W], speed [m/s] of a line; where both are left out, those that cut four times over.

    passes: how often each line is cut before the next. least: the dose on the path over that which cuts, at
    least. tabs: bridges of each part, or so many that
    they are `tab_spacing` [m] apart at most, each `tab_width` [m] wide. lead: length of leads [m]. search:
    False for the first path alone. measure: whether the job is replayed for the report, on cells of `pixel`
    [m].
    """

    power: float | None = None
    speed: float | None = None
    passes: int = 1
    least: float = 1.2
    tabs: int = 0
    tab_spacing: float = 0.0
    tab_width: float = 5e-4
    lead: float = 0.0
    search: bool = True
    measure: bool = True
    pixel: float = PIXEL


USUAL = CutOptions()


@dataclass(frozen=True, eq=False)
class Cut:
    """A cut: its toolpath, its report, and the samples of the outlines at which it is measured."""

    toolpath: Toolpath
    report: CutReport
    samples: Samples


def cut_parts(
    outlines: Sequence[Outline], machine: Profile, material: Exposure, options: CutOptions = USUAL
) -> Cut:
    """The cut of outlines: closed ones are parts and holes, by what is inside of what; others are lines.

    Raises `UserError` for outlines without an area, where a line does not cut at the power and speed, and for
    limits of the machine that the job breaks.
    """
    fluence = material.full * material.threshold / options.passes
    power, speed = cutting_speed(machine, fluence, options)
    rings, remarks = rings_of(outlines)
    slits = [one for one in outlines if not one.closed and len(one.points) > 1]
    if not rings and not slits:
        raise UserError("cut: needs an outline, got none")
    physics = Physics(machine.waists, fluence, power / speed, options.least)
    unit = half_kerfs(physics.density, machine.waists, np.eye(2), fluence)
    path, samples = None, sample_rings(rings, unit, far=MEASURED / float(unit.min()))
    if rings:
        path, gaps, more = _path_of_rings(rings, unit, physics, options)
        samples, remarks = samples.some(_counted(samples, gaps, unit, physics)), remarks + more
    plain = plain_cut(rings, slits, float(unit.min()), power, speed, machine.waists)
    plain_seconds = options.passes * gcode.job_text(plain, machine)[1].seconds
    for finer in FINER:
        strokes = slit_strokes(slits, rings, physics.density)
        strokes += strokes_of(path, rings, finer) if path is not None else []
        repeated = [repeat_stroke(one, options.passes) for one in ordered_strokes(strokes)]
        toolpath = toolpath_of_strokes(repeated, machine, speed)
        text, planned = gcode.job_text(toolpath, machine)
        if planned.seconds <= SLOWER * plain_seconds:
            break
    edges, pixel = None, _measured_pixel(samples, options)
    if options.measure and rings and pixel > COARSE * min(machine.waists):
        remarks.append(f"edges are not measured: cells of {1e6 * pixel:.3g} um are too large for the spot")
    elif options.measure and rings:
        measured = measured_edges(text, machine, samples, options.passes * fluence, pixel)
        edges, remarks = measured.placement, remarks + uncut_remark(toolpath, measured)
    kerfs = 2.0 * float(unit[0]), 2.0 * float(unit[1])
    return Cut(toolpath, CutReport(kerfs, planned.seconds, plain_seconds, edges, tuple(remarks)), samples)


def _measured_pixel(samples: Samples, options: CutOptions) -> float:
    """The side of cells [m] of which there are not too many."""
    if not len(samples):
        return options.pixel
    area = float(np.prod(np.ptp(samples.points, axis=0) + 2e-3))
    return max(options.pixel, float(np.sqrt(area / CELLS)))


def cutting_speed(machine: Profile, fluence: float, options: CutOptions) -> tuple[float, float]:
    """Power [W] and speed [m/s] of a line. Raises `UserError` if a line in any direction does not cut."""
    if not options.least > 1.0:
        raise UserError(
            f"cut: the dose on the path exceeds the one that cuts, got {options.least:g} times it"
        )
    wide, most = max(machine.waists), machine.power[1]
    power = options.power or most
    speed = options.speed or min(power * PEAK / (OVER * wide * fluence), *machine.speed)
    if options.power is None and options.speed is None:
        power = min(power, OVER * wide * fluence / PEAK * speed)
    if power > most * (1.0 + 1e-9):
        raise UserError(f"cut: power is at most {most:g} W, got {power:g} W; lower it")
    if speed > min(machine.speed) * (1.0 + 1e-9):
        raise UserError(
            f"cut: speed is at most {1e3 * min(machine.speed):g} mm/s, got {1e3 * speed:g} mm/s; lower it"
        )
    peak = power / speed * PEAK / wide / fluence
    if peak < options.least:
        raise UserError(
            f"cut: {power:g} W at {1e3 * speed:g} mm/s leave {peak:.2g} of the dose that cuts, where the spot"
            f" is widest across the line; take {1e3 * speed * peak / options.least:.3g} mm/s or less"
        )
    return power, speed


def _path_of_rings(
    rings: list[Ring], unit: np.ndarray, physics: Physics, options: CutOptions
) -> tuple[Path, list[Gap], list[str]]:
    """The path, its tabs, and remarks."""
    waists, fluence, density = physics.waists, physics.fluence, physics.density
    gaps: list[Gap] = []
    remarks: list[str] = []
    coarse = sample_rings(rings, unit, POINTS)
    joins = None
    path = first_path(rings, coarse, unit, density, waists, fluence, physics.least)
    if options.tabs or options.tab_spacing:
        tabs = Tabs(options.tabs, options.tab_spacing, options.tab_width)
        path, gaps, remarks = with_tabs(path, rings, tabs, unit, density, waists, fluence)
    if options.lead:
        path, joins, more = with_leads(path, rings, options.lead, unit)
        remarks = remarks + more
    if options.search:
        samples = sample_rings(rings, unit, beside=joins)
        across = waists_across(waists, samples.normals)
        narrowest = across * np.sqrt(0.5 * np.log(options.least))
        half = half_kerfs(density, waists, samples.normals, fluence) * slot_widths(rings, samples, unit)
        edges = Edges(across**2 / (4.0 * np.maximum(half, narrowest)), narrowest)
        path = best_path(path, samples, edges, _counted(samples, gaps, unit, physics), physics)
    return path, gaps, remarks


def _counted(samples: Samples, gaps: list[Gap], unit: np.ndarray, physics: Physics) -> np.ndarray:
    """Which samples (n,) are not beside a tab."""
    counted = np.ones(len(samples), bool)
    for gap in gaps:
        counted &= ~gap.beside(samples, unit, physics.waists)
    return counted
