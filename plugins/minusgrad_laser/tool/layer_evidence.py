"""Evidence about a job of layers: the replay of its file, layer by layer, and the scores of each layer.

The dose of a layer is that of its own moves, in the motion of the whole job; the doses of all add up.
Over-burn is within a layer: its dose over that of a line of the layer's usual energy. Where two layers mark
one place, both are meant.

Decisions 0187.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minusgrad.plugin import memory

from ..cutting.edges import MeasuredEdges, edges_of_dose
from ..cutting.report import uncut_remark
from ..jobs.moves import keeps_dose
from ..jobs.toolpath import Toolpath
from ..layers.stages import Stage
from ..machine.profile import Profile
from ..scores import edge_placement, intersection_over_union
from ..search.recipe import Exposure
from ..virtual_machine import Replay
from ..virtual_machine.canvas import line_waists
from ..virtual_machine.dose import dose
from ..virtual_machine.limits import violations
from ..virtual_machine.motion import motion
from ..virtual_machine.overburn import meant_lines
from ..virtual_machine.planner import plan
from ..virtual_machine.program import parse
from ..virtual_machine.replays import canvas_around, remarks
from . import outcome
from .evidence import Evidence, LayerPath, clock, micrometres
from .line_scores import line_edges

PICTURE = 2048
"""Cells along a side of a picture, at most."""
CELL_BYTES = 64
"""Memory of a cell of the canvas of all layers."""


@dataclass(frozen=True)
class LayerScores:
    """The scores of a layer: a name and a number each, in SI units, and a line of text."""

    title: str
    numbers: dict[str, float | str]
    text: str
    remarks: tuple[str, ...] = ()


def gather_evidence(
    text: str,
    path: Toolpath,
    stages: Sequence[Stage],
    machine: Profile,
    material: Exposure,
    pixel: float,
    title: str,
    name: str,
) -> tuple[Evidence, list[LayerScores], Replay]:
    """The evidence of the text of a job file, the scores of its layers, and its replay."""
    program = parse(text, machine, name)
    planned = plan(program, machine)
    shape, origin = canvas_around(program, pixel, machine.waists, name)
    cells = f"{name}: {shape[1]} x {shape[0]} cells"
    memory.require(CELL_BYTES * shape[0] * shape[1], cells, "give a larger --pixel")
    total, burn = np.zeros(shape), np.full(shape, np.nan)
    scores = []
    moves = motion(program, planned, machine)
    whole = Replay(
        total, planned.seconds, origin, pixel, machine.waists, material.full, moves, planned, program,
        violations(program, planned, machine, name), remarks(program, planned, name),
    )  # fmt: skip
    seconds = planned.durations.sum(axis=1)
    for stage, (first, last) in zip(stages, _stage_lines(text, stages), strict=True):
        its = (program.line > first) & (program.line < last)
        alone = replace(program, power=np.where(its, program.power, 0.0))
        box, corner = canvas_around(alone, pixel, machine.waists, name)
        row, column = (round((a - b) / pixel) for a, b in zip(corner[::-1], origin[::-1], strict=True))
        part = slice(row, row + box[0]), slice(column, column + box[1])
        done = replace(whole, program=alone, origin=corner, motion=motion(alone, planned, machine))
        done = replace(done, dose=dose(done.motion, box, pixel, machine.waists, material.full, corner))
        total[part] += done.dose
        own = outcome.path_of(alone, machine, corner)
        burn[part] = np.fmax(
            burn[part], outcome.relative_overburn(done, own, _usual_density(done, stage.settings.even))
        )
        scores.append(_layer_scores(stage, done, material, float(seconds[its].sum())))
    developed = outcome.developed_map(total, material)
    factor = max(1, -(-max(shape) // PICTURE))
    shift = 0.5 * (factor - 1) * pixel
    begin = origin[0] + shift, origin[1] + shift
    evidence = Evidence(
        title=title,
        machine=machine,
        pixel=factor * pixel,
        dose=_reduced(total, factor, np.max),
        developed=_reduced(developed, factor, np.mean),
        path=outcome.path_of(program, machine, begin),
        motion=outcome.motion(moves),
        overburn=_reduced(np.where(np.isnan(burn), -1.0, burn), factor, np.max, -1.0),
        seconds=planned.seconds,
        violations=whole.violations,
        origin=begin,
        remarks=(*whole.notes, *(text for one in scores for text in one.remarks)),
        facts=tuple((one.title, one.text) for one in scores),
        layers=tuple(_layer_path(stage) for stage in stages),
    )
    return evidence, scores, whole


def _usual_density(done: Replay, even: bool = False) -> np.ndarray:
    """The usual energy on a length [J/m] for each lit block (n,) of a layer, 0 for others.

    It is the median along the layer, of what a block programs where power follows the speed, and of what it
    leaves in its planned time at constant power: the writer has lowered the power where the head is slow.
    even: the usual peak of a line, in place of its energy, is that of all directions.
    """
    profile, length = done.motion.profile, done.plan.length
    lit = (done.program.power > 0.0) & (length > 0.0)
    if keeps_dose(profile):
        each = meant_lines(done.program, done.plan, profile)[1][lit]
    else:
        each = (done.program.power * done.plan.durations.sum(axis=1))[lit] / length[lit]
    across = line_waists(done.waists, done.plan.direction) if even else np.ones(len(lit))
    each = each / across[lit]
    order = np.argsort(each)
    reached = np.cumsum(length[lit][order])
    return np.where(lit, across * each[order][np.searchsorted(reached, 0.5 * reached[-1])], 0.0)


def _stage_lines(text: str, stages: Sequence[Stage]) -> list[tuple[int, int]]:
    """The numbers of the lines with the comment of each stage and of the next one."""
    heads = [f"; {stage.settings.mode} " for stage in stages]
    found: list[int] = []
    lines = text.splitlines()
    number = 0
    for head in heads:
        while not lines[number].startswith(head):
            number += 1
        found.append(number + 1)
        number += 1
    return list(zip(found, [*found[1:], len(lines) + 1], strict=True))


def _layer_path(stage: Stage) -> LayerPath:
    points = np.stack([stage.path.x, stage.path.y], axis=1)
    moves = np.stack([points[:-1], points[1:]], axis=1)[stage.path.lit[1:]]
    return LayerPath(f"{stage.settings.mode}: {stage.settings.title}", moves)


def _reduced(values: np.ndarray, factor: int, take: Any, beyond: float = 0.0) -> np.ndarray:
    """A picture of a map with `factor` x `factor` cells in each of its own."""
    if factor > 1:
        rows, columns = (-(-side // factor) for side in values.shape)
        padded = np.pad(
            values,
            [(0, rows * factor - values.shape[0]), (0, columns * factor - values.shape[1])],
            constant_values=beyond,
        )
        values = take(padded.reshape(rows, factor, columns, factor), axis=(1, 3))
    return np.where(values < 0.0, np.nan, values)


def _layer_scores(stage: Stage, done: Replay, material: Exposure, seconds: float) -> LayerScores:
    s = stage.settings
    numbers: dict[str, float | str] = {
        "mode": s.mode, "power": s.power, "speed": s.speed, "passes": s.passes, "way": stage.way,
        "seconds": seconds,
    }  # fmt: skip
    times = f", {s.passes} times" if s.passes > 1 else ""
    remarks: tuple[str, ...] = ()
    how = "searched" if s.search else f"{s.power:.3g} W, {s.speed * 1e3:.4g} mm/s{times}"
    if stage.area is not None:
        overlap, off = _area_scores(stage, done, material)
        numbers |= {"area": stage.area.size, "overlap": overlap, "edge_mean": off}
        what = f"{stage.area.size * 1e6:.4g} mm², overlap {overlap:.4f}, edges {micrometres(off)} off"
    elif stage.cut is not None:
        cut = stage.cut
        part_dose = done.dose * (material.full / cut.fluence)
        edges = edges_of_dose(part_dose, done.origin, done.pixel, cut.samples, order=3)
        numbers |= {"kerf": cut.kerf, "edge_mean": edges.mean, "edge_largest": edges.largest_error}
        numbers |= {"edge_95": edges.quantile(0.95)}
        numbers |= {"edge_missing": edges.missing}
        what = f"{stage.way * 1e3:.4g} mm, kerf {micrometres(cut.kerf)}, edges {micrometres(edges.mean)} off"
        what += f" (largest {micrometres(edges.largest_error)})"
        scaled = MeasuredEdges(edges, replace(done, dose=part_dose))
        remarks = tuple(f"{s.title}: {one}" for one in uncut_remark(stage.path, scaled, order=3))
    else:
        found = line_edges(done.dose, done.origin, done.pixel, stage.lines, material.threshold, done.waists)
        numbers |= {"marked": found.marked, "width": found.width}
        what = f"{stage.way * 1e3:.4g} mm, line {micrometres(found.width)} wide"
        if found.marked < 0.999:
            what += f", {100.0 * (1.0 - found.marked):.2g} % below the threshold"
    return LayerScores(f"{s.mode} {s.title}", numbers, f"{how}; {what}; {clock(seconds)}", remarks)


def _area_scores(stage: Stage, done: Replay, material: Exposure) -> tuple[float, float]:
    """The overlap of the marked with the wanted area, and the mean distance of their edges [m]."""
    area = stage.area
    assert area is not None
    corner = [round(z / done.pixel) for z in done.origin]
    rows, columns = area.covered.shape
    low = min(area.corner[1], corner[1]), min(area.corner[0], corner[0])
    high = (
        max(area.corner[1] + rows, corner[1] + done.dose.shape[0]),
        max(area.corner[0] + columns, corner[0] + done.dose.shape[1]),
    )
    target, marked = np.zeros((2, high[0] - low[0], high[1] - low[1]))
    _put_map(target, area.covered, (area.corner[1] - low[0], area.corner[0] - low[1]))
    _put_map(marked, done.dose, (corner[1] - low[0], corner[0] - low[1]))
    developed = outcome.developed_map(marked, material)
    edges = edge_placement(developed, target, done.pixel, reach=4.0 * max(done.waists))
    return intersection_over_union(developed, target), edges.mean


def _put_map(into: np.ndarray, values: np.ndarray, at: tuple[int, int]) -> None:
    into[at[0] : at[0] + values.shape[0], at[1] : at[1] + values.shape[1]] = values
