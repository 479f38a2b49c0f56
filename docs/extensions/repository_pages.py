"""Pages of the site that are files elsewhere in the repository: architecture, benchmarks, PyTorch, ..."""

from pathlib import Path

from .links import DOCS, PLACES, ROOT, relinked


def pages() -> dict[Path, str]:
    """The text of each page by its path."""
    found = {}
    for name, place in PLACES.items():
        if place.startswith("generated/"):
            text = (ROOT / name).read_text()
            found[DOCS / place] = relinked(text, ROOT / name, DOCS / place)
    return found
