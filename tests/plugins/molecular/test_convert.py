"""Conversion by OpenMM: in the child, with limits, and the message without it.

`openmm_reference.py` made the files of other tests.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from minusgrad.errors import UserError, pip_line
from minusgrad_molecular import convert, force_field, openmm_system

pytestmark = pytest.mark.unit


def test_without_openmm_the_cure_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(convert, "find_spec", lambda name: None)
    assert convert.main([str(tmp_path / "a.pdb"), "amber14-all.xml"]) == 2
    expected = (
        f"minusgrad: '{tmp_path / 'a.pdb'}': needs OpenMM to apply a force field, got none;"
        f" {pip_line('openmm')}\n"
    )
    assert capsys.readouterr().err == expected
    assert not list(tmp_path.iterdir())


SCENES = Path(__file__).parents[3] / "scenes" / "data"
FIELD = Path(__file__).parents[2] / "fuzz" / "dipeptide_field.xml"


@pytest.fixture
def app() -> Any:
    return pytest.importorskip(
        "openmm.app", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'"
    )


def test_openmm_reads_a_pdb_file_in_the_child(
    app: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """As in the process: the same text. And never in the process."""
    data = (SCENES / "dipeptide.pdb").read_bytes()
    there = force_field.system("a.pdb", data, [str(FIELD)])

    def refused(*given: object) -> None:
        raise AssertionError("OpenMM read a file in the process")

    monkeypatch.setattr(app, "PDBFile", refused)
    monkeypatch.setattr(app, "ForceField", refused)
    monkeypatch.chdir(FIELD.parent)
    out = tmp_path / "a.xml"
    words = [str(SCENES / "dipeptide.pdb"), FIELD.name, "--out", str(out)]
    assert convert.main(words) == 0
    assert out.read_text() == there
    assert capsys.readouterr().out == f"{out}\n"
    assert len(openmm_system.parse("a.xml", out.read_bytes()).mass) == 22


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "OpenMM cannot make a System with "),
        (
            b"ATOM      1  CA  XYZ A   1       0.0     0.0     0.0  1.00  0.00           C\n",
            "No template found",
        ),
        (b"ATOM  \xff\xfe" + b"9" * 80, "OpenMM cannot make a System with "),
    ],
)
def test_a_damaged_pdb_file_is_one_message(app: Any, data: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        convert.from_bytes("a.pdb", data, [str(FIELD)])
    assert str(refused.value).startswith("'a.pdb': ")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_or_a_fifo_is_refused(app: Any, tmp_path: Path, capsys: Any) -> None:
    assert convert.main([str(tmp_path / "a.pdb"), "amber14-all.xml"]) == 2
    assert "a.pdb': cannot be read, got No such file or directory; name a PDB file" in capsys.readouterr().err
    os.mkfifo(tmp_path / "b.pdb")
    assert convert.main([str(tmp_path / "b.pdb"), "amber14-all.xml"]) == 2
    assert "must be a regular file, got a FIFO" in capsys.readouterr().err
