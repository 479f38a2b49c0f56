"""The tutorial, the how-tos and the other pages in folders of `docs/`: each is followed in its own folder.

The files that a page shows are written first, then its shell blocks run in their order, then all its Python
blocks as one script, as a reader would type them into one session. Blocks called
`illustration` are not run; of those called `output` each line must have been printed.
"""

import sys
from pathlib import Path

import pytest

from tests.support.pages import ROOT, blocks, directives, guides, run
from tests.support.tiers import sampled

LANGUAGES = {"sh", "python", "toml", "csv", "text"}
SHORTER = {
    "minusgrad movie runs/magnets\n": "minusgrad movie runs/magnets --every 40\n",
    "minusgrad run magnets.toml --plugin": "minusgrad run magnets.toml run.steps=400 --plugin",
    "run.steps=3200": "run.steps=10",
    "sim.step(200)": "sim.step(20)",
    "sim.run(steps=1000,": "sim.run(steps=100,",
}
"""Commands whose options here ask for less than those of the page."""
NOT_RUN = ("illustration", "output")


def written(page: str, folder: Path) -> None:
    """The files that a page shows."""
    for _, name, text in blocks(page):
        if "." in name:
            (folder / name).write_text(text)


def texts(page: str, language: str, name: str = "") -> list[str]:
    """The blocks of one language that are called so."""
    found = [text for of, called, text in blocks(page) if of == language and called == name]
    for shown, less in SHORTER.items():
        found = [text.replace(shown, less) for text in found]
    return found


RUN = [page for page in guides() if texts(page, "sh") or texts(page, "python")]


def test_every_block_is_run_or_marked() -> None:
    for page in guides():
        found = blocks(page)
        assert {language for language, _, _ in found} <= LANGUAGES, page
        unmarked = [name for language, name, _ in found if language not in ("sh", "python") and not name]
        assert unmarked == [], page
        assert {name for _, name, _ in found if name and "." not in name} <= set(NOT_RUN), page
        fences = (ROOT / page).read_text().count("\n```")
        assert fences == 2 * (len(found) + len(directives(page))), f"{page}: a block that is not recognised"


@pytest.mark.parametrize("page", sampled(RUN, ["docs/start/tutorial.md"]))
def test_a_page_is_followed(page: str, tmp_path: Path) -> None:
    (tmp_path / "scenes").symlink_to(ROOT / "scenes")
    written(page, tmp_path)
    printed = "".join(run(tmp_path, "sh", "-e", "-c", text) for text in texts(page, "sh"))
    if scripts := texts(page, "python"):
        (tmp_path / "blocks.py").write_text("\n".join(scripts))  # an energy has a source that can be read
        printed += run(tmp_path, sys.executable, "blocks.py")
    for shown in texts(page, "text", "output"):
        for line in shown.splitlines():
            assert " ".join(line.split()) in " ".join(printed.split()), f"{page}: {line}"
    if page.endswith("tutorial.md"):
        assert "57 questions, 0 findings" in printed
        assert "magnets.strength 1.2022 0.0021" in " ".join(printed.split())
        for shown in ("magnets/pictures/points.webp", "pendulum-fit/pictures/fit_data.png"):
            assert (tmp_path / "runs" / shown).is_file()
