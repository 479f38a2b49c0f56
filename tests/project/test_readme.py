"""The README's blocks do what they say: files are written under their names, then everything is run."""

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from minusgrad.files import trajectory

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Language, file name (or nothing) and text of every fenced block."""
    return BLOCK.findall((ROOT / page).read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a reader has it: the shipped scenes, and the files that the README tells to write."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "scenes").symlink_to(ROOT / "scenes")
    for _, name, text in blocks("README.md"):
        if name:
            (folder / name).write_text(text)
    return folder


def run(folder: Path, *command: str) -> str:
    """The command's output; fails with it if the command fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_shell_blocks(folder: Path) -> None:
    texts = [text for language, _, text in blocks("README.md") if language == "sh"]
    assert texts, "the README shows no commands"
    for text in texts:
        assert "60 questions, 0 findings" in run(folder, "sh", "-e", "-c", text)
    assert (folder / "runs/stars/pictures/orbits.png").is_file()
    drift = trajectory.series(folder / "runs/stars", "observables/drift").value
    assert 0.0 < np.abs(drift).max() < 1e-3


def test_what_check_says_of_the_kernels_shown(folder: Path) -> None:
    said = re.search(r"^    (kernels\.py:11: .*?)\n\n", (ROOT / "README.md").read_text(), re.M | re.S)
    assert said is not None
    told = run(folder, "sh", "-c", "minusgrad check kernels.py; test $? = 1")
    assert " ".join(said[1].split()) in " ".join(told.split())


def test_the_pieces_of_a_solids_scene(folder: Path) -> None:
    """With an energy and a number of steps they are a scene, which starts."""
    pieces = [text for language, name, text in blocks("README.md") if language == "toml" and not name]
    assert len(pieces) == 2
    energy = '[[energy]]\nkind = "neo_hookean"\nyoungs_modulus = "1 MPa"\npoissons_ratio = 0.2\n'
    copytree(ROOT / "scenes" / "data", folder / "data")
    (folder / "solid.toml").write_text("\n".join([pieces[0], energy, pieces[1], "[run]\nsteps = 3\n"]))
    out = run(folder, "sh", "-c", "minusgrad run solid.toml --out runs/solid || test $? = 1")
    assert "not converged: gradient " in out
    leapfrog = "stepper={kind = 'leapfrog', dt = '0.1 ms'}"
    run(folder, "minusgrad", "run", "solid.toml", leapfrog, "--out", "runs/swings")


def test_the_path_that_leaves_a_dose(folder: Path) -> None:
    run(folder, "minusgrad", "run", "disc.toml", "--out", "runs/disc")
    error = trajectory.series(folder / "runs/disc", "observables/mean_square_error").value
    assert error[0] > 0.1
    assert error[-1] < 0.01
    run(folder, "minusgrad", "plot", "runs/disc")
    pictures = {path.stem for path in (folder / "runs/disc/pictures").glob("*.png")}
    assert {"dose", "error", "energy", "mesh", "mesh_speed"} <= pictures


def test_what_the_commands_print(folder: Path) -> None:
    """Line for line, but for figures that may be another machine's."""
    shown = {name: text.splitlines() for language, name, text in blocks("README.md") if language == "text"}
    commands = {
        "fit": ("fit", "swing.toml"),
        "source": ("source", "spring", "--dimension", "2"),
    }
    assert shown.keys() == commands.keys()
    for name, command in commands.items():
        lines = [line.rstrip() for line in run(folder, "minusgrad", *command).splitlines()]
        assert [_plain(line) for line in lines] == [_plain(line) for line in shown[name]]


def _plain(line: str) -> str:
    return line.split(":")[0] if "settled" in line or "on the tape" in line else line


def test_python_blocks(folder: Path) -> None:
    texts = [text for language, name, text in blocks("README.md") if language == "python" and not name]
    assert len(texts) == 4
    for text in texts:
        run(folder, sys.executable, "-c", text)
    assert len(trajectory.series(folder / "runs/from_python", "observables/drift").step) == 51


def test_an_energy_and_its_scene_are_short() -> None:
    """The promise is an energy of one's own in under 15 lines."""
    (energy,) = (text for _, name, text in blocks("README.md") if name == "halo.py")
    assert len(energy.splitlines()) < 15


def test_pictures_and_links_exist() -> None:
    targets = re.findall(r"\]\((\S+?)\)", (ROOT / "README.md").read_text())
    assert len(targets) >= 7
    assert [t for t in targets if not (ROOT / t).exists()] == []
