"""Names that users or strangers give are text in every artefact: pictures, movies, pages, tables, jobs."""

import csv
import re
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad.view
from minusgrad.app.cli import main
from minusgrad.plot import picture_files
from minusgrad.plot.movies.movie import movie
from minusgrad.plot.pictures import plot
from minusgrad_laser.jobs import gcode
from tests.support.command import SCENES
from tests.support.recorded_runs import T, recorded_run
from tests.view import browser

ROOT = Path(__file__).parents[2]
NASTY = {
    "mathtext": r"cost $5 $\frac$ $",
    "one dollar": r"a $ b \$ c $$ _x^y {",
    "tag": '<img src=x onerror="window.foreign=1"><svg onload="window.foreign=1">',
    "script": "</title></script><script>window.foreign=1</script><!--",
    "attribute": "\"' onmouseover='window.foreign=1' x=\"",
    "template": "${window.foreign=1} {{7*7}} %s {0} `id` $(id)",
    "markup of terminals": "[bold red]x[/bold red] \x1b[31mred\x1b[0m \x07",
    "control": "a\x00b\x08c\x7fd\x85e\u202ef\ufffe",
    "lines": "a\nM3 S1000\nG1 X100\r\n; b",
    "table": '=cmd|"/c calc"!A1,"x";\ty',
    "underscore": "_nolegend_ _hidden",
    "long": "M" * 3000,
}
FEW = T[:4]


def nasty_run(folder: Path, text: str) -> Path:
    """A run with a nasty title and bodies, and names of lists and of what it recorded, as files take them."""
    name = re.sub(r"[^ -~]|[/.]", "|", text)[:200]
    x = np.random.default_rng(1).normal(size=(40, 3)) + FEW[:, None, None]
    return recorded_run(
        folder,
        {"position": x},
        observables={"kinetic": FEW, f"a {name}": FEW**2, f"b {name}": np.stack([FEW, FEW**2], 1)},
        meta={"title": text, "bodies": {text: [[0, 20]], f"{text} 2": [[20, 40]]}},
        times=FEW,
        lists={name: np.array([[0, 1], [1, 2]])},
        cells={f"{name}/energy_density": np.stack([FEW, FEW], 1)},
    )


def artefacts(run: Path, out: Path) -> dict[str, Path]:
    """Everything that the commands make of a run."""
    made = {
        f"{form} {path.name}": path for form in ("png", "svg") for path in plot(run, out / form, form=form)
    }
    made["movie"] = movie(run, out / "movie.webp")
    made["page"] = minusgrad.view.save(run, out / "page.html").path
    assert main(["export", str(run), "--out", str(out / "table.csv")]) == 0
    return made | {"table": out / "table.csv"}


