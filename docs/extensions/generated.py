"""Writes the pages that are generated into `docs/generated/` before Sphinx reads them, and mends links."""

import shutil
from pathlib import Path

import scene_reference
from sphinx.application import Sphinx

from . import api_pages, command_pages, gallery, published_values, repository_pages
from .links import DOCS, GENERATED, captioned, relinked


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages when the build begins, and convert each page when it is read."""
    app.connect("config-inited", lambda app, config: write())
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def pages() -> dict[Path, str]:
    """The text of all generated pages by their paths."""
    sources = (repository_pages, api_pages, command_pages, gallery, published_values)
    reference = {GENERATED / "scene-reference" / name: text for name, text in scene_reference.texts().items()}
    return {path: text for source in sources for path, text in source.pages().items()} | reference


def write() -> None:
    """Write all pages; the files of unchanged ones stay, so that Sphinx does not read them again."""
    wanted = pages()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)
    for path in set(GENERATED.rglob("*.md")) - wanted.keys():
        path.unlink()


def clean() -> None:
    shutil.rmtree(GENERATED, ignore_errors=True)


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    page = DOCS / f"{name}.md"
    if not page.is_relative_to(GENERATED):
        source[0] = relinked(source[0], page, page)
    source[0] = captioned(source[0])
