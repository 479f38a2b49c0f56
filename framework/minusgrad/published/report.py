"""The table of outcomes as cells, and as JSON with versions and processor."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from math import ceil, log10
from pathlib import Path
from typing import Any

from .. import __version__
from ..engine import runtime
from ..errors import MinusgradError, UserError
from ..files import durable
from .outcome import Outcome, summary
from .processor import processor_name
from .published_value import PublishedValue

HEAD = ("row", "published", "ours", "within", "", "s", "source")
LIST_HEAD = ("area", "row", "what is measured", "published", "", "source")


def cells(outcome: Outcome) -> tuple[str, ...]:
    """An outcome as texts, in the order of `HEAD`."""
    row = outcome.row
    seconds = f"{outcome.seconds:.1f}" if outcome.seconds else ""
    return row.name, *in_words(outcome.as_dict()), outcome.answer, seconds, row.source


def list_cells(row: PublishedValue) -> tuple[str, ...]:
    """A row as texts, in the order of `LIST_HEAD`."""
    needs = [*(["quick"] if row.quick else []), *(["--data"] if row.data else []), *row.needs]
    return row.area, row.name, row.measured, _published(row.declaration()), ", ".join(needs), row.source


def in_words(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """What is published, what was found or why nothing was, and the tolerances. row: of `as_dict`."""
    within = "" if row["at_most"] else " ".join(f"{one:.2g}" for one in dict.fromkeys(row["tolerance"]))
    return _published(row), row["message"] or _numbers(row), within


def _published(row: Mapping[str, Any]) -> str:
    pairs = zip(row["value"], row["tolerance"], strict=True)
    numbers = " ".join(f"{number:.{max(10, _digits(number, tolerance))}g}" for number, tolerance in pairs)
    unit = "" if row["unit"] == "1" else f" {row['unit']}"
    return f"{'at most ' if row['at_most'] else ''}{numbers}{unit}"


def _numbers(row: Mapping[str, Any]) -> str:
    """With one digit more than the tolerance shows."""
    numbers = [float(one) for one in row["ours"]]
    if row["at_most"]:
        return " ".join(f"{number:.2g}" for number in numbers)
    known = dict(enumerate(row["tolerance"]))
    return " ".join(_number(number, known.get(k, row["tolerance"][0])) for k, number in enumerate(numbers))


def _number(number: float, tolerance: float) -> str:
    if number == 0.0 or number - number != 0.0:
        return f"{number:g}"
    return f"{number:.{_digits(number, tolerance)}g}"


def _digits(number: float, tolerance: float) -> int:
    """Digits that show one place more than the tolerance."""
    if number == 0.0 or tolerance == 0.0:
        return 2
    return min(max(2 + ceil(log10(abs(number)) - log10(tolerance)), 2), 16)


def as_json(outcomes: Sequence[Outcome], asked: int) -> dict[str, Any]:
    """All that is known: versions, processor, date, rows. asked: how many rows were to be computed."""
    return {
        "summary": summary(outcomes),
        "complete": len(outcomes) == asked,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": _versions(),
        "machine": {"processor": processor_name(), "cores": os.cpu_count(), "system": platform.system()},
        "rows": [one.as_dict() for one in outcomes],
    }


def _versions() -> dict[str, str]:
    found = {"minusgrad": __version__, "python": platform.python_version()}
    return found | {name: version(name) for name in (runtime.engine_name(), "numpy", "scipy")}


def write(file: Path, outcomes: Sequence[Outcome], asked: int) -> None:
    """Write the JSON, in place of an earlier one. Raises `UserError` if the file cannot be written."""
    text = json.dumps(as_json(outcomes, asked), indent=1, ensure_ascii=False) + "\n"
    try:
        durable.replace(file, text.encode())
    except (OSError, MinusgradError) as error:
        raise UserError(f"{file}: cannot be written ({error}); give another name") from None
