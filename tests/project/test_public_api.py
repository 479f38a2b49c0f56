"""The public API is as public_api.txt says, and whatever left it or changed is in the changelog."""

import subprocess
from pathlib import Path

import pytest

from tests.project import public_api
from tests.project.package_map import ROOT
from tests.project.public_api import (
    CHANGELOG,
    FILE,
    FORMATS,
    changelog,
    differences,
    expanded,
    installed,
    present,
    report,
    unnamed,
    written,
)

BEFORE = [
    "Pairs  < Block",
    "Pairs.cutoff  quantity [m] = none",
    "Block  <",
    "Block.name  text = none",
    "energy:gravity  < Pairs",
    "energy:gravity.G  quantity [1] = 6.7",
    "energy:spring  < Block",
    "energy:spring.k  quantity [N/m] = required",
    *(f"energy:a{k}  < Block" for k in range(4)),
    "format:checkpoint  3.0",
    "minusgrad:Rollout  (system)",
    "minusgrad:Rollout.evaluate  (self, wrt)",
    "minusgrad:run  (scene, overrides=())",
    "table:run.steps  whole number = required",
]
"""A small API."""


@pytest.fixture(scope="module")
def now() -> list[str]:
    return present()


def test_the_api_is_as_it_is_written(now: list[str]) -> None:
    told = report(differences(written(), now), changelog())
    cure = "python -m tests.project.public_api --write"
    assert not told, f"the public API differs from {FILE.name}; then {cure}:\n{told}"


def test_the_file_was_not_written_by_hand() -> None:
    committed = subprocess.run(
        ["git", "show", f"HEAD:{FILE.relative_to(ROOT)}"], cwd=ROOT, capture_output=True, text=True
    )
    if committed.returncode:
        pytest.skip("no commit of the file here")
    lines = FILE.read_text().splitlines()
    assert unnamed(differences(committed.stdout.splitlines(), lines), changelog()) == []


def test_every_line_is_one_name(now: list[str]) -> None:
    assert now == sorted({*now})
    names = [line.split("  ", 1)[0] for line in now]
    assert len(names) == len({*names})
    assert [line for line in now if len(line) > 600 or " at 0x" in line] == []
    assert {*FORMATS} == {name.partition(":")[2] for name in names if name.startswith("format:")}
    assert installed("minusgrad.torch")


def test_groups_are_put_into_their_kinds() -> None:
    found = expanded(BEFORE)
    assert found["energy:gravity.cutoff"] == "quantity [m] = none"
    assert found["energy:gravity.name"] == found["energy:spring.name"] == "text = none"
    assert found["minusgrad:Rollout.evaluate"] == "(self, wrt)"
    assert "Pairs.cutoff" not in found
    moved = [
        line.replace("Pairs.cutoff", "energy:gravity.cutoff").replace("< Pairs", "< Block") for line in BEFORE
    ]
    assert differences(BEFORE, moved) == []


CHANGES: dict[str, tuple[str, str | None, str, str]] = {
    # what changes: the line, what comes in its place, a note that is too little, one that names it
    "a method is gone": (
        "minusgrad:Rollout.evaluate  (self, wrt)",
        None,
        "`Rollout` is faster",
        "`Rollout.evaluate` is gone",
    ),
    "arguments change": (
        "minusgrad:run  (scene, overrides=())",
        "minusgrad:run  (scene)",
        "run has no overrides",
        "`run` has no overrides",
    ),
    "a default changes": (
        "energy:gravity.G  quantity [1] = 6.7",
        "energy:gravity.G  quantity [1] = 1.0",
        "`G` of `spring`",
        "`gravity.G` is 1",
    ),
    "a key is gone": (
        "energy:spring.k  quantity [N/m] = required",
        None,
        "`spring` and `gravity`",
        "the key `k` of `spring`",
    ),
    "a kind is gone": ("energy:spring  < Block", None, "spring", "`spring` is gone"),
    "a key of many kinds": (
        "Block.name  text = none",
        "Block.name  text = required",
        "name",
        "`name` must be given",
    ),
    "a key of a table": ("table:run.steps  whole number = required", None, "`steps`", "`run.steps`"),
    "a format": (
        "format:checkpoint  3.0",
        "format:checkpoint  4.0",
        "files",
        "`checkpoint` files are of version 4",
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_change_needs_an_item_that_names_it(case: str) -> None:
    line, instead, little, enough = CHANGES[case]
    after = [one for one in BEFORE if one != line] + [instead] * (instead is not None)
    after = [one for one in after if instead is not None or not one.startswith(line.partition("  ")[0] + ".")]
    changes = differences(BEFORE, after)
    assert changes
    for note, is_named in ((little, False), (enough, True)):
        noted = f"# Changelog\n\n## 1.0.0, unreleased\n\n- {note}\n- `other`\n\n## 0.9.0\n\n- {enough}\n"
        assert (unnamed(changes, noted) == []) is is_named, note
        assert report(changes, noted)


def test_a_new_name_needs_no_item() -> None:
    changes = differences(BEFORE, [*BEFORE, "minusgrad:new  (x)"])
    assert changes == [("minusgrad:new", None, "(x)")]
    assert unnamed(changes, "") == []
    assert report(changes, "") == "+ minusgrad:new  (x)"


def test_a_pattern_names_all_that_match() -> None:
    changes = differences(["energy:a_flat  <", "energy:b_flat  <"], [])
    assert unnamed(changes, "## 1, unreleased\n\n- `*_flat` are gone\n") == []
    assert unnamed(changes, "## 1, unreleased\n\n- `a*` are gone\n") == ["energy:b_flat"]


def test_items_of_the_page_of_a_version_count_and_those_of_a_released_one_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, details = tmp_path / "CHANGELOG.md", tmp_path / "changes"
    details.mkdir()
    page.write_text("# Changelog\n\n## 1.0.0, unreleased\n\nText.\n\n## 0.9.0, 2027-01-31\n\n- `old.item`\n")
    (details / "1.0.0.md").write_text("# 1.0.0 in detail\n\n## An area\n\n- `Rollout.evaluate` is gone.\n")
    (details / "0.9.0.md").write_text("- `other.thing` is gone.\n")
    monkeypatch.setattr(public_api, "CHANGELOG", page)
    monkeypatch.setattr(public_api, "DETAILS", details)
    gone = [("minusgrad:Rollout.evaluate", "(self)", None), ("minusgrad:other.thing", "(self)", None)]
    assert unnamed(gone, changelog()) == ["minusgrad:other.thing"]


def test_the_changelog_is_one_page_and_its_details_lie_behind_it() -> None:
    words = len(CHANGELOG.read_text().split())
    pages = {path.stem: len(path.read_text().split()) for path in public_api.DETAILS.glob("*.md")}
    assert words < 1000
    assert all(f"(docs/changes/{version}.md)" in CHANGELOG.read_text() for version in pages)
    assert pages["0.1.0"] > 6000
