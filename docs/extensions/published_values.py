"""Published values beside ours: a page from `published-values.json`, which `minusgrad validate` wrote."""

import json
from pathlib import Path
from typing import Any

from minusgrad.published.report import in_words

from .gallery import escaped
from .links import DOCS, GENERATED

SOURCE = DOCS / "published-values.json"
HEAD = ("problem", "published", "ours", "within", "", "seconds")


def pages() -> dict[Path, str]:
    """The text of the page by its path."""
    return {GENERATED / "published-values.md": page(json.loads(SOURCE.read_text()))}


def page(data: dict[str, Any]) -> str:
    """A table for each area, then the machine; data: what the command wrote."""
    machine, versions = data["machine"], ", ".join(f"{name} {v}" for name, v in data["versions"].items())
    areas = dict.fromkeys(row["area"] for row in data["rows"])
    tables = [_table(area, [row for row in data["rows"] if row["area"] == area]) for area in areas]
    return "\n".join(
        [
            "# Published values beside ours",
            "",
            f"[`minusgrad validate`](../published-values.md) on {data['date']}: {data['summary']}.",
            f"{machine['processor']}, {machine['cores']} cores, {machine['system']}; {versions}.",
            "",
            *tables,
        ]
    )


def _table(area: str, rows: list[dict[str, Any]]) -> str:
    head = [_line(HEAD), _line(["---"] * len(HEAD))]
    return "\n".join([f"## {area.capitalize()}", "", *head, *map(_row, rows), ""])


def _row(row: dict[str, Any]) -> str:
    published, ours, within = map(escaped, in_words(row))
    about = f"**{escaped(row['name'])}**: {escaped(row['measured'])}. *{escaped(row['source'])}*"
    reason = f"{within}: {escaped(row['why'])}" if within else escaped(row["why"])
    return _line([about, published, ours, reason, row["answer"], f"{row['seconds']:.1f}"])


def _line(texts: Any) -> str:
    return f"| {' | '.join(' '.join(text.split()).replace('|', chr(92) + '|') for text in texts)} |"
