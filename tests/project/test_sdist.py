"""The sdist: built from a copy of the tree, it gives the same wheel, which runs in a bare environment."""

import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.desk import Desk, new_desk

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A wheel of the tree in `wheels`; an sdist and the wheel that is made of it in the working folder."""
    base = tmp_path_factory.mktemp("sdist")
    desk, copy = new_desk(base), base / "copy"
    desk.python("-m", "pip", "install", "--no-compile", "setuptools>=77", "wheel")
    litter = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().split()]
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", *litter))
    build = "import os, sys; from setuptools import build_meta; os.chdir(sys.argv[1])"
    desk.python("-c", f"{build}; build_meta.build_sdist(sys.argv[2])", copy, desk.folder)
    shutil.rmtree(copy)
    (sdist,) = desk.folder.glob("*.tar.gz")
    desk.python("-m", "pip", "wheel", "--no-deps", "-w", desk.folder, sdist)
    yield desk
    shutil.rmtree(desk.environment)


def contents(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel, but the list of their hashes."""
    with zipfile.ZipFile(wheel) as file:
        return {name: file.read(name) for name in file.namelist() if not name.endswith("/RECORD")}


def test_its_wheel_is_that_of_the_tree(desk: Desk) -> None:
    (ours,), (its,) = desk.wheels.glob("*.whl"), desk.folder.glob("*.whl")
    assert ours.name == its.name
    expected, found = contents(ours), contents(its)
    assert {*found} == {*expected}
    assert [name for name in expected if found[name] != expected[name]] == []


def test_it_contains_what_a_packager_asks_for(desk: Desk) -> None:
    (sdist,) = desk.folder.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO", "scenes/two_body.toml"} <= names


def test_it_is_installed_and_runs(desk: Desk) -> None:
    (sdist,) = desk.folder.glob("*.tar.gz")
    desk.python("-m", "pip", "install", "--no-compile", sdist)
    done = desk.minusgrad("run", "two_body", "run.steps=200")
    assert (done.returncode, done.stderr) == (0, "")
    assert "kernel         compiled, run and right" in desk.minusgrad("doctor").stdout
