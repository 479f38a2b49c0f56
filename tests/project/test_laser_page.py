"""The pages about `minusgrad laser`: their scripts run in their order in one folder, as an engineer would."""

from pathlib import Path

import pytest

from tests.support.pages import ROOT, blocks, run

PAGES = ("docs/laser-tool.md", "docs/laser-layers.md")
FEW = {"--draft": "--steps 4"}
"""Options of the pages, and those of the test in their place."""
WRITTEN = {
    "comb.sh": ("comb.gcode", "comb.report.html", "comb.report.png"),
    "grid.sh": ("grid.gcode", "grid.toml", "grid.svg"),
    "replay.sh": ("corner.replay.html", "corner.replay.png"),
    "constant.sh": ("constant.gcode", "constant.report.png"),
    "heron.sh": ("heron.gcode", "heron.report.html", "heron.report.png", "heron.run/trajectory.h5"),
    "mine.sh": ("disc.gcode", "disc.csv"),
    "scene.sh": ("again.toml", "again/trajectory.h5"),
    "begin.sh": ("coaster.layers.toml",),
    "coaster.sh": ("coaster.gcode", "coaster.report.png"),
}
LONG = ("constant.sh", "heron.sh", "coaster.sh")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engineer")
    (folder / "scenes").symlink_to(ROOT / "scenes")
    for page in PAGES:
        for _, name, text in blocks(page):
            (folder / name).write_text(text)
    return folder


def test_every_script_is_followed() -> None:
    names = [name for page in PAGES for _, name, _ in blocks(page)]
    assert {name for name in names if name.endswith(".sh")} == {*WRITTEN}
    assert len(names) == len({*names})


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in WRITTEN]
)
def test_a_script_of_the_page(name: str, folder: Path) -> None:
    (text,) = (text for page in PAGES for _, called, text in blocks(page) if called == name)
    for shown, less in FEW.items():
        text = text.replace(shown, less)
    run(folder, "sh", "-e", "-c", text)
    assert [file for file in WRITTEN[name] if not (folder / file).is_file()] == []


@pytest.mark.parametrize(("page", "count"), zip(PAGES, (3, 1), strict=True))
def test_every_picture_is_there(page: str, count: int) -> None:
    text = (ROOT / page).read_text()
    pictures = [part.partition(")")[0] for part in text.split("](pictures/")[1:]]
    assert len(pictures) == count
    assert all((ROOT / "docs/pictures" / name).is_file() for name in pictures)
