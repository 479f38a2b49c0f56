"""Scenes by their names, files to start from, and lists of both; of a wheel: `test_stranger`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad.app.verbs.shipped import demo, places, starting_files
from minusgrad.assembly.registry import Registry
from minusgrad.errors import UserError
from minusgrad.scene.document import title
from tests.project import example_page
from tests.support.command import SCENES
from tests.support.pages import ROOT, blocks

NAMES = sorted(path.stem for path in SCENES.glob("*.toml"))
TUTORIAL = ("magnets.py", "magnets.toml", "measured.csv", "start.csv", "pendulum.toml")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


# Lists ----------------------------------------------------------------------------------------------


@pytest.mark.unit
def test_every_scene_has_a_title_and_names_of_pictures() -> None:
    assert [name for name in NAMES if not title(SCENES / f"{name}.toml")] == []
    assert [*places.pictures()] == NAMES
    assert all(places.pictures().values())


@pytest.mark.unit
def test_the_page_of_examples_is_up_to_date() -> None:
    """`python -m tests.project.example_page --write` writes it."""
    assert (SCENES / "README.md").read_text() == example_page.page()


@pytest.mark.unit
def test_the_list_has_names_titles_and_pictures(invoke: Callable) -> None:
    code, out, err = invoke("scenes", "--json")
    assert (code, err) == (0, "")
    rows = {row["scene"]: row for row in json.loads(out)}
    assert [*rows] == NAMES
    assert rows["two_body"]["title"] == "Two bodies, e = 0.3"
    assert rows["two_body"]["pictures"][0] == "orbits"
    table = invoke("scenes")[1]
    assert all(name in table for name in NAMES)
    assert table.rstrip().endswith(f"{SCENES / 'README.md'} describes them")


# By name --------------------------------------------------------------------------------------------


@pytest.mark.unit
def test_a_path_goes_before_a_name(here: Path) -> None:
    assert places.scene_file(Path("two_body")) == SCENES / "two_body.toml"
    for path in ("./a/two_body", "nothing.toml"):
        assert places.scene_file(Path(path)) == Path(path)
    (here / "two_body").mkdir()
    assert places.scene_file(Path("two_body")) == Path("two_body")
    assert places.sweep_file("uncertain_beam") == str(SCENES / "sweeps" / "uncertain_beam.toml")
    assert places.sweep_file("mine") == "mine"


@pytest.mark.unit
@pytest.mark.parametrize("verb", ["run", "fit", "sweep"])
def test_a_name_that_no_scene_has_is_refused_by_every_verb(verb: str, invoke: Callable, here: Path) -> None:
    code, out, err = invoke(verb, "two_bdoy")
    assert (code, out) == (2, "")
    said = f"did you mean 'two_body'? ({len(NAMES)} exist; `minusgrad scenes` lists them)"
    assert err == f"minusgrad: no scene named 'two_bdoy'; {said}; a file ends in .toml\n"
    assert [*here.iterdir()] == []


def test_a_scene_runs_by_its_name_with_its_own_energies(invoke: Callable, here: Path) -> None:
    code, out, err = invoke("run", "two_body", "run.steps=5")
    assert (code, err) == (0, "")
    assert out.startswith("runs/two_body: 5 steps")
    code, out, _ = invoke("run", "yukawa_cluster", "run.steps=1", "state.n=50", "--out", "dust")
    assert (code, out.split(":")[0]) == (0, "dust")


def test_check_takes_an_energy_before_a_scene(invoke: Callable, here: Path) -> None:
    """A scene and an energy may have one name, as 'wave' is here."""
    both = {*NAMES} & {*Registry.load(None, []).energies()}
    assert both == {"double_pendulum", "wave"}
    table = invoke("check", "two_body", "--json")[1]
    assert {f["term"] for f in json.loads(table)} == {"gravity"}


# Files to start from --------------------------------------------------------------------------------


@pytest.mark.unit
def test_the_files_of_the_tutorial_are_the_blocks_of_its_page(invoke: Callable, here: Path) -> None:
    code, out, err = invoke("init")
    assert (code, err) == (0, "")
    shown = {name: text for _, name, text in blocks("docs/start/tutorial.md") if "." in name}
    assert tuple(shown) == TUTORIAL
    assert {p.name: p.read_text() for p in here.iterdir() if p.name != "tutorial.md"} == shown
    assert out.splitlines()[-1].startswith("next: follow tutorial.md; its first command: minusgrad check")
    page = (here / "tutorial.md").read_text()
    assert "](" not in page.replace("](http", "")
    assert "minusgrad run magnets.toml --plugin magnets.py" in page


@pytest.mark.unit
def test_no_file_is_overwritten(invoke: Callable, here: Path) -> None:
    (here / "start.csv").write_text("mine")
    code, out, err = invoke("init", "tutorial")
    assert (code, out) == (2, "")
    assert err == (
        "minusgrad: .: must have none of the files that are written, got start.csv; give another folder with"
        " --out\n"
    )
    assert [p.name for p in here.iterdir()] == ["start.csv"]
    (here / "a").mkdir()
    (here / "a" / "two_body.toml").symlink_to("nowhere")
    assert invoke("init", "two_body", "--out", "a")[0] == 2
    assert not (here / "nowhere").exists()


@pytest.mark.unit
def test_an_unknown_name_is_refused(invoke: Callable) -> None:
    code, _, err = invoke("init", "tutoral")
    assert code == 2
    assert "no scene of minusgrad is named 'tutoral'; did you mean 'tutorial'? (" in err
    (Path("file")).write_text("")
    assert "file: cannot be written: " in invoke("init", "--out", "file")[2]


@pytest.mark.unit
@pytest.mark.parametrize("name", NAMES)
def test_a_copied_scene_has_all_files_that_it_names(name: str, tmp_path: Path) -> None:
    """Every text of the scene that is a file beside the shipped one is a file beside the copy."""
    written = starting_files.write_starting_files(name, tmp_path / "copy")
    assert written[0] == tmp_path / "copy" / f"{name}.toml"
    data = {path.relative_to(SCENES).as_posix() for path in (SCENES / "data").iterdir()}
    text = (SCENES / f"{name}.toml").read_text()
    named = {one for one in data if f'"{one}"' in text}
    assert named <= {path.relative_to(tmp_path / "copy").as_posix() for path in written}


# The demonstration ----------------------------------------------------------------------------------


@pytest.mark.unit
def test_the_demonstration_shows_scenes_that_exist_and_make_calls_it() -> None:
    assert {*demo.SCENES} <= {*NAMES}
    assert "$(BIN)/minusgrad demo\n" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("has_matplotlib", [False, True])
def test_the_demonstration_draws_if_it_can(
    has_matplotlib: bool, invoke: Callable, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "SCENES", ("two_body",))
    monkeypatch.setattr(demo, "can_draw", lambda: has_matplotlib)
    for _ in range(2):  # the second takes the place of the first
        code, out, err = invoke("demo", "--out", "shown")
        assert (code, err) == (0, "")
    assert [p.name for p in (here / "shown").iterdir()] == ["two_body"]
    assert (here / "shown/two_body/pictures/orbits.png").is_file() == has_matplotlib
    said = "pictures: shown/*/pictures/*.png" if has_matplotlib else "pictures need Matplotlib: pip install"
    assert out.splitlines()[-1].startswith(f"results: shown/*/trajectory.h5 (H5MD)   {said}")


@pytest.mark.unit
def test_without_files_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_candidates", list)
    with pytest.raises(
        UserError, match=r"scenes of minusgrad: were not installed with it, got none in .*share"
    ):
        places.home()
