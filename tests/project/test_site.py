"""The documentation site: its table of contents, and a build in which warnings are errors."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from docs.extensions.docstrings import bare, restructured
from docs.extensions.gallery import card, claim, moves, title
from docs.extensions.links import GENERATED, captioned, relinked

from minusgrad import errors
from minusgrad.errors import RunFailedError, UserError
from minusgrad.scene import units
from minusgrad.steppers.stability.step_size import StepSize
from tests.support.pages import ROOT, documents, guides, run

INDEX = "docs/index.md"
DECISIONS = "docs/decisions"
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def entries() -> list[str]:
    """The pages in the tables of contents, as paths below `docs/` without their endings."""
    trees = TOCTREE.findall((ROOT / INDEX).read_text())
    lines = [line for tree in trees for line in tree.splitlines()]
    return [*(line for line in lines if line and not line.startswith(":")), *decisions()]


def decisions() -> list[str]:
    """The records, which the index of decisions has by one pattern: `docs/index.md` names none of them."""
    (tree,) = TOCTREE.findall((ROOT / DECISIONS / "index.md").read_text())
    pattern = tree.splitlines()[-1]
    return [f"decisions/{path.stem}" for path in sorted((ROOT / DECISIONS).glob(f"{pattern}.md"))]


@pytest.mark.unit
def test_every_page_is_in_the_table_of_contents_once() -> None:
    listed = entries()
    pages = [
        page.removeprefix("docs/").removesuffix(".md") for page in [*documents(), *guides()] if page != INDEX
    ]
    assert [page for page in pages if page not in listed] == []
    assert [page for page in listed if page not in pages and not page.startswith("generated/")] == []
    assert len(listed) == len(set(listed))


LOADED = {"script": "src", "img": "src", "iframe": "src", "video": "src", "source": "src", "link": "href"}
"""The attribute that names a resource, by tag."""


@pytest.mark.unit
def test_every_unit_and_error_is_on_its_page() -> None:
    page = (ROOT / "docs/reference/units.md").read_text()
    names = [*units._WITH_PREFIXES, *units._WITHOUT_PREFIXES]
    assert [name for name in names if f"`{name}`" not in page] == []
    page = (ROOT / "docs/reference/errors.md").read_text()
    kinds = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, UserError)]
    kinds += [
        one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, RunFailedError)
    ]
    assert [one.__name__ for one in kinds if f"{one.__name__}`" not in page] == []


@pytest.mark.unit
def test_the_page_of_what_a_run_prints_has_the_words_of_the_code() -> None:
    page = (ROOT / "docs/reference/what-a-run-prints.md").read_text()
    said = [StepSize(0.005, 1.17, 1.71, 2.41).text("1"), StepSize(0.1, None, 0.0, 2.0).text("s")]
    assert [text for text in said if f"`{text}`" not in page] == []
    assert StepSize(1.5, 1.0, 2.0, 0.0).text("1").partition(";")[2] in page
    sources = [ROOT / "framework/minusgrad" / name for name in ("app/verbs/runs.py", "app/progress.py")]
    code = "".join(source.read_text() for source in sources)
    for words in (
        "pictures: minusgrad plot",
        "energy {name}",
        "constraints hold to",
        "s left{safe}",
        "solver: ",
    ):
        assert words in code, f"{words}: the page explains it"
    explained = re.findall(r"`energy (\w+)(?::[^`]*)?`", page)
    assert sorted(explained) == ["cell", "damped", "dissipated", "drift", "heat", "work"]


@pytest.mark.unit
def test_the_front_page_opens_with_an_installation_and_six_scenes() -> None:
    text = (ROOT / INDEX).read_text()
    screen = text[: text.index("- **[Installation]")]
    assert (
        screen.index("pip install")
        < screen.index("@local_energy")
        < screen.index('<div class="gallery front">')
    )
    shown = re.findall(r"\(\.\./scenes/pictures/cards/(\w+)\.webp\)\]\(\.\./scenes/(\w+)\.toml\)", screen)
    assert len(shown) == 6
    assert all(card == scene for card, scene in shown)
    assert sum(moves(ROOT / f"scenes/{scene}.toml") for _, scene in shown) >= 5, "films"


@pytest.mark.unit
def test_cards_have_the_title_and_the_claim_of_their_scenes() -> None:
    for scene in sorted((ROOT / "scenes").glob("*.toml")):
        shown = card(scene)
        assert f"**[{title(scene)}]({scene.stem}.md)**" in shown
        assert f"pictures/cards/{scene.stem}.webp" in shown
        assert claim(scene.read_text()) in shown


class Resources(HTMLParser):
    """What a page loads when it is opened: scripts, style sheets, pictures, frames."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        address = dict(attributes).get(LOADED.get(tag, ""))
        if address:
            self.found.append(address)


def resources(page: Path) -> list[str]:
    parser = Resources()
    parser.feed(page.read_text())
    return parser.found


@pytest.mark.unit
def test_resources_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<a href="https://a"><img src="b.png"><link href="//c"><script src="https://d"></script>')
    assert resources(page) == ["b.png", "//c", "https://d"]


