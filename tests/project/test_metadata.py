"""The package's metadata: which engine is installed where, and what they say."""

import re
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import minusgrad
from minusgrad.engine import runtime

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "linux-x86_64": ("linux", "x86_64", "manylinux_2_27_x86_64"),
    "linux-aarch64": ("linux", "aarch64", "manylinux_2_34_aarch64"),
    "macos-arm64": ("darwin", "arm64", "macosx_14_0_arm64"),
    "windows-x86_64": ("win32", "AMD64", "win_amd64"),
}
TAICHI = ("linux-x86_64", "macos-arm64", "windows-x86_64")
"""The platforms for which Taichi 1.7.4 has wheels, for Python 3.11 to 3.13."""


def environment(version: str, platform: str) -> dict[str, str]:
    system, machine, _ = PLATFORMS[platform]
    return {"python_version": version, "sys_platform": system, "platform_machine": machine}


def engines(version: str, platform: str) -> list[Requirement]:
    """The engines that an installation without extras needs there."""
    needed = [Requirement(text) for text in PROJECT["dependencies"]]
    where = environment(version, platform)
    return [
        r for r in needed if r.name in runtime.PREFIXES and (r.marker is None or r.marker.evaluate(where))
    ]


@pytest.mark.parametrize(("version", "platform"), [*product(VERSIONS, PLATFORMS)])
def test_one_engine_is_needed_that_has_wheels_there(version: str, platform: str) -> None:
    (needed,) = engines(version, platform)
    has_taichi = platform in TAICHI and version != "3.14"
    assert needed.name == ("taichi" if has_taichi else "quadrants")
    if needed.name == "quadrants":  # 1.3.3 for Python 3.10 to 3.13, 1.4.0 for 3.12 to 3.14
        assert needed.specifier.contains("1.4.0") == (version != "3.11")
        assert needed.specifier.contains("1.3.3") == (version == "3.11")


def test_it_is_needed_where_python_is_new_enough() -> None:
    wanted = SpecifierSet(PROJECT["requires-python"])
    assert [v for v in ("3.10", *VERSIONS, "3.15") if wanted.contains(f"{v}.1")] == [*VERSIONS]
    named = {c.rpartition(" ")[2] for c in PROJECT["classifiers"] if c.startswith("Programming Language")}
    assert named == {"3", *VERSIONS}


@pytest.mark.parametrize(
    ("installed", "name"),
    [
        (("taichi", "quadrants"), "taichi"),
        (("taichi",), "taichi"),
        (("quadrants",), "quadrants"),
        ((), "taichi"),
    ],
)
def test_quadrants_is_the_engine_where_it_alone_is_installed(
    installed: tuple[str, ...], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "find_spec", lambda asked: asked in installed or None)
    monkeypatch.delenv(runtime.VARIABLE, raising=False)
    assert runtime._choose_engine(None) == name


def test_the_citation_has_the_version_and_the_licence() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == minusgrad.__version__ == PROJECT["version"]
    assert re.search(r"^license: (.*)$", text, re.MULTILINE)[1] == PROJECT["license"]
    assert re.search(r"^cff-version: 1\.2\.0$", text, re.MULTILINE)


@pytest.mark.long
@pytest.mark.parametrize(
    ("version", "platform"), [*product(("3.11", "3.14"), PLATFORMS), ("3.12", "linux-aarch64")]
)
def test_pip_finds_a_wheel_of_the_engine(version: str, platform: str) -> None:
    asked = [sys.executable, "-m", "pip", "--timeout", "20", "index", "versions", "pip"]
    if (answer := subprocess.run(asked, capture_output=True, text=True)).returncode:
        pytest.skip(f"needs the package index of pip, which cannot be reached: {answer.stderr}")
    (needed,) = engines(version, platform)
    call = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--only-binary", ":all:"]
    call += [
        "--ignore-installed",
        "--ignore-requires-python",
        "--target",
        "/nonexistent",
        "--python-version",
        version,
    ]
    call += ["--platform", PLATFORMS[platform][2], f"{needed.name}{needed.specifier}"]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"Would install {needed.name}-" in done.stdout
