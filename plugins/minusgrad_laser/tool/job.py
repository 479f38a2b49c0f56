"""A job from an image: its scene, the search, the replay of the job file, the report, the files."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minusgrad.plugin import input_files, write_file

from ..jobs import maps, preview, table
from . import files, outcome, pictures, report, request, runs, scene
from .machines import machine
from .outcome import Outcome
from .picture import Picture, read_picture
from .printed import print_scores, say_aside
from .reach import refuse_out_of_reach
from .request import Request
from .runs import Scene


def make(a: argparse.Namespace) -> int:
    """Make the job of a command line. Returns the exit code: 1 if the replayed file breaks limits."""
    wanted = request.of(a, machine(a.machine))
    picture = read_picture(wanted)
    refuse_out_of_reach(wanted)
    its_scene = Scene(scene.text(wanted, picture), picture.files)
    if a.scene_only:
        return _write_scene(wanted, its_scene, a.force)
    pictures.require()
    outputs = _output_files(wanted, a)
    files.refuse([*outputs.values(), *([] if a.resume else [wanted.run])], a.force, wanted.image)
    if a.resume:
        run = runs.resume_search(wanted, its_scene, a.max_hours)
    else:
        run = runs.begin_search(wanted, its_scene, a.max_hours, a.force)
    try:
        return _finish_job(wanted, picture, run, outputs, a)
    except KeyboardInterrupt:
        say_aside(f"stopped, the search is saved; continue with: {wanted.again}")
        return runs.INTERRUPTED


def _finish_job(
    wanted: Request, picture: Picture, run: Any, outputs: dict[str, Path], a: argparse.Namespace
) -> int:
    """Replay, judge and write the job of a finished run. Returns the exit code."""
    say_aside("replaying the job file ...")
    done = outcome.of(wanted, picture, run)
    beside = None
    if a.baseline:
        say_aside("seeking the baseline among rasters ...")
        beside = outcome.raster(wanted, picture)
    say_aside("drawing the report ...")
    if done.evidence.violations:
        outputs.pop("job")
    _write_outputs(done, beside, outputs)
    _print_summary(wanted, done, beside, list(outputs.values()), a.json)
    return int(bool(done.evidence.violations))


def _output_files(wanted: Request, a: argparse.Namespace) -> dict[str, Path]:
    """The files to write, by what they are."""
    found = {
        "job": wanted.out,
        "html": wanted.path_beside(".report.html"),
        "png": wanted.path_beside(".report.png"),
    }
    if a.csv:
        found["csv"] = wanted.path_beside(".csv")
    if a.svg:
        found["svg"] = wanted.path_beside(".svg")
    if a.tiff:
        found |= {name: wanted.path_beside(f".{name}.tiff") for name in ("dose", "developed")}
    if a.hdf5:
        found["hdf5"] = wanted.path_beside(".h5")
    return found


def _write_outputs(done: Outcome, other: Outcome | None, outputs: dict[str, Path]) -> None:
    """Write all files, when the contents of all are made."""
    e, beside = done.evidence, None if other is None else other.evidence
    makers: dict[str, Callable[[], bytes | str]] = {
        "html": lambda: report.page(e, beside),
        "png": lambda: pictures.png(e, beside),
        "dose": lambda: maps.tiff(e.dose, e.pixel, "dose, in parts of the dose that exposes fully"),
        "developed": lambda: maps.tiff(e.developed, e.pixel, "developed part"),
        "csv": lambda: table.write(done.replay.motion),
        "svg": lambda: preview.write(done.path, e.machine),
        "job": lambda: done.text,
    }
    contents = {file: makers[name]() for name, file in outputs.items() if name in makers}
    if "hdf5" in outputs:
        maps.hdf5(outputs["hdf5"], e.maps(), e.pixel, done.replay.full)
    for file, data in contents.items():
        write_file(file, data)


def _write_scene(wanted: Request, its_scene: Scene, force: bool) -> int:
    """Write the scene beside the output, and its files beside it where they are not there."""
    file = wanted.out.with_suffix(".toml")
    beside = {file.parent / name: data for name, data in its_scene.files.items()}
    copies = {one: data for one, data in beside.items() if not one.exists() or input_files.read(one) != data}
    files.refuse([file, *copies], force)
    for one, data in copies.items():
        write_file(one, data)
    write_file(file, its_scene.text)
    print(file)
    return 0


def _print_summary(
    wanted: Request, done: Outcome, other: Outcome | None, made: list[Path], as_json: bool
) -> None:
    rows = done.evidence.rows
    beside = {} if other is None else dict(other.evidence.rows)
    if as_json:
        facts = {"files": [str(file) for file in made], "run": str(wanted.run), "scores": dict(rows)}
        facts |= {"baseline": beside} if beside else {}
        print(json.dumps(facts | {"violations": list(done.evidence.violations)}, indent=1))
        return
    print_scores(f"{wanted.out}: {len(done.path)} points", rows, made, beside)
    said = request.exponent_remarks(done.evidence.machine)
    for text in (*done.evidence.violations, *said, *done.evidence.remarks):
        say_aside(text)
    if done.evidence.violations:
        say_aside(f"{wanted.out}: not written, because limits are broken")
