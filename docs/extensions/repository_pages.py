"""Pages of the site that are files elsewhere in the repository: architecture, benchmarks, PyTorch, ..."""

import re
from pathlib import Path

from .links import DOCS, PLACES, ROOT, relinked

GLOSSARY = "| word | meaning |"


def pages() -> dict[Path, str]:
    """The text of each page by its path."""
    found = {}
    for name, place in PLACES.items():
        if place.startswith("generated/"):
            text = (ROOT / name).read_text()
            found[DOCS / place] = relinked(text, ROOT / name, DOCS / place)
    found[DOCS / "generated" / "glossary.md"] = glossary()
    return found


def glossary() -> str:
    """The glossary of ARCHITECTURE.md, in the order of the alphabet."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text[text.index(GLOSSARY) :].split("\n\n")[0]
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", table, re.MULTILINE)[1:]
    entries = "\n".join(
        f"{word}\n: {meaning}\n" for word, meaning in sorted(rows, key=lambda r: r[0].lower())
    )
    return f"# Glossary\n\n{entries}"
