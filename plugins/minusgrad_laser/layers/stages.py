"""Stages of a job: the toolpath of each layer, in the order in which they are made, and all of them as one.

Each line gets all its passes before the next one: a part that the first pass frees would be gone for the
second. Areas are engraved as a whole, time after time.

Decisions 0187.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..cutting.powers import toolpath_of_strokes
from ..cutting.strokes import Stroke as CutStroke
from ..drawings.drawing import Drawing
from ..jobs.gcode import comment
from ..jobs.moves import whole_level_speed
from ..jobs.toolpath import Toolpath
from ..machine.profile import Profile
from ..paths.stroke import Stroke
from ..search.recipe import Exposure
from ..virtual_machine.canvas import line_waists
from .choice import Mark
from .cut_lines import CutLines, cut_rings
from .engraving import Area, area_of_marks, hatch_area
from .insets import edge_insets, inset_area
from .lines import rings_of_marks, strokes_of_marks
from .nesting import order_inside_first
from .settings import Settings

NARROW = 1e-3
"""Part of an area that may be too narrow without a remark."""
Search = Callable[[Settings, Area], Toolpath]
"""The path of an area that a search finds."""


@dataclass(frozen=True, eq=False)
class Stage:
    """A layer as it is made: its path, and the area that it engraves, the lines that it follows, or its cut.

    colour: of the layer in the drawing, None without one. remarks: what is to be said of it.
    """

    settings: Settings
    path: Toolpath
    colour: str | None = None
    remarks: tuple[str, ...] = ()
    area: Area | None = None
    lines: tuple[np.ndarray, ...] = ()
    cut: CutLines | None = None

    @property
    def way(self) -> float:
        """Of the lit moves [m]."""
        return float(self.path.lengths[self.path.lit[1:]].sum())


def plan_stages(
    drawing: Drawing,
    layers: Sequence[tuple[Settings, list[Mark]]],
    machine: Profile,
    material: Exposure,
    pixel: float,
    search: Search | None = None,
) -> list[Stage]:
    """The stages of layers, by their order; each begins near the place where the one before ends.

    Raises `UserError` for what cannot be engraved, scored or cut.
    """
    stages: list[Stage] = []
    place = np.zeros(2)
    for settings, marks in sorted(layers, key=lambda one: one[0].order):
        colours = [mark.colour for mark in marks if mark.colour]
        colour = max(colours, key=colours.count) if colours else None
        remarks = _faint_dose(settings, material)
        if settings.mode == "engrave":
            area = area_of_marks(drawing, marks, settings.title, pixel)
            if settings.search and search is not None:
                path = search(settings, area)
            else:
                inner, narrow = _drawn_area(area, settings, machine, material)
                remarks += narrow
                path = path_of_strokes(hatch_area(inner, settings, machine.field), settings, machine)
            stages.append(Stage(settings, path, colour, remarks, area=area))
        elif settings.mode == "cut":
            cut = cut_rings(rings_of_marks(drawing, marks, settings.title), settings, machine, material)
            stages.append(Stage(settings, cut.path, colour, cut.remarks, cut=cut))
        else:
            strokes = order_inside_first(strokes_of_marks(drawing, marks), place)
            path = path_of_lines(strokes, settings, machine)
            lines = tuple(one.points for one in strokes)
            stages.append(Stage(settings, path, colour, remarks, lines=lines))
        place = np.array([stages[-1].path.x[-1], stages[-1].path.y[-1]])
    return stages


def _faint_dose(settings: Settings, material: Exposure) -> tuple[str, ...]:
    """A remark on a layer whose dose is below the material's threshold."""
    dose = settings.passes * settings.fluence / material.full
    if dose > material.threshold or settings.search:
        return ()
    text = (
        f"{settings.title}: marks nothing: its dose is {dose:.3g} of --full, and the threshold"
        f" {material.threshold:g}; give less speed or more power, or the --full of the material"
    )
    return (text,)


def _drawn_area(
    area: Area, settings: Settings, machine: Profile, material: Exposure
) -> tuple[Area, tuple[str, ...]]:
    """The area over which lines are drawn, so that the mark ends at the outline, and what is to be said."""
    dose = settings.passes * settings.fluence / material.full
    inner, narrow = inset_area(area, edge_insets(dose, material.threshold, machine.waists))
    if narrow < NARROW:
        return inner, ()
    text = (
        f"{settings.title}: {100.0 * narrow:.2g} % of the area is narrower than the least line of its dose,"
        " and is marked too wide"
    )
    return inner, (text,)


