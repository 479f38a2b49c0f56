"""The page about PyTorch: its blocks are run as they stand, and say what it says; its examples, too."""

import re
import sys
from pathlib import Path

import pytest

import torch
from tests.support.command import SCENES
from tests.support.pages import ROOT, blocks, run

PAGE = "scenes/torch/README.md"
TEXT = (ROOT / PAGE).read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader")
    (folder / "scenes").symlink_to(SCENES)
    for _, name, text in blocks(PAGE):
        if name:
            (folder / name).write_text(text)
    return folder


def said(name: str) -> str:
    """What the page shows below a block."""
    found = re.search(rf"^```python {re.escape(name)}\n.*?^```\n\n    (.*?)\n\n", TEXT, re.M | re.S)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("name", ["springs.py", "layer.py", "batch.py"])
def test_a_block_says_what_the_page_says(name: str, folder: Path) -> None:
    assert run(folder, sys.executable, name).strip() == said(name)


def test_from_the_energy_to_backward_are_twelve_lines() -> None:
    (text,) = (text for _, name, text in blocks(PAGE) if name == "springs.py")
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) == 12
    assert "loss.backward()" in lines


def test_the_kernel_shown_is_that_of_the_example() -> None:
    (text,) = (text for language, name, text in blocks(PAGE) if language == "python" and not name)
    body = text.partition(":\n")[2]
    assert body in (SCENES / "torch" / "mesh.py").read_text()


@pytest.mark.long
def test_the_network_learns_to_draw(tmp_path: Path) -> None:
    """A part of the way: in 60 iterations the loss falls to a fifth, and a picture is left."""
    torch.manual_seed(0)
    out = run(ROOT, sys.executable, "scenes/torch/butterfly.py", "--iterations", "60", "--out", str(tmp_path))
    first, last = (float(number) for number in re.findall(r"0\.\d+", out)[:2])
    assert last < 0.25 * first
    assert (tmp_path / "loss.png").stat().st_size > 10_000
    assert len((tmp_path / "path.csv").read_text().splitlines()) == 5001


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (ROOT / PAGE).parent.joinpath(link).exists(), link
