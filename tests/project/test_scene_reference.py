"""The generated reference of scenes: every key of every kind, anchors, examples as they stand in scenes."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

from minusgrad.assembly.registry import Registry
from minusgrad.scene.key_table import tables

PAGE = Path(__file__).parents[2] / "docs/scene_reference.py"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("scene_reference", PAGE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = module.pages(tmp_path_factory.mktemp("reference"))
    assert written[0].name == "index.md"
    return {path.name: path.read_text() for path in written}


def test_every_kind_and_table_has_an_anchor_of_its_own(pages: dict[str, str]) -> None:
    found = re.findall(r"^\((\S+)\)=$", "\n".join(pages.values()), re.M)
    kinds = {
        f"{s}-{k.replace('_', '-')}" for s, t in Registry.load().tables.items() for k in t if s != "loss"
    }
    assert sorted(found) == sorted(kinds | {f"table-{name}" for name in tables()} | {"loss-misfit"})


def test_every_page_is_in_the_contents(pages: dict[str, str]) -> None:
    listed = pages["index.md"].partition("{toctree}\n:hidden:\n")[2].partition("```")[0].split()
    assert sorted(f"{name}.md" for name in listed) == sorted(pages.keys() - {"index.md"})
    for text in pages.values():
        assert set(re.findall(r"\]\(([\w-]+\.md)\)", text)) <= pages.keys()


def test_rows_have_all_columns(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        for row in re.findall(r"^\| `.*$", text.partition("## ")[2], re.M):
            columns = re.split(r"(?<!\\)\|", row)[1:-1]
            assert len(columns) == 5 or (name == "energies.md" and "](" in row), row
    gravity = pages["energies-gravity.md"]
    assert "| `softening` | `quantity` | `m` | `0.0` | Plummer's softening length; 0: none. |" in gravity
    assert "reads `x` [m], `m` [kg]." in gravity
    assert "-G sum_{i<j} m_i m_j" in gravity


def test_examples_are_blocks_of_scenes(pages: dict[str, str]) -> None:
    examples = [e for text in pages.values() for e in re.findall(r"```toml\n(.*?)```", text, re.S)]
    assert len(examples) > 80
    for example in examples:
        tomllib.loads(example)
