"""Links between pages that work on a Git host and in the site.

A page links to files of the repository relative to itself. In the site some of them are pages of their own
(`PLACES`, the scenes of the gallery); other files outside `docs/` are named without a link.
"""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GENERATED = DOCS / "generated"
PLACES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "generated/architecture.md",
    "CONTRIBUTING.md": "generated/contributing.md",
    "CHANGELOG.md": "generated/changelog.md",
    "benchmarks/README.md": "generated/benchmarks.md",
    "scenes/torch/README.md": "generated/pytorch.md",
    "tests/traps/README.md": "generated/traps.md",
    "tests/README.md": "generated/tests.md",
}
"""Files outside `docs/` that are pages of the site, by their path in the repository."""
LINK = re.compile(r"(?<!\\)(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
PICTURES = (".png", ".webp", ".gif", ".svg", ".jpg")


def relinked(text: str, source: Path, page: Path) -> str:
    """The text of `source`, a file of the repository, with the links of the site's page at `page`."""

    def link(found: re.Match[str]) -> str:
        mark, shown, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        shown = LINK.sub(link, shown)
        file, _, heading = target.partition("#")
        place = placed((source.parent / file).resolve())
        if place is None:
            return shown
        there = os.path.relpath(place, page.parent)
        if file.endswith("README.md") and place == DOCS / "index.md":
            heading = ""  # the front page of the site has other headings
        return f"{mark}[{shown}]({there}{'#' * bool(heading)}{heading})"

    return LINK.sub(link, text)


def placed(path: Path) -> Path | None:
    """Where the site has a file of the repository; None where it has not."""
    name = path.relative_to(ROOT).as_posix()
    if name in PLACES:
        return DOCS / PLACES[name]
    if path.suffix == ".toml" and path.parent == ROOT / "scenes":
        return GENERATED / "gallery" / f"{path.stem}.md"
    return path if path.is_relative_to(DOCS) or path.suffix in PICTURES else None


NAMED = re.compile(r"^```(\w+) (\S+\.\w+)\n", re.MULTILINE)
LANGUAGES = {"csv": "text"}
"""Languages that Pygments does not know."""


def captioned(text: str) -> str:
    """Blocks that are files of their own, "```toml stars.toml", have the name of the file as a caption."""

    def block(found: re.Match[str]) -> str:
        language = LANGUAGES.get(found[1], found[1])
        return f"```{{code-block}} {language}\n:caption: {found[2]}\n\n"

    return NAMED.sub(block, text)
