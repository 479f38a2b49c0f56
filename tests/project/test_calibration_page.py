"""The page about grids and their photos: its script runs as an engineer would, and finds what is hidden."""

import re
from pathlib import Path

import pytest

from minusgrad_laser.machine.profile import Profile
from tests.support.pages import ROOT, blocks, run

PAGE = "docs/laser-calibration.md"


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with all that the script writes, and what it prints."""
    folder = tmp_path_factory.mktemp("calibration")
    for _, name, text in blocks(PAGE):
        (folder / name).write_text(text)
    return folder, run(folder, "sh", "-e", "-c", (folder / "calibrate.sh").read_text())


@pytest.mark.long
def test_the_rehearsal_finds_what_it_hides(printed: tuple[Path, str]) -> None:
    """A spot of 60 x 150 um, 11 J/cm^2, 200 us; the page shows the rows that are printed."""
    folder, out = printed
    machine = Profile.load(folder / "mine.toml")
    assert machine.spot == pytest.approx((60e-6, 150e-6), rel=0.02)
    assert machine.threshold == pytest.approx(1.1e5, rel=0.03)
    assert machine.latency == pytest.approx(2e-4, rel=0.08)
    assert machine.exponent == pytest.approx(1.0, abs=0.02)
    (shown,) = (text for _, _, text in blocks(PAGE) if text.startswith("rehearsal.jpg: "))
    for line in shown.splitlines():
        name, value = re.match(r"(?: +)?(\w+(?: \w)?)(?: +(-?[\d.]+) ±)?", line).groups()  # type: ignore[union-attr]
        if value is not None:
            (same,) = (one for one in out.splitlines() if one.strip().startswith(name))
            assert float(same.split("±")[0].split()[-1]) == pytest.approx(float(value), rel=0.02, abs=0.1), (
                line
            )


def test_its_table_of_depths(tmp_path: Path) -> None:
    (text,) = (text for _, name, text in blocks(PAGE) if name == "oak.csv")
    (tmp_path / "oak.csv").write_text(text)
    assert "5, of 4 doses" in run(tmp_path, "minusgrad", "laser", "--fit", "oak.csv")
    assert (tmp_path / "oak.table.csv").read_text().splitlines()[1:3] == ["dose,depth", "0.1,2"]


def test_its_keys_are_those_of_the_profile() -> None:
    from minusgrad_laser.calibration.profile_file import KEYS

    page = (ROOT / PAGE).read_text()
    table = page[page.index("| number | key") : page.index("Standard errors come")]
    assert set(re.findall(r"`(\w+)`", table)) >= {*KEYS}
