"""Modules of tests are rooms too: none is long. Pages and the Makefile name tests that exist."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit
TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
LONGEST = 900
"""Lines of a module below tests/; the longest had 822 in November 2026 (potential/test_potential.py). A
longer one is split by question, and what its parts share goes to tests/support or to a conftest."""
PAGES = [
    TESTS / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in (ROOT / "docs").rglob("*.md") if "generated" not in page.parts),
]


def test_no_test_module_is_long() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in TESTS.rglob("*.py")}
    assert len(lines) > 400
    assert {str(path.relative_to(TESTS)): n for path, n in lines.items() if n > LONGEST} == {}


def test_pages_name_test_modules_that_exist() -> None:
    """In code, as tests/FOLDER/FILE.py or, in the page of the tests, without the first folder."""
    lost, found = [], 0
    for page in PAGES:
        for name in re.findall(r"`(?:tests/)?((?:\w+/)*test_\w+\.py)\b", page.read_text()):
            found += 1
            if not ((TESTS / name).is_file() or (page.name == "README.md" and list(TESTS.rglob(name)))):
                lost.append((page.name, name))
    assert found > 100
    assert lost == []


def test_the_page_of_the_tests_names_functions_that_exist() -> None:
    """FILE::FUNCTION, of which dots may stand for the end."""
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)(\.\.\.)?`", PAGES[0].read_text())
    assert len(named) > 10
    lost = [
        (file, name)
        for file, name, more in named
        if f"def {name}" + ("" if more else "(") not in (TESTS / file).read_text()
    ]
    assert lost == []


def test_the_makefile_names_tests_that_exist() -> None:
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    named = re.findall(r"^(?:SHORT_ON_QUADRANTS|ON_QUADRANTS|DEVICES|FILES|CHECK|EXAMS) :=(.*)$", text, re.M)
    words = [
        word.removeprefix("tests/") for line in named for word in line.split() if not word.startswith("$")
    ]
    assert len(named) == 6
    assert [word for word in words if not (TESTS / word).exists()] == []


def test_the_page_of_the_tests_names_every_folder() -> None:
    """A new folder gets a row that says what it protects."""
    text = PAGES[0].read_text().partition("## What protects what")[2].partition("\n## ")[0]
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and path.name != "__pycache__"}
    named = set(re.findall(r"`(\w+)/", text))
    assert len(folders) > 25
    assert named == folders
