"""What a release is made of: workflows, forms, recipe, metadata, paper, and the pages on versions. Nothing
here is run
on a host; all of it is parsed, and compared with pyproject.toml, the tree and the code.
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from minusgrad.assembly.hookspecs import API_VERSION
from minusgrad.files import checkpoint, h5md, vtkhdf
from minusgrad.scene import json_schema
from minusgrad.sweeps import folder
from tests.project import lowest_versions, release_version

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = SpecifierSet(PROJECT["requires-python"])
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = [p for p in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")) if p.stem != "config"]
UNPINNED = {"pypa/gh-action-pypi-publish@release/v1"}
"""Actions whose commit could not be verified; docs/project/releasing.md says so."""


def parsed(path: str | Path) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


def makefile_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+)(?: [a-z-]+)*:", (ROOT / "Makefile").read_text(), re.MULTILINE))


# Workflows --------------------------------------------------------------------------------------------------


def jobs(path: Path) -> dict[str, Any]:
    return parsed(path)["jobs"]


def commands(path: Path) -> Iterator[str]:
    for job in jobs(path).values():
        yield from (step["run"] for step in job.get("steps", ()) if "run" in step)


def test_there_are_four_workflows_and_two_forms() -> None:
    assert [path.stem for path in WORKFLOWS] == ["docs", "release", "tests", "wheels"]
    assert [path.stem for path in FORMS] == ["wish", "wrong"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_rights_are_few(path: Path) -> None:
    flow = parsed(path)
    assert flow["permissions"] == {"contents": "read"}
    for line in re.findall(r"uses: (.*)", path.read_text()):
        pinned = re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)
        assert pinned or line in UNPINNED or (ROOT / line).is_file(), line
    for name, job in jobs(path).items():
        assert "timeout-minutes" in job or "uses" in job, name
        assert job.get("permissions", {}) in ({}, {"id-token": "write"}), name
    page = (ROOT / "docs/project/releasing.md").read_text()
    assert all(one.partition("@")[0] in page for one in UNPINNED)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_what_a_workflow_calls_exists(path: Path) -> None:
    for command in commands(path):
        for target in re.findall(r"\bmake ([a-z-]+)", command):
            assert target in makefile_targets(), command
        for module in re.findall(r"-m (tests[\w.]*)", command):
            assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file(), command
        for file in re.findall(r"\btests/[\w./]+", command):
            assert (ROOT / file).exists(), command
        for extras in re.findall(r"\.\[([\w,]+)\]", command):
            assert {*extras.split(",")} <= {*PROJECT["optional-dependencies"]}, command


def rows(job: dict[str, Any]) -> Iterator[dict[str, str]]:
    """The combinations of a matrix, with what `include` adds."""
    matrix = job.get("strategy", {}).get("matrix", {})
    keys = [key for key in matrix if key != "include"]
    found: list[dict[str, str]] = [{}] if keys else []
    for key in keys:
        found = [row | {key: value} for row in found for value in matrix[key]]
    yield from found + matrix.get("include", [])


def test_both_engines_are_tested_on_three_systems() -> None:
    asked = {
        (r["os"].partition("-")[0], r["engine"], r["python"]) for r in rows(jobs(WORKFLOWS[2])["systems"])
    }
    assert {(os, engine) for os, engine, _ in asked} == {
        (os, engine) for os in ("ubuntu", "macos", "windows") for engine in ("taichi", "quadrants")
    }
    assert {python for *_, python in asked} == {"3.11", "3.12", "3.13", "3.14"}
    assert not [one for one in asked if one[1] == "taichi" and one[2] == "3.14"], "Taichi has no wheel"
    for path in WORKFLOWS:
        pythons = re.findall(r'python(?:-version)?: "?\[?"?(3\.\d+)', path.read_text())
        assert all(PYTHONS.contains(f"{one}.1") for one in pythons)


def test_a_release_is_published_by_trust_after_it_was_built_and_installed() -> None:
    release = jobs(ROOT / ".github/workflows/release.yml")
    assert release["publish"]["permissions"] == {"id-token": "write"}
    assert (release["publish"]["environment"], release["publish"]["needs"]) == ("pypi", "wheels")
    assert release["publish"]["steps"][-1]["with"] == {"attestations": True}
    assert release["wheels"]["needs"] == "version"
    assert "secrets." not in "".join(path.read_text() for path in WORKFLOWS)
    asked = parsed(".github/workflows/wheels.yml")[True]  # YAML 1.1 reads `on` as True
    assert "workflow_call" in asked


# Forms, site, recipe ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_the_doctor(path: Path) -> None:
    form = parsed(path)
    assert {"name", "description", "body"} <= {*form}
    asked = {part["id"]: part for part in form["body"] if part["type"] != "markdown"}
    assert len(asked) == len([part for part in form["body"] if part["type"] != "markdown"])
    assert {part["type"] for part in form["body"]} <= {
        "markdown",
        "textarea",
        "input",
        "dropdown",
        "checkboxes",
    }
    assert "minusgrad doctor" in asked["doctor"]["attributes"]["label"]
    if path.stem == "wrong":
        assert all(part["validations"]["required"] for part in asked.values())
    assert parsed(path.with_name("config.yml")) == {"blank_issues_enabled": False}


def test_the_site_is_built_from_what_is_there() -> None:
    site = parsed(".readthedocs.yaml")
    assert (ROOT / site["sphinx"]["configuration"]).is_file()
    assert site["sphinx"]["fail_on_warning"]
    assert PYTHONS.contains(f"{site['build']['tools']['python']}.1")
    (install,) = site["python"]["install"]
    assert {*install["extra_requirements"]} <= {*PROJECT["optional-dependencies"]}


def test_the_recipe_needs_what_the_wheel_needs_with_quadrants_as_the_engine() -> None:
    recipe = parsed(".conda/recipe.yaml")
    assert recipe["context"]["version"] == PROJECT["version"]
    assert recipe["package"]["name"] == PROJECT["name"]
    needed = {
        r.name: r for r in map(Requirement, PROJECT["dependencies"]) if r.name not in ("taichi", "quadrants")
    }
    run = {
        Requirement(text).name: Requirement(text)
        for text in recipe["requirements"]["run"]
        if "${{" not in text
    }
    assert {*run} == {*needed, "quadrants"}
    assert {name: run[name].specifier for name in needed} == {name: r.specifier for name, r in needed.items()}
    engines = [r.specifier for r in map(Requirement, PROJECT["dependencies"]) if r.name == "quadrants"]
    assert all(
        run["quadrants"].specifier.contains(v)
        for v in ("1.3.3", "1.4.0")
        if any(s.contains(v) for s in engines)
    )
    assert not run["quadrants"].specifier.contains("1.5.0")
    entry = recipe["build"]["python"]["entry_points"][0].partition(" = ")
    assert PROJECT["scripts"] == {entry[0]: entry[2]}
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]


# Metadata ---------------------------------------------------------------------------------------------------


def test_all_metadata_say_the_same() -> None:
    code, zenodo = (
        json.loads((ROOT / "codemeta.json").read_text()),
        json.loads((ROOT / ".zenodo.json").read_text()),
    )
    citation = parsed("CITATION.cff")
    assert {*release_version.versions().values()} == {PROJECT["version"]}
    assert code["name"] == PROJECT["name"]
    assert code["description"] == zenodo["description"] == PROJECT["description"]
    assert code["keywords"] == zenodo["keywords"] == PROJECT["keywords"]
    assert code["license"] == f"https://spdx.org/licenses/{PROJECT['license']}"
    assert zenodo["license"] == citation["license"] == PROJECT["license"]
    assert zenodo["title"] == citation["title"]
    assert {*code["softwareRequirements"]} == {Requirement(text).name for text in PROJECT["dependencies"]}


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A copy of the files of a release in which the owner has filled in everything."""
    names = ("pyproject.toml", "CHANGELOG.md", *release_version.FILLED)
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in release_version.FILLED:
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text.replace(release_version.OWNER, "done"))
    changes = (tmp_path / "CHANGELOG.md").read_text()
    (tmp_path / "CHANGELOG.md").write_text(
        re.sub(r"^## ([\d.]+), .*$", r"## \1, 2027-01-31", changes, flags=re.MULTILINE)
    )
    return tmp_path


