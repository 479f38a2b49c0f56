"""A job from the layers of a drawing: its stages, the job file, the replay, the report."""

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from minusgrad.plugin import UserError, write_file

from ..jobs import gcode, maps, preview, table
from ..jobs.toolpath import Toolpath
from ..layers.stages import join_stages, plan_stages
from ..virtual_machine import Replay
from . import drawn, files, pictures, report, request
from .evidence import Evidence
from .layer_evidence import LayerScores, gather_evidence
from .layer_search import run_folder, search_area
from .machines import machine
from .printed import print_scores, say_aside
from .request import Request

SEARCHED = ("steps", "start", "draft", "fine", "resume")
"""Options of the search that a job without one does not take."""
OF_IMAGES = ("baseline", "scene_only", "stroke", "font")
"""Options of a job from an image."""


def make_layered(a: argparse.Namespace) -> int:
    """Make the job of a drawing's layers. Returns the exit code: 1 if the replayed file has findings."""
    wanted = request.of(a, machine(a.machine))
    asked = drawn.of_layers(a)
    if asked == "new":
        return drawn.begin_table(wanted, a.force)
    if asked == "list":
        return drawn.list_layers(wanted)
    assert not isinstance(asked, str)
    gcode.refuse_dialect(wanted.machine)
    its = drawn.read_layers(wanted, asked, a.pixel is not None)
    pictures.require()
    searched = [settings.title for settings, _ in its.layers if settings.search]
    _refuse_options(a, bool(searched))
    outputs = _output_files(wanted, a)
    folders = [] if a.resume else [run_folder(wanted, title) for title in searched]
    files.refuse([*outputs.values(), *folders], a.force, wanted.image)
    search = partial(search_area, wanted, a)
    stages = plan_stages(its.drawing, its.layers, wanted.machine, wanted.material, its.pixel, search)
    remarks = (
        *request.exponent_remarks(wanted.machine),
        *its.remarks,
        *(text for stage in stages for text in stage.remarks),
    )
    path = join_stages(stages)
    text = gcode.write(path, wanted.machine)
    say_aside("replaying the job file ...")
    evidence, scores, done = gather_evidence(
        text, path, stages, wanted.machine, wanted.material, its.pixel, wanted.image.name, wanted.out.name
    )
    if evidence.violations:
        outputs.pop("job")
    _write_outputs(evidence, path, text, done, outputs)
    _print_summary(wanted, evidence, scores, remarks, list(outputs.values()), a.json)
    return int(bool(evidence.violations))


def _refuse_options(a: argparse.Namespace, searched: bool) -> None:
    for names, why in ((OF_IMAGES, "is of a job from an image"), (SEARCHED, "no layer has search = true")):
        if not (names is SEARCHED and searched) and (given := [one for one in names if getattr(a, one)]):
            raise UserError(f"--{given[0].replace('_', '-')}: {why}; leave it out")


def _output_files(wanted: Request, a: argparse.Namespace) -> dict[str, Path]:
    """The files to write, by what they are."""
    found = {
        "job": wanted.out,
        "html": wanted.path_beside(".report.html"),
        "png": wanted.path_beside(".report.png"),
    }
    endings = {"csv": ".csv", "svg": ".svg", "hdf5": ".h5"}
    found |= {name: wanted.path_beside(ending) for name, ending in endings.items() if getattr(a, name)}
    if a.tiff:
        found |= {name: wanted.path_beside(f".{name}.tiff") for name in ("dose", "developed")}
    return found


def _write_outputs(e: Evidence, path: Toolpath, text: str, done: Replay, outputs: dict[str, Path]) -> None:
    """Write all files, when the contents of all are made."""
    makers: dict[str, Callable[[], bytes | str]] = {
        "html": lambda: report.page(e),
        "png": lambda: pictures.png(e),
        "dose": lambda: maps.tiff(e.dose, e.pixel, "dose, in parts of the dose that exposes fully"),
        "developed": lambda: maps.tiff(e.developed, e.pixel, "developed part"),
        "csv": lambda: table.write(done.motion),
        "svg": lambda: preview.write(path, e.machine),
        "job": lambda: text,
    }
    contents = {file: makers[name]() for name, file in outputs.items() if name in makers}
    if "hdf5" in outputs:
        maps.hdf5(outputs["hdf5"], e.maps(), e.pixel, done.full)
    for file, data in contents.items():
        write_file(file, data)


def _print_summary(
    wanted: Request,
    e: Evidence,
    scores: list[LayerScores],
    remarks: tuple[str, ...],
    made: list[Path],
    as_json: bool,
) -> None:
    findings = [*e.violations, *map(str, e.burns)]
    if as_json:
        layers = [{"name": one.title, **one.numbers} for one in scores]
        facts = {"files": [str(file) for file in made], "scores": dict(e.rows), "layers": layers}
        more = {"violations": list(e.violations), "burns": list(map(str, e.burns)), "remarks": list(remarks)}
        print(json.dumps(facts | more, indent=1))
        return
    print_scores(f"{wanted.out}: {len(e.path)} points", e.rows, made)
    for text in (*findings[:20], *e.remarks, *remarks):
        say_aside(text)
    if e.violations:
        say_aside(f"{wanted.out}: not written, because limits are broken")
