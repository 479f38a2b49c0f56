"""Pictures in the tree are of today's scenes: their hashes, titles and units, in a record beside them."""

import json
import re
from pathlib import Path

import pytest

from minusgrad.app.verbs.shipped import places
from tests.project import shipped_pictures as shipped
from tests.project.card_pictures import path_of
from tests.support.pages import ROOT, documents, guides

pytestmark = pytest.mark.unit


def test_no_picture_is_older_than_its_scene() -> None:
    """`make pictures SCENES=NAME` makes them again."""
    assert shipped.stale() == {}


def test_every_scene_has_a_card_of_today() -> None:
    known = shipped.record()
    cards = {path_of(scene).relative_to(ROOT).as_posix(): scene for scene in places.scenes()}
    assert {path for path in known if "/cards/" in path} == {*cards}
    files = {path.name for path in (ROOT / "scenes/pictures/cards").iterdir()}
    assert files == {Path(path).name for path in cards}
    for path, scene in cards.items():
        assert known[path]["title"] == shipped.title_of(scene), path
        assert known[path]["file"] == shipped.file_hash(ROOT / path), path


def test_pages_show_pictures_that_the_command_makes() -> None:
    known = {*shipped.shipped(), *shipped.OF_PAGES}
    for page in ["README.md", *documents(), *guides()]:
        for target in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", (ROOT / page).read_text()):
            path = (ROOT / page).parent.joinpath(target).resolve().relative_to(ROOT).as_posix()
            assert path in known or "/cards/" in path or path.startswith("benchmarks/"), f"{page}: {path}"


def test_a_picture_is_one_of_those_that_plot_draws() -> None:
    named = places.pictures()
    plain = [one for one in shipped.shipped().values() if one.what.isidentifier() and not one.of_fit]
    assert len(plain) > 40
    assert [one for one in plain if one.what not in named[one.scene] and "mesh_" not in one.what] == []


# The test sees what it should ------------------------------------------------------------------------


def test_a_scene_that_changes_makes_its_picture_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comments do not count; a number, the title, a file that it names and an override do."""
    scene = tmp_path / "a.toml"
    monkeypatch.setattr(shipped, "SCENES", tmp_path)
    (tmp_path / "b.csv").write_text("1")
    text = '# one\ntitle = "A"\n[state]\nfile = "b.csv"\nn = 5\n'
    scene.write_text(text)
    first = shipped.scene_hash("a")
    scene.write_text(text.replace("# one", "# another claim"))
    assert shipped.scene_hash("a") == first
    others = {shipped.scene_hash("a", ("state.n=6",))}
    for old, new in (("n = 5", "n = 6"), ('"A"', '"B"')):
        scene.write_text(text.replace(old, new))
        others.add(shipped.scene_hash("a"))
    scene.write_text(text)
    (tmp_path / "b.csv").write_text("2")
    others.add(shipped.scene_hash("a"))
    assert len({first, *others}) == 5


@pytest.mark.parametrize(
    ("label", "today"),
    [
        ("energy [kJ/mol]", True),
        ("energy density [Pa]", True),
        ("speed [m s⁻¹]", True),
        ("x [µm]", True),
        ("volume [Å³]", True),
        ("time", True),
        ("energy density [m⁻¹ kg s⁻²]", False),  # as twisted_bar had it
        ("energy [angstrom² u ps⁻²]", False),  # as argon_npt had it
        ("power [um² kg ms⁻³]", False),  # as laser_image had it
        ("energy [0.01 kJ/mol]", False),
        ("energy [1e+06 kJ/mol]", False),
    ],
)
def test_units_of_earlier_code_are_seen(label: str, today: bool) -> None:
    assert (shipped.unit_of(label) in ("", shipped.shown_unit(label))) == today


def test_the_record_is_read_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "MADE", tmp_path / "made.json")
    one = shipped.ShippedPicture("two_body", "orbits")
    file = ROOT / "scenes/pictures/two_body.png"
    shipped.note(file, one, "Two", ["x", "Å"])
    found = json.loads((tmp_path / "made.json").read_text())["scenes/pictures/two_body.png"]
    assert (found["title"], found["words"]) == ("Two", ["x", "Å"])
    assert shipped.stale()["scenes/pictures/two_body.png"] == "its title is 'Two'"
