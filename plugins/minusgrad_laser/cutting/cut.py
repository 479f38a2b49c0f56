"""Cut to size: from the outlines of parts to a toolpath whose line of threshold dose is the outlines.

    cut = cut_parts(outlines, Profile.load("grbl_diode"), Exposure(full=2e6))
    text = gcode.write(cut.toolpath, machine)

The path begins half a kerf from the outlines (`first_path`), by the direction of the spot; places and
energies of its moves are then sought so that the edge is the outline (`solve`), corners included; power and
speed leave these energies on the machine (`powers`). What the report says is measured on the replay of the
job (`edges`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from minusgrad.plugin import UserError

from ..drawings.drawing import Outline
from ..jobs import gcode
from ..jobs.toolpath import Toolpath
from ..machine.profile import Profile
from ..scores import EdgePlacement
from ..search.recipe import Exposure
from .edges import PIXEL, measured_edges
from .first_path import Path, first_path
from .kerf import PEAK, half_kerfs, waists_across
from .powers import toolpath_of_strokes
from .rings import Ring, encloses, rings_of
from .samples import Samples, sample_rings
from .solve import Physics, best_path
from .strokes import Stroke, ordered_strokes, strokes_of

OVER = 4.0
"""Peak of a line over the fluence that cuts, where the diameter of the spot across it is the larger, if
nobody says.
"""
PLAIN_POINTS, POINTS = 0.5, 0.5
"""Distance of points of the path at corners, in half kerfs."""


@dataclass(frozen=True)
class CutOptions:
    """How to cut: power [W] and speed [m/s] of a line (default: full power, and the speed that cuts four
    times over); `least`: the dose on the path over that which cuts, at least; `search`: False for the first
    path alone; `measure`: whether the job is replayed for the report, on cells of `pixel` [m].
    """

    power: float | None = None
    speed: float | None = None
    least: float = 1.2
    search: bool = True
    measure: bool = True
    pixel: float = PIXEL


@dataclass(frozen=True, eq=False)
class CutReport:
    """What a job leaves: kerfs of lines along y and along x [m], seconds of the job and of a plain cut, the
    edges as replayed (None if they were not measured), and remarks.
    """

    kerfs: tuple[float, float]
    seconds: float
    plain_seconds: float
    edges: EdgePlacement | None
    remarks: tuple[str, ...]

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Names and texts of a table."""
        along = " and ".join(f"{2e6 * 0.5 * one:.3g} µm" for one in self.kerfs)
        found = [("kerf across x and across y", along)]
        if (edges := self.edges) is not None:
            found += [
                ("edge off the outline, mean", f"{1e6 * edges.mean:.3g} µm"),
                ("edge off the outline, 95 %", f"{1e6 * edges.quantile(0.95):.3g} µm"),
                ("edge off the outline, largest", f"{1e6 * edges.largest_error:.3g} µm"),
            ]
        part = self.seconds / self.plain_seconds if self.plain_seconds else 1.0
        return [*found, ("job time", f"{self.seconds:.3g} s ({part:.2f} of a plain cut)")]


@dataclass(frozen=True, eq=False)
class Cut:
    """A cut: its toolpath, its report, and the samples of the outlines at which it was measured."""

    toolpath: Toolpath
    report: CutReport
    samples: Samples