@pytest.mark.unit
def test_links_are_those_of_the_site() -> None:
    text = "[a](../benchmarks/README.md#results) [b](../scenes/two_body.toml) [c](scenes.md) [d](../tests)"
    found = relinked(text, ROOT / "docs/here.md", ROOT / "docs/here.md")
    assert found == (
        "[a](generated/benchmarks.md#results) [b](generated/gallery/two_body.md) [c](scenes.md) d"
    )
    picture = relinked("[![p](pictures/a.png)](x.md)", ROOT / "benchmarks/R.md", GENERATED / "b.md")
    assert picture == "![p](../../benchmarks/pictures/a.png)"


@pytest.mark.unit
def test_blocks_with_a_name_have_it_as_their_caption() -> None:
    assert captioned("```toml a.toml\nx = 1\n```\n") == (
        "```{code-block} toml\n:caption: a.toml\n\nx = 1\n```\n"
    )
    assert captioned("```python\nx = 1\n```\n") == "```python\nx = 1\n```\n"


@pytest.mark.unit
def test_docstrings_are_restructured_text() -> None:
    given = ["Sum of |x|, `x_0`.", "", "    f(x) = *", "", "k: a_b.", "l: c."]
    assert "\n".join(restructured(given)).split("\n") == [
        *("Sum of \\|x\\|, ``x_0``.", "", "", ".. code-block:: text", "", "       f(x) = *", "", ""),
        *("", "* k: a\\_b.", "* l: c.", ""),
    ]


@pytest.mark.unit
def test_arguments_have_an_entry_each() -> None:
    names = ["steps", "out", "low", "high"]
    table = ["steps    those of the run,", "         a number", "low, high  `limits`"]
    assert restructured(table, names) == [
        *(
            "",
            ":param steps: those of the run, a number",
            ":param low: ``limits``",
            ":param high: ``limits``",
            "",
        ),
    ]
    said = ["Runs it. steps: those of", "the run. out: a folder, or: none. Raises `UserError`: always."]
    assert restructured(said, names) == [
        *("Runs it.", "", ":param steps: those of the run.", ":param out: a folder, or: none.", ""),
        "Raises ``UserError``: always.",
    ]
    kinds = ["steps (number, required): Of the run.", "out (text): A folder."]
    assert restructured(kinds, names)[1:3] == [
        *(":param steps: (number, required) Of the run.", ":param out: (text) A folder."),
    ]
    types = {"out": "`Path`, default `None`", "steps": "`int`"}
    given = restructured(["Runs it.", "", "steps: those of it.", "", "Returns it."], types, types)
    assert [line for line in given if line] == [
        *("Runs it.", ":param out: ``Path``, default ``None``", ":param steps: those of it.", "Returns it."),
    ]
    plain = ["other: is no argument.", "", "    steps   as it stands"]
    assert restructured(plain, names) == restructured(plain)


@pytest.mark.unit
def test_signatures_have_bare_types() -> None:
    given = (
        "(a: Annotated[float | str, Quantity(sign='any')] | None = None, b: list[Annotated[int, Ge(0)]] = ())"
    )
    assert (
        bare("(say: Say = <function <lambda>>, at: At = <object at 0x7f>)")
        == "(say: Say = ..., at: At = ...)"
    )
    assert bare(given) == "(a: float | str | None = None, b: list[int] = ())"


@pytest.mark.unit
def test_blocks_of_code_have_a_button_that_copies_them() -> None:
    """It asks for nothing outside the page, and both files are served with the site."""
    assert 'html_js_files = ["copy.js"]' in (ROOT / "docs/conf.py").read_text()
    script, sheet = ((ROOT / "docs/_static" / name).read_text() for name in ("copy.js", "site.css"))
    assert 'querySelectorAll("div.highlight")' in script
    assert "navigator.clipboard.writeText" in script
    assert not re.search("http|import|fetch", script)
    assert "button.copy" in sheet


@pytest.mark.unit
def test_the_claim_of_a_scene_is_plain_text() -> None:
    assert claim("# U^2 *falls*\n# by `x_0`.\n[units]\n") == r"U\^2 \*falls\* by `x_0`."


@pytest.mark.long
def test_the_site_builds_without_warnings_and_loads_nothing_from_a_network(tmp_path: Path) -> None:
    pytest.importorskip("furo")
    pytest.importorskip("myst_nb")
    site = tmp_path / "site"
    run(
        ROOT,
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-d",
        str(tmp_path),
        "docs",
        str(site),
    )
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 100
    missing = []
    for page in pages:
        for address in resources(page):
            assert not re.match(r"(https?:)?//", address), f"{page.name} loads {address}"
            file = address.partition("?")[0].partition("#")[0]
            if not address.startswith("data:") and not (page.parent / file).exists():
                missing.append(f"{page.name}: {address}")
    assert missing == []
    sheets = [path.read_text() for path in site.rglob("*.css")]
    assert not any(re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", sheet) for sheet in sheets)
