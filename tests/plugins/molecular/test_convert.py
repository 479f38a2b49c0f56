"""Conversion by OpenMM: in the child, with limits, and the message without it.

`openmm_reference.py` made the files of other tests.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad.errors import UserError, pip_line
from minusgrad_molecular import convert, openmm_system, pdb
from tests.support import peroxide

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
    import openmm

    field = app.ForceField(str(FIELD))
    found = app.PDBFile(str(SCENES / "dipeptide.pdb"))
    there = field.createSystem(found.topology, constraints=None, rigidWater=False, removeCMMotion=False)

    def refused(*given: object) -> None:
        raise AssertionError("OpenMM read a file in the process")

    monkeypatch.setattr(app, "PDBFile", refused)
    monkeypatch.setattr(app, "ForceField", refused)
    monkeypatch.chdir(FIELD.parent)
    out = tmp_path / "a.xml"
    words = [str(SCENES / "dipeptide.pdb"), FIELD.name, "--out", str(out)]
    assert convert.main(words) == 0
    assert out.read_text() == openmm.XmlSerializer.serialize(there)
    assert capsys.readouterr().out == f"{out}\n"
    assert len(openmm_system.parse("a.xml", out.read_bytes()).mass) == 22


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "must be a PDB file or a PDBx/mmCIF file"),
        (
            b"ATOM      1  CA  XYZ A   1       0.0     0.0     0.0  1.00  0.00           C\n",
            "No template found",
        ),
        (b"ATOM  \xff\xfe" + b"9" * 80, "OpenMM cannot make a System of it ("),
    ],
)
def test_a_damaged_pdb_file_is_one_message(
    app: Any, data: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "a.pdb").write_bytes(data)
    with pytest.raises(UserError) as refused:
        convert.made_system({"positions": str(tmp_path / "a.pdb"), "force_field": (str(FIELD),)})
    assert f"'{tmp_path / 'a.pdb'}'" in str(refused.value)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_or_a_fifo_is_refused(app: Any, tmp_path: Path, capsys: Any) -> None:
    assert convert.main([str(tmp_path / "a.pdb"), "amber14-all.xml"]) == 2
    assert "a.pdb': cannot be read, got No such file or directory; name a" in capsys.readouterr().err
    os.mkfifo(tmp_path / "b.pdb")
    assert convert.main([str(tmp_path / "b.pdb"), "amber14-all.xml"]) == 2
    assert "must be a regular file, got a FIFO" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["a.prmtop", "a.inpcrd", "--nonbonded", "no_cutoff"],
        ["a.top", "a.gro", "--nonbonded", "no_cutoff", "--define", "FLEXIBLE"],
        ["a.psf", "a.prm", "a.rtf", "a.crd", "--nonbonded", "no_cutoff"],
    ],
)
def test_topologies_are_converted(
    app: Any, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """From another folder; the places beside the System are those of the file to 0.0005 angstrom."""
    peroxide.write_files(tmp_path)
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    named = [f"../{one}" if one.startswith("a.") else one for one in words]
    assert convert.main([*named, "--out", "made.xml"]) == 0
    heard = capsys.readouterr()
    assert heard.out == "made.xml\nmade.pdb\n"
    assert ("its velocities are left out: a PDB file has none" in heard.err) == ("../a.psf" not in named)
    assert len(openmm_system.parse("made.xml", Path("made.xml").read_bytes()).bonds) == 6
    atoms = pdb.parse("made.pdb", Path("made.pdb").read_bytes())
    np.testing.assert_allclose(atoms.places, peroxide.PLACES, atol=5.1e-4)
    assert atoms.names == peroxide.NAMES
    assert set(atoms.residues) == {"HPO"}


def test_what_is_read_is_not_written_over(app: Any, tmp_path: Path, capsys: Any) -> None:
    peroxide.write_files(tmp_path)
    (tmp_path / "field.pdb").write_text(peroxide.pdb())
    assert convert.main([str(tmp_path / "field.pdb"), str(tmp_path / "field.xml")]) == 2
    assert "the System needs a file of its own, got one that is read" in capsys.readouterr().err
    assert (tmp_path / "field.xml").read_text() == peroxide.FIELD_XML


def test_a_wrong_quantity_is_one_message(app: Any, tmp_path: Path, capsys: Any) -> None:
    peroxide.write_files(tmp_path)
    words = [str(tmp_path / "a.prmtop"), str(tmp_path / "a.inpcrd"), "--cutoff", "9 kelvin"]
    assert convert.main(words) == 2
    assert capsys.readouterr().err.startswith("minusgrad: cutoff: ")


def test_a_script_of_a_force_field_runs_in_a_conversion(app: Any, tmp_path: Path, capsys: Any) -> None:
    """The user named the file; the state `molecule` refuses it."""
    peroxide.write_files(tmp_path)
    field = tmp_path / "field.xml"
    field.write_text(
        peroxide.FIELD_XML.replace("</ForceField>", "<Script>sys.addParticle(5.0)</Script></ForceField>")
    )
    out = tmp_path / "made.xml"
    assert convert.main([str(tmp_path / "a.pdb"), str(field), "--out", str(out)]) == 0
    assert out.read_text().count('mass="5"') == 1
