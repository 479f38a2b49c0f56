"""`minusgrad new-plugin`: what it writes works at once, what it refuses leaves nothing behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minusgrad.app.plugin_kit import exam, scaffold
from minusgrad.errors import UserError
from minusgrad.files import trajectory
from tests.support.installed import as_if_installed

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_it_writes_a_distribution_with_the_name(here: Path) -> None:
    files = scaffold.new_plugin("springy")
    assert [file.as_posix() for file in files] == sorted(
        f"springy/{name}" for name in names(here / "springy")
    )
    package = [f"springy/{name}.py" for name in ("__init__", "bond", "chain", "length")]
    tests = ["tests/test_energies.py", "tests/test_scene.py"]
    others = [
        ".github/workflows/test.yml",
        ".gitignore",
        "README.md",
        "pyproject.toml",
        "scenes/springy.toml",
    ]
    assert names(here / "springy") == sorted([*package, *tests, *others])
    assert not [file for file in files if scaffold.STAND_IN in file.read_text()]
    assert os.listdir(here) == ["springy"]


def test_it_fills_an_empty_folder(here: Path) -> None:
    (here / "empty").mkdir()
    scaffold.new_plugin("springy", Path("empty"))
    assert (here / "empty" / "springy" / "__init__.py").is_file()
    assert os.listdir(here) == ["empty"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("9a", "must be lower-case letters, digits and _, a letter first, got '9a'"),
        ("my-springs", "must be lower-case letters, digits and _, a letter first, got 'my-springs'"),
        ("Springs", "must be lower-case letters, digits and _, a letter first, got 'Springs'"),
        ("_springs", "must be lower-case letters, digits and _, a letter first, got '_springs'"),
        ("../springs", "must be lower-case letters, digits and _, a letter first, got '../springs'"),
        ("class", "must not be a keyword of Python, got 'class'"),
        ("gravity", "must be new, got 'gravity', which is an installed plugin"),
        ("numpy", "must be new, got 'numpy', which is an installed package"),
        ("json", "must be new, got 'json', which is an installed package"),
    ],
)
def test_it_refuses_a_name(here: Path, name: str, says: str) -> None:
    with pytest.raises(UserError) as refused:
        scaffold.new_plugin(name)
    assert str(refused.value) == f"plugin name: {says}; give another, such as my_springs"
    assert os.listdir(here) == []


def test_it_overwrites_nothing(here: Path) -> None:
    (here / "springy").mkdir()
    (here / "springy" / "thesis.tex").write_text("years")
    with pytest.raises(
        UserError, match="springy: must be new or empty, got a folder with files; give another"
    ):
        scaffold.new_plugin("springy")
    with pytest.raises(UserError, match=r"thesis\.tex: must be a new or an empty folder, got a file; give"):
        scaffold.new_plugin("springy", Path("springy/thesis.tex"))
    assert names(here) == ["springy/thesis.tex"]


def test_nothing_half_written_is_left(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []

    def fails_at_the_third(source: Path, folder: Path, name: str) -> None:
        written.append(source)
        (folder / f"{len(written)}").write_text("half")
        if len(written) == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(scaffold, "_write", fails_at_the_third)
    with pytest.raises(UserError, match=r"springy: cannot be written \(No space left on device\)"):
        scaffold.new_plugin("springy")
    assert len(written) == 3
    assert os.listdir(here) == []


def test_the_command_says_what_comes_next(here: Path, invoke) -> None:
    code, out, err = invoke("new-plugin", "springy", "--out", "there")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == (
        "next: pip install -e 'there[test]' && minusgrad check springy && pytest there"
    )
    assert invoke("new-plugin", "springy", "--out", "there")[0] == 2


@pytest.mark.exam
def test_its_tests_pass_and_see_a_wrong_energy(here: Path) -> None:
    scaffold.new_plugin("springy")
    root = here / "springy"
    environment = as_if_installed("springy", root) | {exam.INNER: "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    call = [sys.executable, "-m", "pytest", "-q", "-p", "minusgrad.app.plugin_kit.pytest_plugin", "-p"]
    call += ["no:cacheprovider", "tests"]
    done = subprocess.run(call, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "14 passed" in done.stdout
    bond = root / "springy" / "bond.py"
    bond.write_text(bond.read_text().replace('symmetries=("translation", "rotation")', "symmetries=()"))
    call[-1] = "tests/test_energies.py::test_exam[springy_bond-2d-symmetry]"
    done = subprocess.run(call, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        "springy_bond: symmetry, f64: translation changes U by this part, and is not declared" in done.stdout
    )


@pytest.mark.exam
def test_its_scene_runs_by_the_command_line(here: Path) -> None:
    scaffold.new_plugin("springy")
    call = [sys.executable, "-m", "minusgrad", "run", "springy/scenes/springy.toml", "run.steps=40"]
    environment = as_if_installed("springy", here / "springy")
    done = subprocess.run(call, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(trajectory.series(here / "runs/springy", "observables/length").value) == 41