def test_no_tag_is_published_before_the_owner_has_filled_in_names(filled: Path) -> None:
    version = PROJECT["version"]
    assert release_version.hindrances(f"v{version}", filled) == []
    waiting = [name for name, count in release_version.placeholders().items() if count]
    left = release_version.hindrances(f"v{version}")
    assert [name for name in waiting if not any(text.startswith(f"{name}: ") for text in left)] == []
    citation = filled / "CITATION.cff"
    citation.write_text(f"{citation.read_text()}\n# OWNER: a place\n")
    waiting_again = release_version.hindrances(f"v{version}", filled)
    assert waiting_again == ["CITATION.cff: 1 places wait for the owner (OWNER:)"]


def test_a_tag_of_another_version_is_refused(filled: Path) -> None:
    named = [text.partition(":")[0] for text in release_version.hindrances("v99.0.0", filled)]
    assert named == ["pyproject.toml", "CITATION.cff", "codemeta.json", ".zenodo.json", "CHANGELOG.md"]
    called = [sys.executable, ROOT / "tests/project/release_version.py", "v99.0.0"]
    done = subprocess.run(called, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")


SECTIONS = [
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "Research impact statement",
    "AI usage disclosure",
    "Acknowledgements",
    "References",
]
"""Those that the Journal of Open Source Software requires since 2026 (docs/paper.md of openjournals/joss)."""


def test_the_paper_has_the_sections_length_and_citations_that_the_journal_asks() -> None:
    _, head, text = (ROOT / ".paper/paper.md").read_text().split("---\n", 2)
    facts = yaml.safe_load(head)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} == {*facts}
    assert re.findall(r"^# (.*)$", text, re.MULTILINE) == SECTIONS
    assert 750 <= len(text.split()) <= 1750
    references = (ROOT / ".paper" / facts["bibliography"]).read_text()
    entries = re.findall(r"^@\w+\{(\w+),$", references, re.MULTILINE)
    assert sorted({*re.findall(r"\[@(\w+)\]", text)}) == sorted(entries)
    assert facts["title"] == parsed("CITATION.cff")["title"]


