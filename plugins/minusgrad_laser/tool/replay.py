"""Replay of anybody's job file: job time, limits, dose, over-burn where the head slows down."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from minusgrad.plugin import UserError

from ..jobs.files import save
from ..virtual_machine import Replay
from ..virtual_machine import replay as replayed
from . import files, outcome, pictures, report, request
from .evidence import Evidence
from .machines import machine
from .request import Material

OVERBURN = 2.0
"""Dose over the usual dose that is a finding: the head stood or slowed down with the laser on."""


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
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from None
    done = replayed(text, m, pixel=pixel, waist=m.waist, full=material.full, name=str(file))
    evidence = of(done, material, file.name)
    findings = [*done.violations, *overburns(evidence, done)]
    page, picture = report.page(evidence), pictures.png(evidence)
    save(outputs[0], page)
    save(outputs[1], picture)
    _summary(file, evidence, findings, outputs, a.json)
    return int(bool(findings))


def of(done: Replay, material: Material, title: str) -> Evidence:
    """The evidence about a replayed file."""
    return Evidence(
        title=title,
        machine=done.motion.profile,
        pixel=done.pixel,
        dose=done.dose,
        developed=outcome.developed(done.dose, material),
        path=outcome.path_of(done, done.motion.profile),
        motion=outcome.motion(done),
        seconds=done.seconds,
        violations=done.violations,
        facts=(("remarks", str(len(done.notes))),) if done.notes else (),
    )


def overburns(evidence: Evidence, done: Replay) -> list[str]:
    """A sentence if some place has more than `OVERBURN` of the usual dose, with its place in the file."""
    part = evidence.dose / evidence.usual_dose
    if part.max() <= OVERBURN:
        return []
    row, column = np.unravel_index(np.argmax(part), part.shape)
    x, y = ((o + k * done.pixel) * 1e3 for o, k in zip(done.origin, (column, row), strict=True))
    area = np.count_nonzero(part > OVERBURN) * done.pixel**2 * 1e6
    return [
        f"over-burn: {part.max():.3g} times the usual dose at x = {x:.2f} mm, y = {y:.2f} mm;"
        f" {area:.3g} mm² have more than {OVERBURN:g} times"
    ]


def _summary(file: Path, evidence: Evidence, findings: list[str], outputs: list[Path], as_json: bool) -> None:
    rows = evidence.rows()
    if as_json:
        facts = {"file": str(file), "scores": dict(rows), "findings": findings}
        print(json.dumps(facts | {"files": [str(one) for one in outputs]}, indent=1))
        return
    width = max(len(name) for name, _ in rows)
    print(f"{file}: {len(evidence.path) - 1} moves")
    for name, text in rows:
        print(f"  {name:<{width}}  {text}")
    for one in outputs:
        print(f"  {one}")
    for text in findings:
        print(f"minusgrad: {text}", file=sys.stderr)
