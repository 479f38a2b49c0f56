"""Conversion by OpenMM: the message without it. `openmm_reference.py` made the files of other tests."""

import sys
from pathlib import Path

import pytest

from minusgrad.errors import pip_line
from minusgrad_molecular import convert

pytestmark = pytest.mark.unit


def test_without_openmm_the_cure_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "openmm", None)
    assert convert.main([str(tmp_path / "a.pdb"), "amber14-all.xml"]) == 2
    expected = (
        f"minusgrad: '{tmp_path / 'a.pdb'}': needs OpenMM to apply a force field, got none;"
        f" {pip_line('openmm')}\n"
    )
    assert capsys.readouterr().err == expected
    assert not list(tmp_path.iterdir())
