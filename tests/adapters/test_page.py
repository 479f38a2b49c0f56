"""The page about ASE and OpenMM: its programs run as they stand, and say what it says."""

import re
import sys
from pathlib import Path

import pytest

from tests.support.pages import ROOT, blocks, run

PAGE = "docs/modes-and-adapters.md"
PROGRAMS = {"rhombus.py": "ase", "four_particles.py": "openmm"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_what_the_page_says(name: str, tmp_path: Path) -> None:
    pytest.importorskip(PROGRAMS[name], reason=f"{PROGRAMS[name]} is not installed, which the extra has")
    for _, file, text in blocks(PAGE):
        if file:
            (tmp_path / file).write_text(text)
    pattern = rf"^```python {re.escape(name)}\n.*?^```\n\n    (.*?)\n\n"
    found = re.search(pattern, (ROOT / PAGE).read_text(), re.M | re.S)
    assert found is not None
    said = run(tmp_path, sys.executable, name).strip().splitlines()[-1]
    assert said == found[1]
