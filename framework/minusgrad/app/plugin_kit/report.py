"""A conformance report of a plugin: rows from a process for each installed engine, as Markdown or JSON."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ... import __version__
from ...assembly.installed_plugins import described, installed, only
from ...engine import runtime
from ...errors import UserError, unknown
from .check_process import Drained
from .conformance import NOT_ASKED, ConformanceRow

HEAD = ("subject", "question", "engine", "result", "figure", "")
SUFFIXES = (".md", ".json")
MOST_SCENES = 3
"""The most scenes that are looked for beside a package."""


def report(plugin: str, scenes: Sequence[Path] | None, seen: Callable[[str], None]) -> list[ConformanceRow]:
    """All rows for an installed plugin. scenes: of it (default: those in `scenes/` beside its package).

    seen: called with what is asked next. Raises `UserError` for a plugin that is not installed, or cannot be
    loaded.
    """
    if plugin not in (known := installed()):
        raise UserError(f"report of '{plugin}': {unknown('plugin', plugin, known, 'installed')}")
    found = [str(scene) for scene in (beside(plugin) if scenes is None else scenes)]
    every: list[ConformanceRow] = []
    for engine in runtime.PREFIXES:
        if find_spec(engine) is None:
            every.append(
                ConformanceRow(plugin, "engine", engine, NOT_ASKED, None, "the engine is not installed")
            )
        else:
            every += _of_engine(engine, plugin, found, seen)
    return every


def beside(plugin: str) -> list[Path]:
    """The first scenes in a folder `scenes` beside the package, which begin with a list of it."""
    module = find_spec(only(installed()[plugin]).module)
    if module is None or module.origin is None:
        return []
    folder = Path(module.origin).parent.parent / "scenes"
    some = (
        scene for scene in sorted(folder.glob("*.toml")) if f'"{plugin}"' in scene.read_text(encoding="utf-8")
    )
    return [scene for _, scene in zip(range(MOST_SCENES), some, strict=False)]


def _of_engine(
    engine: str, plugin: str, scenes: Sequence[str], seen: Callable[[str], None]
) -> Iterator[ConformanceRow]:
    call = [sys.executable, "-m", f"{__package__}.report_process"]
    environment = {**os.environ, runtime.VARIABLE: engine}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(call, env=environment, stderr=subprocess.PIPE, **pipes) as child:
        try:
            doing = "its start"
            assert child.stdin is not None
            assert child.stdout is not None
            with child.stdin as pipe:
                json.dump({"plugin": plugin, "scenes": scenes}, pipe)
            lines = Drained(child.stderr)
            for line in child.stdout:
                message = json.loads(line)
                if "refused" in message:
                    raise UserError(message["refused"])
                if "doing" in message:
                    doing = message["doing"]
                    seen(f"{engine}: {doing}")
                else:
                    yield ConformanceRow(**message["row"])
            if child.wait() != 0:
                text = f"the process ended with {child.returncode} during {doing}: {lines.last()}"
                yield ConformanceRow(plugin, "engine", engine, "FAIL", None, text)
        finally:
            child.kill()


def cells(row: ConformanceRow) -> tuple[str, ...]:
    """A row as texts, in the order of `HEAD`."""
    figure = "" if row.figure is None else f"{row.figure:.2g}"
    return row.subject, row.question, row.engine, row.result, figure, row.text


def summary(rows: Sequence[ConformanceRow]) -> str:
    """How many rows passed, failed, were measured, and were not asked."""
    counts = {result: sum(row.result == result for row in rows) for result in ("pass", "FAIL", NOT_ASKED)}
    return f"{len(rows)} rows: {counts['pass']} pass, {counts['FAIL']} fail, {counts[NOT_ASKED]} not asked"


def facts(plugin: str) -> dict[str, str]:
    """Versions of what was asked."""
    owner = described(only(installed()[plugin]))
    engines = {engine: version(engine) for engine in runtime.PREFIXES if find_spec(engine) is not None}
    return {"plugin": plugin, owner.distribution: owner.version, "minusgrad": __version__, **engines}


def refuse_file(path: Path) -> None:
    """Raise `UserError` for a file of another kind."""
    if path.suffix not in SUFFIXES:
        raise UserError(f"{path}: must end in {' or '.join(SUFFIXES)}, got '{path.suffix}'; give such a name")


def write(path: Path, plugin: str, rows: Sequence[ConformanceRow]) -> None:
    """Write a report as Markdown or JSON. Raises `UserError` if the file cannot be written."""
    if path.suffix == ".json":
        whole = {"versions": facts(plugin), "rows": [row.as_dict() for row in rows]}
        text = json.dumps(whole, indent=1) + "\n"
    else:
        versions = ", ".join(f"{name} {number}" for name, number in facts(plugin).items())
        lines = [_line(cells(row)) for row in rows]
        head = [f"# Conformance of {plugin}", "", versions, "", _line(HEAD), _line(["---"] * len(HEAD))]
        text = "\n".join([*head, *lines, "", f"{summary(rows)}.", ""])
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); give another name") from None


def _line(texts: Sequence[str]) -> str:
    safe = (" ".join(text.split()).replace("|", "\\|") for text in texts)
    return f"| {' | '.join(safe)} |"
