"""Replay of anybody's job file: job time, limits, dose, over-burn where the head slows down."""

import argparse
import json
from functools import partial
from pathlib import Path

from minusgrad.plugin import UserError, input_files, write_file

from ..virtual_machine.limits import leaving_field
from ..virtual_machine.program import parse
from ..virtual_machine.survey import Survey, survey
from . import files, outcome, pictures, report, request
from .evidence import OVERBURN, Evidence
from .machines import machine
from .printed import print_scores, say_aside

SHOWN = 20
"""Findings that are printed one by one."""


def replay(a: argparse.Namespace) -> int:
    """Replay the job file of a command line. Returns the exit code: 1 on findings."""
    if a.image is not None:
        raise UserError(f"--replay: takes a job file alone, got the image {a.image}, too; leave it out")
    pictures.require()
    m, file = machine(a.machine), Path(a.replay)
    material = request.material(a, m)
    pixel = m.pixel if a.pixel is None else request.quantity("--pixel", a.pixel, "m")
    out = Path(a.out) if a.out else file.with_name(f"{file.stem}.replay.html")
    if out.suffix.lower() != ".html":
        raise UserError(f"--out: the report of a replay is a page, got '{out}'; end it with .html")
    outputs = [out, out.with_suffix(".png")]
    files.refuse(outputs, a.force, file)
    try:
        text = input_files.read(file).decode(errors="replace")
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    program = parse(text, m, str(file))
    if left := leaving_field(program, m, str(file)):
        say_aside(f"{left}; the replay goes on beside it")
    develop = partial(outcome.developed_map, material=material)
    done = survey(program, m, pixel, m.waists, material.full, develop, OVERBURN, str(file))
    evidence = of(done, file.name)
    findings = [*done.violations, *map(str, evidence.burns)]
    page, picture = report.page(evidence), pictures.png(evidence)
    write_file(outputs[0], page)
    write_file(outputs[1], picture)
    _print_summary(file, evidence, findings, outputs, a.json)
    return int(bool(findings))


def of(done: Survey, title: str) -> Evidence:
    """The evidence about a replayed file."""
    profile, shift = done.motion.profile, 0.5 * (done.factor - 1) * done.pixel
    origin = done.origin[0] + shift, done.origin[1] + shift
    return Evidence(
        title=title,
        machine=profile,
        pixel=done.factor * done.pixel,
        dose=done.dose,
        developed=done.developed,
        path=outcome.path_of(done.program, profile, origin),
        motion=outcome.motion(done.motion),
        overburn=done.overburn,
        seconds=done.seconds,
        violations=done.violations,
        origin=origin,
        remarks=done.notes,
        survey=done,
    )


def _print_summary(
    file: Path, evidence: Evidence, findings: list[str], outputs: list[Path], as_json: bool
) -> None:
    rows = [*evidence.rows, *_computing_text(evidence)]
    if as_json:
        facts = {"file": str(file), "scores": dict(rows), "findings": findings}
        print(json.dumps(facts | {"files": [str(one) for one in outputs]}, indent=1))
        return
    print_scores(f"{file}: {len(evidence.path) - 1} moves", rows, outputs)
    for text in findings[:SHOWN]:
        say_aside(text)
    if len(findings) > SHOWN:
        say_aside(f"and {len(findings) - SHOWN} more findings")


def _computing_text(evidence: Evidence) -> list[tuple[str, str]]:
    """How many cells were computed, and how fast: no part of the report, which is the same each time."""
    if (done := evidence.survey) is None:
        return []
    cells = done.shape[0] * done.shape[1]
    return [
        ("cells computed", f"{done.cells:,} of {cells:,}, {done.cells / max(done.took, 1e-9):.2g} a second")
    ]