def path_of_lines(strokes: Sequence[Stroke], settings: Settings, machine: Profile) -> Toolpath:
    """The toolpath along lines, each with all its passes, with one dose whatever the head's speed is."""
    room = (0.0, 0.0), machine.field
    led = [_lead_stroke(_repeat_stroke(one, settings.passes), settings.overscan, room) for one in strokes]
    lines = [
        CutStroke(one.points, np.append(0.0, one.lit * _line_densities(one, settings, machine)), 0, 0)
        for one in led
    ]
    speed = float(whole_level_speed(np.array(settings.power), np.array(settings.speed), machine))
    return toolpath_of_strokes(lines, machine, speed)


def _line_densities(stroke: Stroke, settings: Settings, machine: Profile) -> np.ndarray:
    """The energy on a length of each side [J/m]: the layer's, or what the spot across the side needs."""
    way = np.diff(stroke.points, axis=0)
    if not settings.even:
        return np.full(len(way), settings.power / settings.speed)
    across = line_waists(machine.waists, way / np.hypot(*way.T)[:, None])
    return settings.fluence * np.sqrt(0.5 * np.pi) * across


def path_of_strokes(strokes: Sequence[Stroke], settings: Settings, machine: Profile) -> Toolpath:
    """The toolpath through strokes, with a travel to each, as often as the layer has passes.

    `lit` of a stroke is a part of the layer's power. Speeds are as much lower as levels of the power are.
    """
    points = np.concatenate([one.points for one in strokes])
    part = np.concatenate([np.append(0.0, one.lit) for one in strokes])
    points = np.tile(points, (settings.passes, 1))
    power = settings.power * np.tile(part, settings.passes)
    lit, speed = power > 0.0, np.full(len(points), settings.speed)
    speed = whole_level_speed(power, speed, machine)
    power = np.where(lit, power * speed / settings.speed, 0.0)
    return Toolpath(points[:, 0], points[:, 1], power, speed, lit)


def join_stages(stages: Sequence[Stage]) -> Toolpath:
    """One toolpath through all stages, with their names as comments, and air assist where it is wanted."""
    paths = [stage.path for stage in stages]
    firsts = np.cumsum([0] + [len(path) for path in paths])
    events: list[tuple[int, str]] = []
    blown = None
    for stage, first in zip(stages, firsts, strict=False):
        s = stage.settings
        name = comment(s.title)[:30]
        times = f", {s.passes} times" if s.passes > 1 else ""
        how = "searched" if s.search else f"{s.power:.3g} W, {s.speed * 1e3:.4g} mm/s{times}"
        events.append((int(first), f"; {s.mode} {name}: {how}"))
        if s.air != blown:
            # M7 to M9 let the head stop: after the travel, where M3 burns no dot
            events += [(int(first) + 1, word) for word in (blown and "M9", s.air) if word]
            blown = s.air
    events += [(int(firsts[-1]), "M9")] if blown else []
    joined = {
        name: np.concatenate([getattr(path, name) for path in paths])
        for name in ("x", "y", "power", "speed", "lit")
    }
    return Toolpath(**joined, events=tuple(events))


def _repeat_stroke(stroke: Stroke, passes: int) -> Stroke:
    """A line so many times: round and round if it is closed, else to and fro."""
    points, lit = [stroke.points], [stroke.lit]
    for k in range(1, passes):
        again = stroke.reversed if k % 2 and not stroke.is_closed else stroke
        points.append(again.points[1:])
        lit.append(again.lit)
    return Stroke(np.concatenate(points), np.concatenate(lit))


def _lead_stroke(
    stroke: Stroke, length: float, room: tuple[tuple[float, float], tuple[float, float]]
) -> Stroke:
    """An open line with dark ways before and after it, along it, in which the head has its speed.

    room: lower left and upper right corner of the field, out of which no lead goes.
    """
    if length == 0.0 or stroke.is_closed:
        return stroke
    ends = []
    for end, inner in ((0, 1), (-1, -2)):
        way = stroke.points[end] - stroke.points[inner]
        lead = stroke.points[end] + length * way / np.hypot(*way)
        ends.append(lead if ((lead >= room[0]) & (lead <= room[1])).all() else stroke.points[end])
    points = np.concatenate([ends[:1], stroke.points, ends[1:]])
    lit = np.concatenate([[0.0], stroke.lit, [0.0]])
    keep = np.append(True, (np.diff(points, axis=0) != 0.0).any(axis=1))
    return Stroke(points[keep], lit[keep[1:]])