# Versions ---------------------------------------------------------------------------------------------------

FORMATS = "| format | version | this version reads | who else reads it |"
WINDOWS = "| | supported | SPEC 0 asks for | tested |"


def table(head: str) -> list[list[str]]:
    """The rows of the table of the page on versions that begins with this head."""
    lines = (ROOT / "docs/project/versions.md").read_text().splitlines()
    found = lines[lines.index(head) + 2 :]
    end = next(k for k, line in enumerate(found) if not line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found[:end]]


def dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def test_the_page_of_formats_has_the_numbers_of_the_code() -> None:
    found = {row[0]: (row[1], row[2]) for row in table(FORMATS)}
    (draft,) = re.findall(r"draft/([\d-]+)/schema", Path(json_schema.__file__).read_text())
    assert found == {
        "checkpoint": (dotted(checkpoint.VERSION), ", ".join(map(str, sorted(checkpoint.READS)))),
        "plugin API": (str(API_VERSION), str(API_VERSION)),
        "sweep": (str(folder.FORMAT), str(folder.FORMAT)),
        "H5MD": (dotted(h5md.VERSION), dotted(h5md.VERSION)),
        "VTKHDF": (dotted(vtkhdf.VERSION), "-"),
        "JSON schema": (draft, "-"),
    }
    kept = sorted(path.name.partition(".")[0] for path in (ROOT / "tests/formats").iterdir())
    assert kept == [str(number) for number in sorted(checkpoint.READS)]


def test_the_page_of_versions_has_those_of_the_project() -> None:
    shown = {row[0]: row[1] for row in table(WINDOWS)}
    least = {}
    for requirement in lowest_versions.requirements(lowest_versions.EXTRAS):
        bounds = [one.version for one in requirement.specifier if one.operator == ">="]
        least[requirement.name.lower()] = bounds[0]
    for name in ("NumPy", "SciPy", "Matplotlib", "xarray"):
        assert shown[name] == f"{least[name.lower()]} and later"
    assert shown["Python"] == "3.11 to 3.14"
    assert shown["Taichi"] == least["taichi"]
    assert shown["Quadrants"].startswith("1.3.3; 1.4 ")


def test_the_lowest_versions_are_those_of_every_extra_of_a_user() -> None:
    extras = {*PROJECT["optional-dependencies"]}
    assert {*lowest_versions.EXTRAS, *lowest_versions.LEFT_OUT} == extras
    for requirement in lowest_versions.requirements(lowest_versions.EXTRAS):
        assert any(one.operator == ">=" for one in requirement.specifier), requirement
    for module, packages in lowest_versions.SUITE.items():
        assert (ROOT / "tests" / module).is_file(), module
        assert packages
    asked = {one.strip() for packages in lowest_versions.SUITE.values() for one in packages.split(",")}
    tools = {"pytest", "pytest-xdist", "mpmath", "hypothesis"}
    names = {one.name.lower() for one in lowest_versions.requirements(lowest_versions.EXTRAS)} - tools
    assert names - {one.lower() for one in asked} == set()


@pytest.mark.parametrize("version", ["py311", "py314"])
def test_sources_are_of_the_grammar_of_the_first_and_of_the_last_python(version: str) -> None:
    """By ruff's parser, which knows versions that are not installed."""
    call = [
        str(Path(sys.executable).parent / "ruff"),
        "check",
        "--isolated",
        "--no-cache",
        "--select",
        "E9,B012",
    ]
    call += ["--target-version", version]
    done = subprocess.run([*call, "framework", "plugins"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    newer = subprocess.run([*call, "-"], input="type X = int\n", capture_output=True, text=True)
    assert bool(newer.returncode) == (version == "py311"), newer.stdout
