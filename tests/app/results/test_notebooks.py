"""A notebook: simulations, runs, pictures and films show themselves, and progress is one line."""

import re

import pytest

from tests.support.command import SCENES

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

CELLS = [
    "import minusgrad as mg",
    f"sim = mg.build({str(SCENES / 'two_body.toml')!r})\nsim",
    f"run = mg.run({str(SCENES / 'two_body.toml')!r}, {{'run.steps': 40}}, out='two')",
    "run",
    "mg.open('two').plot()",
    "run.movie(every=2)",
    "run.simulation.fields['x']",
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[list[dict]]:
    """The outputs of each cell."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    return [cell.outputs for cell in notebook.cells]


def html(outputs: list[dict]) -> str:
    (one,) = outputs
    return one["data"]["text/html"]


def test_a_simulation_shows_its_fields_and_terms(outputs: list[list[dict]]) -> None:
    text = html(outputs[1])
    for shown in ("Two bodies, e = 0.3", "leapfrog", ">x<", "2 × 2", ">gravity<", ">softening<"):
        assert shown in text


def test_progress_is_one_line_that_ends_at_the_last_step(outputs: list[list[dict]]) -> None:
    (line,) = outputs[2]
    assert line["output_type"] == "display_data"
    assert re.match(r"step 40 of 40, [\d,.]+ steps/s, \d+\.\d s$", line["data"]["text/plain"])
    assert '<progress value="40" max="40">' in line["data"]["text/html"]


def test_a_run_shows_a_picture_and_how_it_ended(outputs: list[list[dict]]) -> None:
    text = html(outputs[3])
    assert 'src="data:image/png;base64,' in text
    for shown in ("40 of 40", "finished", "drift, last", "position"):
        assert shown in text


def test_pictures_and_films_are_in_the_page(outputs: list[list[dict]]) -> None:
    assert html(outputs[4]).count('src="data:image/png;base64,') >= 2
    line, film = outputs[5]
    assert line["data"]["text/plain"].startswith("frame 3 of 3")
    assert 'src="data:image/webp;base64,' in film["data"]["text/html"]


def test_a_field_is_one_line(outputs: list[list[dict]]) -> None:
    assert outputs[6][0]["data"]["text/plain"] == "Field('x', [2, 2], float64, SI unit m)"


def test_the_engine_says_nothing(outputs: list[list[dict]]) -> None:
    assert [one for cell in outputs for one in cell if one["output_type"] == "stream"] == []