SAMPLE = ["mathtext", "tag", "control"]


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=() if k in SAMPLE else pytest.mark.long) for k in NASTY]
)
def test_names_are_text_in_all_that_is_made_of_a_run(kind: str, tmp_path: Path, capsys: Any) -> None:
    run, text = nasty_run(tmp_path / "run", NASTY[kind]), NASTY[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # glyphs that the font has not
        made = artefacts(run, tmp_path / "out")
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    drawings = [path for name, path in made.items() if name.startswith("svg")]
    assert drawings
    for path in drawings:
        names = {element.tag.rsplit("}", 1)[-1] for element in ET.parse(path).iter()}
        assert names <= SVG, names - SVG
    with made["table"].open(newline="") as file:
        rows = list(csv.reader(file))
    assert len({len(row) for row in rows}) == 1
    page = made["page"].read_text(encoding="utf-8")
    if "<" in text:
        assert text not in page
    if browser.CHROMIUM and kind in ("tag", "script", "attribute"):
        assert_nothing_foreign(made["page"], tmp_path / "profile")


SVG = {
    "svg", "metadata", "RDF", "Work", "type", "format", "Agent", "title", "creator", "date", "defs", "style",
    "g", "path", "use", "clipPath", "rect", "image", "text", "tspan", "linearGradient", "stop", "pattern",
}  # fmt: skip
"""The elements that Matplotlib writes."""


def assert_nothing_foreign(page: Path, profile: Path) -> None:
    """Open a page: no name has become an element, an attribute or a script."""
    with browser.opened(page.as_uri(), profile) as tab:
        tab.wait("document.getElementById('minusgrad') || document.querySelector('main')")
        tab.wait("document.readyState == 'complete'")
        assert tab.run("window.foreign === undefined") is True
        assert (
            tab.run("document.querySelectorAll('img[src=x], [onerror], [onload], [onmouseover]').length") == 0
        )
        inside = tab.run(
            "[...new Set([...document.querySelectorAll('#minusgrad *, main *')].map(e => e.localName))]"
        )
        assert inside
        assert not {"img", "script", "iframe", "object", "embed", "link", "form", "a"} & set(inside)


def test_a_report_of_a_laser_job_has_names_as_text(tmp_path: Path) -> None:
    from minusgrad_laser.machine.profile import Profile
    from minusgrad_laser.tool import pictures, report
    from tests.plugins.laser import test_report

    whole = test_report.evidence.__wrapped__() if hasattr(test_report.evidence, "__wrapped__") else None
    if whole is None:
        whole = test_report.evidence._get_wrapped_function()()
    from dataclasses import replace

    for kind in ("mathtext", "tag", "script", "control"):
        text = NASTY[kind]
        named = replace(whole, title=text, machine=Profile(text), remarks=(text,), violations=(text,))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert pictures.png(named)[:4] == b"\x89PNG"
            page = report.page(named)
        if "foreign" in text:
            assert text not in page
    if browser.CHROMIUM:
        (tmp_path / "report.html").write_text(page.replace(NASTY["control"], ""), encoding="utf-8")
        assert_nothing_foreign(tmp_path / "report.html", tmp_path / "profile")


@pytest.mark.unit
@pytest.mark.parametrize("kind", NASTY)
def test_a_comment_of_a_job_file_is_one_line_that_no_controller_obeys(kind: str) -> None:
    said = gcode.comment(NASTY[kind] + "é☃\x18\x84!?~")
    assert len(said) <= gcode.LONGEST
    assert re.fullmatch(r"[ -~]*", said)
    assert not set(said) & set("!?~%;()$\n\r")


@pytest.mark.unit
def test_numbers_of_axes_stay_mathematics() -> None:
    figure = picture_files.figure()
    axes = figure.subplots()
    axes.loglog([1e-8, 1e9], [1e-8, 1e9], label=r"$\frac$")
    axes.legend()
    axes.set_title(r"$\frac$")
    drawn = picture_files.figure_bytes(figure, "svg").decode()
    assert "frac" in drawn or "<!-- $" in drawn
    from matplotlib.text import Text

    parsed = [t.get_text() for t in figure.findobj(Text) if t.get_parse_math() and "$" in t.get_text()]
    assert parsed
    assert all("mathdefault" in text for text in parsed)


@pytest.mark.unit
def test_printable_keeps_lines_and_letters() -> None:
    assert picture_files.printable("é☃\n$x$\x00\x1b[31m\u202e") == "é☃\n$x$\ufffd\ufffd[31m\ufffd"


@pytest.mark.unit
def test_all_pictures_go_through_one_door() -> None:
    """No module draws or saves a figure but the one that takes its text literally."""
    found = {
        path.name
        for top in ("framework", "plugins")
        for path in ROOT.glob(f"{top}/**/*.py")
        if re.search(r"\.savefig\(|\.canvas\.draw\(|\.print_(png|figure|svg)\(", path.read_text())
    }
    assert found == {"picture_files.py"}


SLOTS = {
    "title": ('title = "Two bodies, e = 0.3"', "title = {text}"),
    "name of an energy": ('kind = "gravity"\nG', 'kind = "gravity"\nname = {text}\nG'),
    "bodies": ('kind = "two_body"', 'kind = "two_body"\nbodies = {{ {text} = [0] }}'),
    "kind of an energy": ('kind = "gravity"\nG', "kind = {text}\nG"),
    "plugin": ('plugins = ["gravity"]', "plugins = [{text}]"),
    "unknown key": ("[run]", "[run]\n{text} = 1"),
}


@pytest.mark.long
@pytest.mark.parametrize("slot", SLOTS)
@pytest.mark.parametrize("kind", NASTY)
def test_a_scene_with_the_name_runs_or_is_refused(slot: str, kind: str, tmp_path: Path, capsys: Any) -> None:
    before, after = SLOTS[slot]
    quoted = '"' + "".join(
        c if " " <= c <= "~" and c not in '"\\' else f"\\u{ord(c):04x}" for c in NASTY[kind]
    ) + '"'  # fmt: skip
    text = (SCENES / "two_body.toml").read_text()
    assert before in text
    scene, run = tmp_path / "scene.toml", tmp_path / "run"
    scene.write_text(text.replace(before, after.format(text=quoted), 1))
    code = main(["run", str(scene), "run.steps=20", "--out", str(run)])
    said = capsys.readouterr()
    assert code in (0, 2), said.err
    assert "Traceback" not in said.err
    if code == 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            artefacts(run, tmp_path / "out")
        assert main(["info", str(run)]) == 0
        assert main(["verify", str(run)]) == 0
