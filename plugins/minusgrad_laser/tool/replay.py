"""Replay of anybody's job file: job time, limits, dose, over-burn where the head slows down."""

import argparse
import json
import sys
from pathlib import Path

from minusgrad.plugin import UserError, input_files

from ..jobs.files import save
from ..search.recipe import Exposure
from ..virtual_machine import Replay
from ..virtual_machine import replay as replayed
from . import files, outcome, pictures, report, request
from .evidence import Evidence
from .machines import machine
from .printed import printed

SHOWN = 20
"""Findings that are printed one by one."""


def replay(a: argparse.Namespace) -> int:
    """Replay the job file of a command line. Returns the exit code: 1 on findings."""
    if a.image is not None:
        raise UserError(f"--replay: takes a job file alone, got the image {a.image}, too; leave it out")
    pictures.require()
    m, material, file = machine(a.machine), request.material(a), Path(a.replay)
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
    done = replayed(text, m, pixel=pixel, waist=m.waist, full=material.full, name=str(file))
    evidence = of(done, material, file.name)
    findings = [*done.violations, *map(str, evidence.burns)]
    page, picture = report.page(evidence), pictures.png(evidence)
    save(outputs[0], page)
    save(outputs[1], picture)
    _summary(file, evidence, findings, outputs, a.json)
    return int(bool(findings))


def of(done: Replay, material: Exposure, title: str) -> Evidence:
    """The evidence about a replayed file."""
    path = outcome.path_of(done, done.motion.profile)
    return Evidence(
        title=title,
        machine=done.motion.profile,
        pixel=done.pixel,
        dose=done.dose,
        developed=outcome.developed(done.dose, material),
        path=path,
        motion=outcome.motion(done),
        overburn=outcome.relative_overburn(done, path),
        seconds=done.seconds,
        violations=done.violations,
        origin=done.origin,
        remarks=done.notes,
    )


def _summary(file: Path, evidence: Evidence, findings: list[str], outputs: list[Path], as_json: bool) -> None:
    rows = evidence.rows
    if as_json:
        facts = {"file": str(file), "scores": dict(rows), "findings": findings}
        print(json.dumps(facts | {"files": [str(one) for one in outputs]}, indent=1))
        return
    printed(f"{file}: {len(evidence.path) - 1} moves", rows, outputs)
    for text in findings[:SHOWN]:
        print(f"minusgrad: {text}", file=sys.stderr)
    if len(findings) > SHOWN:
        print(f"minusgrad: and {len(findings) - SHOWN} more findings", file=sys.stderr)