def cut_parts(
    outlines: Sequence[Outline], machine: Profile, material: Exposure, options: CutOptions = CutOptions()
) -> Cut:
    """The cut of closed outlines, parts and their holes by what is inside of what; open ones are cut along
    their line.

    Raises `UserError` for outlines without an area, and where a line does not cut at the power and speed.
    """
    fluence = material.full * material.threshold
    power, speed = cutting_speed(machine, fluence, options)
    density = power / speed
    rings, remarks = rings_of(outlines)
    slits = [one for one in outlines if not one.closed and len(one.points) > 1]
    if not rings and not slits:
        raise UserError("cut: needs an outline, got none")
    unit = half_kerfs(density, machine.waists, np.eye(2), fluence)
    strokes, samples = _slit_strokes(slits, rings, density), sample_rings(rings, unit)
    path = None
    if rings:
        coarse = sample_rings(rings, unit, POINTS)
        path = first_path(rings, coarse, unit, density, machine.waists, fluence, options.least)
        if options.search:
            path = _searched_path(path, samples, machine, fluence, density, options.least)
        strokes += strokes_of(path, rings)
    toolpath = toolpath_of_strokes(ordered_strokes(strokes), machine, speed)
    text, planned = gcode.job_text(toolpath, machine)
    edges = None
    if options.measure and rings:
        edges = measured_edges(text, machine, samples, fluence, options.pixel).placement
    plain = plain_cut(rings, slits, machine, fluence, power, speed, float(unit.mean()), options.least)
    seconds = gcode.job_text(plain, machine)[1].seconds
    report = CutReport(
        (2.0 * float(unit[0]), 2.0 * float(unit[1])), planned.seconds, seconds, edges, tuple(remarks)
    )
    return Cut(toolpath, report, samples)


def cutting_speed(machine: Profile, fluence: float, options: CutOptions) -> tuple[float, float]:
    """Power [W] and speed [m/s] of a line. Raises `UserError` if a line in any direction does not cut."""
    wide, most = max(machine.waists), machine.power[1]
    power = options.power or most
    speed = options.speed or min(power * PEAK / (OVER * wide * fluence), *machine.speed)
    if options.power is None and options.speed is None:
        power = min(power, OVER * wide * fluence / PEAK * speed)
    if power > most * (1.0 + 1e-9):
        raise UserError(f"cut: power is at most {most:g} W, got {power:g} W; lower it")
    peak = power / speed * PEAK / wide / fluence
    if peak < options.least:
        raise UserError(
            f"cut: {power:g} W at {1e3 * speed:g} mm/s leave {peak:.2g} of the dose that cuts, where the spot"
            f" is widest across the line; take {1e3 * speed * peak / options.least:.3g} mm/s or less"
        )
    return power, speed


def plain_cut(
    rings: list[Ring],
    slits: Sequence[Outline],
    machine: Profile,
    fluence: float,
    power: float,
    speed: float,
    offset: float,
    least: float,
) -> Toolpath:
    """What programs do that know one kerf: outlines offset by one distance [m], at one power [W] and speed
    [m/s].
    """
    strokes = _slit_strokes(slits, rings, power / speed)
    if rings:
        unit = np.array([offset, offset])
        coarse = sample_rings(rings, unit, PLAIN_POINTS)
        path = first_path(rings, coarse, unit, power / speed, machine.waists, fluence, least)
        path = replace(path, density=np.full(len(path.density), power / speed))
        strokes += strokes_of(path, rings)
    points = [one.points for one in ordered_strokes(strokes)]
    lit = np.concatenate([np.arange(len(one)) > 0 for one in points])
    x, y = np.concatenate(points).T
    return Toolpath(x, y, np.where(lit, power, 0.0), np.full(len(x), speed), lit)


def _searched_path(
    path: Path, samples: Samples, machine: Profile, fluence: float, density: float, least: float
) -> Path:
    half = half_kerfs(density, machine.waists, samples.normals, fluence)
    lever = waists_across(machine.waists, samples.normals) ** 2 / (4.0 * half)
    return best_path(
        path, samples, lever, np.ones(len(samples), bool), Physics(machine.waists, fluence, density, least)
    )


def _slit_strokes(slits: Sequence[Outline], rings: list[Ring], density: float) -> list[Stroke]:
    """Open outlines, each cut along its line before the rings around it."""
    found: list[Stroke] = []
    for one in slits:
        points = np.asarray(one.points, float)
        around = [ring for ring in rings if encloses(ring.corners, points.mean(axis=0))]
        group = max(around, key=lambda ring: ring.depth).group if around else -1 - len(found)
        found.append(Stroke(points, np.full(len(points), density), len(around), group))
    return found
