"""The pages for readers: their blocks are written to files, run, and compared with what the pages show.

The word behind a block's language is the name of a file (`stars.toml`), of a command whose output is shown
(`fit`), or `illustration` for a block that is not run. Blocks without one are Python to run, a shell script,
or pieces of a scene.
"""

import re
import sys
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from minusgrad.files import trajectory
from tests.support.pages import ROOT, blocks, directives, documents, guides, run

PAGES = ["README.md", "CONTRIBUTING.md", *documents()]
ILLUSTRATION = "illustration"
OUTPUTS = {
    "fit": ("fit", "swing.toml"),
    "source": ("source", "spring", "--dimension", "2"),
}
"""The commands whose output is shown, by the name of the block."""


def unnamed(language: str, page: str | None = None) -> list[str]:
    """The texts of a language that have no name, of one page or of all."""
    pages = PAGES if page is None else [page]
    return [text for p in pages for of, name, text in blocks(p) if of == language and not name]


PYTHON = [(page, k) for page in PAGES for k in range(len(unnamed("python", page)))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a reader has it: the shipped scenes, and the files that the pages show."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "scenes").symlink_to(ROOT / "scenes")
    for page in PAGES:
        for _, name, text in blocks(page):
            if "." in name:
                assert not (folder / name).exists(), f"{name} is shown twice"
                (folder / name).write_text(text)
    return folder


def test_every_block_is_run_or_marked() -> None:
    found = [(page, *block) for page in PAGES for block in blocks(page)]
    names = {name for _, _, name, _ in found if name and "." not in name}
    assert names == {ILLUSTRATION, *OUTPUTS}
    assert {language for _, language, name, _ in found if not name} == {"sh", "python", "toml"}
    fences = sum((ROOT / page).read_text().count("\n```") for page in PAGES)
    count = len(found) + sum(len(directives(page)) for page in PAGES)
    assert fences == 2 * count, "a block that is not recognised"


def test_shell_blocks(folder: Path) -> None:
    (text,) = unnamed("sh")
    assert "61 questions, 0 findings" in run(folder, "sh", "-e", "-c", text)
    assert (folder / "runs/stars/pictures/orbits.png").is_file()
    drift = trajectory.series(folder / "runs/stars", "observables/drift").value
    assert 0.0 < np.abs(drift).max() < 1e-3


def test_the_finding_shown_is_what_check_reports(folder: Path) -> None:
    shown = re.search(
        r"^    (kernels\.py:11: .*?)\n\n", (ROOT / "docs/gradient-check.md").read_text(), re.M | re.S
    )
    assert shown is not None
    reported = run(folder, "sh", "-c", "minusgrad check kernels.py; test $? = 1")
    assert " ".join(shown[1].split()) in " ".join(reported.split())


def test_the_pieces_of_a_solids_scene(folder: Path) -> None:
    """With an energy and a number of steps they are a scene, which starts."""
    pieces = unnamed("toml")
    assert len(pieces) == 2
    energy = '[[energy]]\nkind = "neo_hookean"\nyoungs_modulus = "1 MPa"\npoissons_ratio = 0.2\n'
    copytree(ROOT / "scenes" / "data", folder / "data")
    (folder / "solid.toml").write_text("\n".join([pieces[0], energy, pieces[1], "[run]\nsteps = 3\n"]))
    out = run(folder, "sh", "-c", "minusgrad run solid.toml --out runs/solid || test $? = 1")
    assert "not converged: gradient " in out
    leapfrog = "stepper={kind = 'leapfrog', dt = '0.1 ms'}"
    run(folder, "minusgrad", "run", "solid.toml", leapfrog, "--out", "runs/swings")


def test_laser_deposition(folder: Path) -> None:
    run(folder, "minusgrad", "run", "disc.toml", "--out", "runs/disc")
    error = trajectory.series(folder / "runs/disc", "observables/mean_square_error").value
    assert error[0] > 0.1
    assert error[-1] < 0.01
    run(folder, "minusgrad", "plot", "runs/disc")
    pictures = {path.stem for path in (folder / "runs/disc/pictures").glob("*.png")}
    assert {"dose", "error", "energy", "mesh", "mesh_speed"} <= pictures


def test_a_magnetic_mirror(folder: Path) -> None:
    """The protons turn at 50 cm, several times."""
    run(folder, "minusgrad", "run", "mirror.toml", "--plugin", "mirror.py", "--out", "runs/mirror")
    z = trajectory.series(folder / "runs/mirror", "particles/all/position").value[:, :, 2]
    assert np.abs(z).max(axis=0) == pytest.approx([0.5, 0.5], rel=0.02)
    assert ((np.diff(np.sign(z), axis=0) != 0).sum(axis=0) > 3).all()


def test_what_the_commands_print(folder: Path) -> None:
    """Line for line, but for figures that may be another machine's. Blocks named `x.nc` are files."""
    named = [(name, text) for page in PAGES for language, name, text in blocks(page) if language == "text"]
    shown = {name: text for name, text in named if name != ILLUSTRATION and not Path(name).suffix}
    assert shown.keys() == OUTPUTS.keys()
    for name, command in OUTPUTS.items():
        lines = [line.rstrip() for line in run(folder, "minusgrad", *command).splitlines()]
        assert [_plain(line) for line in lines] == [_plain(line) for line in shown[name].splitlines()]


def _plain(line: str) -> str:
    return re.split(r":| \(", line)[0] if "settled" in line or line.startswith("storing") else line


@pytest.mark.parametrize(("page", "k"), PYTHON)
def test_python_blocks(page: str, k: int, folder: Path) -> None:
    text = unnamed("python", page)[k]
    (folder / "block.py").write_text(text)  # an energy has a source that can be read
    run(folder, sys.executable, "block.py")
    if "runs/from_python" in text:
        assert len(trajectory.series(folder / "runs/from_python", "observables/drift").step) == 51


def test_there_are_python_blocks() -> None:
    assert len(PYTHON) >= 6


def test_an_energy_and_its_scene_are_short() -> None:
    """The promise is an energy of one's own in under 15 lines."""
    (energy,) = (text for _, name, text in blocks("README.md") if name == "halo.py")
    assert len(energy.splitlines()) < 15


def test_the_front_page_is_short() -> None:
    """The first screen has an energy and how to install, before any list; and where the documentation is."""
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 150
    energy, install, items = (text.index(first) for first in ("@local_energy", "pip install", "\n- **"))
    assert energy < install < items
    assert text[:energy].count("\n") < 10
    assert text[:install].count("\n") < 18
    assert "make demo" in text
    assert "(docs/index.md)" in text
    assert "(CONTRIBUTING.md)" in text


@pytest.mark.parametrize("page", [*PAGES, *guides(), "ARCHITECTURE.md", "tests/traps/README.md"])
def test_pictures_and_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target in re.findall(r"\]\((\S+?)\)", path.read_text()):
        if target.startswith("https://"):
            continue
        file, _, heading = target.partition("#")
        linked = path.parent / file if file else path
        assert linked.exists(), target
        assert not heading or heading in _anchors(linked), target


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as Git hosts make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
