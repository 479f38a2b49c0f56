"""The page about `minusgrad laser`: its scripts run in their order in one folder, as an engineer would."""

from pathlib import Path

import pytest

from tests.support.pages import ROOT, blocks, run

PAGE = "docs/laser-tool.md"
FEW = {"--draft": "--steps 4"}
"""Options of the page, and those of the test in their place."""
WRITTEN = {
    "heron.sh": ("heron.gcode", "heron.report.html", "heron.report.png", "heron.run/trajectory.h5"),
    "mine.sh": ("disc.gcode", "disc.csv"),
    "scene.sh": ("again.toml", "again/trajectory.h5"),
    "replay.sh": ("corner.replay.html", "corner.replay.png"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engineer")
    (folder / "scenes").symlink_to(ROOT / "scenes")
    for _, name, text in blocks(PAGE):
        (folder / name).write_text(text)
    return folder


def test_every_script_is_followed() -> None:
    assert {name for _, name, _ in blocks(PAGE) if name.endswith(".sh")} == {*WRITTEN}


@pytest.mark.parametrize("name", [pytest.param("heron.sh", marks=pytest.mark.long), *list(WRITTEN)[1:]])
def test_a_script_of_the_page(name: str, folder: Path) -> None:
    (text,) = (text for _, called, text in blocks(PAGE) if called == name)
    for shown, less in FEW.items():
        text = text.replace(shown, less)
    run(folder, "sh", "-e", "-c", text)
    assert [file for file in WRITTEN[name] if not (folder / file).is_file()] == []


def test_every_picture_is_there() -> None:
    text = (ROOT / PAGE).read_text()
    pictures = [part.partition(")")[0] for part in text.split("](pictures/")[1:]]
    assert len(pictures) == 2
    assert all((ROOT / "docs/pictures" / name).is_file() for name in pictures)
