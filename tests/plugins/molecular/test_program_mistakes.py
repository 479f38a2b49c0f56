"""Files of other programs that are wrong: one message each, with the file, the place and the cure."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minusgrad.assembly.contexts import StateContext
from minusgrad.errors import UserError
from minusgrad.plugin import UnitSystem
from minusgrad_molecular.programs import applied, gro, kinds
from minusgrad_molecular.states import Molecule
from tests.support import peroxide

pytestmark = pytest.mark.unit

KEYS = {
    "amber": {"topology": "a.prmtop", "positions": "a.inpcrd", "nonbonded": "no_cutoff"},
    "gromacs": {"topology": "a.top", "positions": "a.gro", "nonbonded": "no_cutoff"},
    "charmm": {"topology": "a.psf", "positions": "a.crd", "parameters": ("a.rtf", "a.prm")},
    "openmm": {"force_field": "field.xml", "positions": "a.pdb", "nonbonded": "no_cutoff"},
    "system": {"system": "a.xml", "positions": "a.pdb"},
}


def refusal(folder: Path, keys: dict) -> str:
    with pytest.raises(UserError) as refused:
        Molecule(**keys).make(StateContext(UnitSystem.of("nm", "u", "ps"), 0, folder))
    return str(refused.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'")
    peroxide.write_files(tmp_path)
    return tmp_path


def cut_before(word: str) -> Callable[[str], str]:
    return lambda text: text[: text.index(word)]


def exchanged(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return change


ROW = "       0       3       1"
"""The first bond of the prmtop."""
BAD_FILES = {
    "a prmtop of another version": (
        "amber", "a.prmtop", exchanged("V0001.000", "V0002.000"),
        "'a.prmtop': line 1: the version of a prmtop must be V0001.000, got 'V0002.000'; write it again"
        " with tleap"
        " or ParmEd"),
    "a prmtop of a version before 7": (
        "amber", "a.prmtop", lambda text: "HOOH\n" + "     8     2     4     2     4     0     2     0   "
        "  0     0"
        "    14     2\n" * 3,
        "topology: must be an AMBER prmtop, a GROMACS topology or a CHARMM psf, got 'a.prmtop', which is"
        " an AMBER"
        " prmtop of a version before 7; write it again with tleap or ParmEd"),
    "a truncated prmtop": (
        "amber", "a.prmtop", cut_before("%FLAG ANGLES_INC"),
        "'a.prmtop': section ANGLES_INC_HYDROGEN must have 16 values, as POINTERS says, got none; the file is"
        " truncated: write it again with tleap or ParmEd"),
    "a prmtop that is cut in a section": (
        "amber", "a.prmtop", exchanged(ROW + "       6       9       1      12      15       1      18", ROW),
        "'a.prmtop': line 76: section BONDS_INC_HYDROGEN must have 12 values, as POINTERS says, got"),
    "a polarisable prmtop": (
        "amber", "a.prmtop", lambda text: text + "%FLAG IPOL\n%FORMAT(1I8)\n       1\n",
        "'a.prmtop': a polarisable force field (section IPOL) is not supported; make the topology with a"
        " force"
        " field of fixed charges, such as ff19SB"),
    "atoms of a prmtop that are not there": (
        "amber", "a.prmtop", exchanged(ROW, "       0      24       1"),
        "section BONDS_INC_HYDROGEN must have atoms as multiples of 3 from 0 to 21, got 0, 24; write it"
         " again"),
    "types of a prmtop from 0": (
        "amber", "a.prmtop", exchanged(ROW, "       0       3       0"),
        "section BONDS_INC_HYDROGEN must have types from 1 to 2, got 0; write it again"),
    "a bond of a prmtop twice": (
        "amber", "a.prmtop", exchanged(ROW + "       6       9", ROW + "       3       0"),
        "'a.prmtop': the bond of atoms 1 and 2 must be there once, got two; write it again"),
    "words for numbers in a prmtop": (
        "amber", "a.prmtop", exchanged(ROW, "       0       3       x"),
        "section BONDS_INC_HYDROGEN must have whole numbers of 8 columns, got others; write it again"),
    "stars in an inpcrd": (
        "amber", "a.inpcrd", exchanged("   0.0500000", "************"),
        "'a.inpcrd': cannot be read (Could not parse Amber ASCII restart file the file); it needs a"
        " title, the"
        " number of atoms, and 6 numbers of 12 columns a line"),
    "angles of a box in another unit": (
        "amber", "a.inpcrd", exchanged("90.0000000  90.0000000", "90.00000005156.6179462"),
        "'a.inpcrd': cannot be read (angles of the box must be between 0 and 180 degrees, got 90, 5156.62,"
         " 90); it"
        " needs"),
    "an inpcrd that is cut": (
        "amber", "a.inpcrd", lambda text: "\n".join(text.splitlines()[:5]) + "\n",
        "'a.inpcrd': cannot be read (Badly formatted restart file. Has 5 lines for 8 atoms.); it needs"),
    "positions of another number of atoms": (
        "gromacs", "a.top", exchanged("HPO 2", "HPO 3"),
        "positions: 'a.gro' must have the atoms of 'a.top', 12, got 8; give the positions of the same"
         " system"),
    "an include that is not there": (
        "gromacs", "a.top", exchanged('"peroxide.itp"', '"amber99sb-ildn.ff/forcefield.itp"'),
        '\'a.top\': line 6: #include "amber99sb-ildn.ff/forcefield.itp" must be there, got no such file'
         ' beside it;'
        " copy the folder amber99sb-ildn.ff to the scene (GROMACS has its force fields in"
        " share/gromacs/top), and"
        " name the folder that has it as `include`"),
    "an include outside the scene": (
        "gromacs", "a.top", exchanged('"peroxide.itp"', '"../../etc/passwd"'),
        "'a.top': line 6: #include \"../../etc/passwd\" must be there, got no such file beside it"),
    "includes in a circle": (
        "gromacs", "peroxide.itp", lambda text: text + '#include "peroxide.itp"\n',
        "'peroxide.itp': line 19: files include one another more than 32 deep; remove the #include that"
        " closes the"
        " circle"),
    "an #ifdef that is not closed": (
        "gromacs", "a.top", exchanged("#endif\n", ""),
        "'a.top': line 3: #ifdef without #endif in this file; add one"),
    "an #else without #ifdef": (
        "gromacs", "a.top", exchanged("#ifdef POSRES\n", "#else\n"),
        "'a.top': line 3: #else without its #ifdef; remove it, or write the #ifdef"),
    "an #if": (
        "gromacs", "a.top", exchanged("#ifdef POSRES", "#if POSRES > 1"),
        "'a.top': line 3: #if is not supported; use #ifdef, #ifndef, #else, #endif, #define, #undef or"
         " #include"),
    "a type of atom that is not known": (
        "gromacs", "peroxide.itp", exchanged("2 OH 1 HPO O1", "2 OX 1 HPO O1"),
        "'peroxide.itp': line 5: atom type OX must be in [ atomtypes ], got no such type; include the"
        " force field"
        " that has it, or correct the name"),
    "a bond without parameters": (
        "gromacs", "field.ff/forcefield.itp", exchanged("OH OH 1 0.146", "; OH OH 1 0.146"),
        "OpenMM cannot make a System of it (No parameters specified for bond: 2, 3); correct the line,"
        " or include"
        " the file of the force field that is missing"),
    "an unsupported function": (
        "gromacs", "peroxide.itp", exchanged("2 3 1\n", "2 3 7\n"),
        "'peroxide.itp': line 10: OpenMM cannot make a System of it (Unsupported function type in [ bonds ]"
         " line:"),
    "atoms of a topology from 0": (
        "gromacs", "peroxide.itp", exchanged("\n1 2 1\n", "\n0 1 1\n"),
        "'peroxide.itp': line 9: atoms of [ bonds ] must be numbers from 1 to 4, got 0; they are counted"
         " from 1"),
    "atoms numbered from 0": (
        "gromacs", "peroxide.itp", exchanged("1 HO 1 HPO H1 1", "0 HO 1 HPO H1 1"),
        "'peroxide.itp': line 4: atoms of a molecule must be numbered from 1 without gaps, got 0 for atom 1;"
        " correct it"),
    "a bond of a topology twice": (
        "gromacs", "peroxide.itp", exchanged("3 4 1\n[ pairs", "3 4 1\n2 1 1\n[ pairs"),
        "'peroxide.itp': line 12: the bond of atoms 1 and 2 must be there once, got one more at"
        " 'peroxide.itp': line"
        " 9; leave one out"),
    "a molecule that is not known": (
        "gromacs", "a.top", exchanged("HPO 2", "SOL 2"),
        "'a.top': line 10: molecule SOL must have a [ moleculetype ], got HPO; include the file that has it"),
    "a section that is not known": (
        "gromacs", "peroxide.itp", exchanged("[ pairs ]", "[ water_polarization ]"),
        "'peroxide.itp': line 12: section [ water_polarization ] is not supported; write the topology"
         " without it"),
    "an included file alone": (
        "gromacs", "a.top", lambda text: peroxide.FORCE_FIELD_ITP + peroxide.PEROXIDE_ITP,
        "'a.top': must have the section [ molecules ], got none; name the topology that grompp takes, not"
        " a file"
        " that it includes"),
    "a gro that is cut": (
        "gromacs", "a.gro", exchanged("\n8\n", "\n9\n"),
        "'a.gro': must have 9 atoms, as line 2 says, and a box behind them, got 11 lines; the file is"
        " cut: write it"
        " again"),
    "words in a gro": (
        "gromacs", "a.gro", exchanged("0.0930", "0.x930"),
        "'a.gro': line 3: must have 6 numbers of 9 columns behind column 20, got '0.0000   0.x930   0.0550"),
    "a gro without a box": (
        "gromacs", "a.gro", exchanged("   2.10000   2.20000   2.30000", "none"),
        "'a.gro': line 11: must be a box of 3 or 9 numbers, got 'none'; write it"),
    "a polarisable psf": (
        "charmm", "a.psf", exchanged("PSF", "PSF EXT DRUDE"),
        "'a.psf': a polarisable force field (DRUDE) is not supported; make the psf with a force field of"
        " fixed"
        " charges, such as CHARMM36"),
    "atoms of a psf from 0": (
        "charmm", "a.psf", exchanged("bonds\n       1       2", "bonds\n       0       1"),
        "'a.psf': line 16: NBOND must have atoms from 1 to 8, got 0, 1 in row 1; they are counted from 1"),
    "a bond of a psf twice": (
        "charmm", "a.psf", exchanged("bonds\n       1       2       2       3", "bonds\n       1       2   "
         "    2       1"),
        "'a.psf': line 16: NBOND: the bond of atoms 1 and 2 must be there once, got two; leave one out"),
    "a psf that is cut": (
        "charmm", "a.psf", cut_before("       6       7       7       8\n\n"),
        "'a.psf': line 16: NBOND must have 12 numbers of atoms, got 8; the file is truncated: write it"
         " again"),
    "a psf without parameters of a type": (
        "charmm", "a.prm", exchanged("OH OH 350.0 1.46\n", ""),
        "'a.psf': OpenMM cannot make a System of it (Missing bond type for <Bond; <Atom 1; 1 HPO [O1: OH]>"
         " --"),
    "a psf of CHARMM with numbers that no file has": (
        "charmm", "a.psf", exchanged(" HO  ", " 77  "),
        "'a.psf': OpenMM cannot make a System of it (Could not find atom type for 77); name all files of"
        " parameters"
        " that the psf was made with, in `parameters`"),
    "parameters of another kind": (
        "charmm", "a.prm", lambda text: peroxide.psf(),
        "parameters: must be CHARMM parameters, got 'a.prm', which is a CHARMM psf; name CHARMM parameters"),
    "a force field with a script": (
        "openmm", "field.xml", exchanged("</ForceField>", "<Script>print(1)</Script></ForceField>"),
        "'field.xml': must have no script, which OpenMM would execute, got <Script>; if you trust the"
        " file, make the"
        " System by `python -m minusgrad_molecular.convert`, and name it as `system`"),
    "a force field that is evaluated": (
        "openmm", "field.xml", exchanged("<NonbondedForce ", '<NonbondedForce'
         ' useDispersionCorrection="exit()" '),
        "'field.xml': must have no script, which OpenMM would execute, got useDispersionCorrection ="
         " 'exit()'"),
    "a force field that includes from elsewhere": (
        "openmm", "field.xml", exchanged("<AtomTypes>", '<Include file="/etc/a.xml"/><AtomTypes>'),
        "force_field: '/etc/a.xml' lies outside the scene's folder; copy it there"),
    "a residue that is not known": (
        "openmm", "field.xml", exchanged('<Bond atomName1="O1" atomName2="O2"/>', ""),
        "'a.pdb': OpenMM cannot make a System of it (No template found for residue 0 (HPO)"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", BAD_FILES)
def test_files_that_are_refused(folder: Path, mistake: str) -> None:
    program, name, change, message = BAD_FILES[mistake]
    path = folder / name
    path.write_text(change(path.read_text()))
    said = refusal(folder, KEYS[program])
    assert message in said
    assert "\n" not in said
    assert str(folder) not in said


NEEDS = 'needs a box, got none in the files; give `box`, or nonbonded = "no_cutoff"'
BAD_KEYS = {
    "a gro as topology": ({"topology": "a.gro"}, "topology: must be an AMBER prmtop, a GROMACS topology"
    " or a CHARMM"
     " psf, got 'a.gro', which is GROMACS coordinates (gro); give it as `positions`, with the topology"
      " beside it"),
    "a System as topology": ({"topology": "a.xml"}, "which is an OpenMM System; give it as `system`"),
    "a topology as positions": ({"positions": "a.psf"}, "which is a CHARMM psf; give it as `topology`"),
    "a file of no kind": ({"positions": "empty"}, "got 'empty', which is another kind of file, or an"
    " empty one (0"
     " bytes); name a PDB file, "),
    "parameters of a prmtop": ({"parameters": "a.prm"}, "parameters: is of a CHARMM psf, got it with an"
    " AMBER prmtop;"
     " leave it out"),
    "macros of a prmtop": ({"defines": {"A": True}}, "defines: is of a GROMACS topology, got it with an"
    " AMBER prmtop;"
     " leave it out"),
    "two ways": ({"system": "a.xml"}, "system: one of `system`, `topology` and `force_field` must be"
    " given, got"
     " system and topology; a System has all of a topology"),
    "no way": ({"topology": None}, "must be given, got none"),
    "a cutoff that does not fit": ({"nonbonded": "pme", "cutoff": "11 angstrom"}, "cutoff: must be at"
    " most half of"
     " the box, 10.5 angstrom, got 11 angstrom; give a smaller one, or a larger box"),
    "a box that is too small": ({"nonbonded": None, "box": ("18 angstrom",) * 3}, "cutoff: must be at"
    " most half of the"
     " box, 9 angstrom, got 10 angstrom, as it is where none is given; give a smaller one, or a larger box"),
    "a cutoff of nothing": ({"cutoff": "9 angstrom"}, 'cutoff: nonbonded = "no_cutoff" has none, got one;'
     ' leave it'
     " out, or name another `nonbonded`"),
    "no box": ({"topology": "b.prmtop", "positions": "b.inpcrd", "nonbonded": "pme"}, f'nonbonded: "pme"'
     f' {NEEDS}'),
    "two edges": ({"box": ("18 angstrom",) * 2}, "box: must be three lengths, got 2; give those of the"
     " edges"),
    "outside": ({"topology": "../a.prmtop"}, "'../a.prmtop' lies outside the scene's folder; copy it there"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", BAD_KEYS)
def test_keys_that_are_refused(folder: Path, mistake: str) -> None:
    (folder / "a.xml").write_text("<System/>")
    (folder / "empty").write_text("")
    (folder / "b.prmtop").write_text(peroxide.prmtop(boxed=False))
    (folder / "b.inpcrd").write_text(peroxide.inpcrd(box=False))
    keys, message = BAD_KEYS[mistake]
    assert message in refusal(folder, KEYS["amber"] | keys)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (KEYS["system"] | {"cutoff": "9 angstrom"}, "cutoff: a System has its own, got it with `system`;"
         " leave it"
         " out, or give `topology`"),
        (KEYS["charmm"] | {"parameters": ()}, "parameters: 'a.psf' needs files of parameters (par, prm,"
         " rtf, str), got"
         " none; name those that it was made with"),
        (KEYS["charmm"] | {"parameters": ("a.rtf", "field.xml")}, "parameters: must be CHARMM parameters, got"
         " 'field.xml', which is an OpenMM force field; give it as `force_field`"),
        (KEYS["openmm"] | {"positions": "a.gro"}, "positions: must be a PDB file or a PDBx/mmCIF file, got"
         " 'a.gro',"
         " which is GROMACS coordinates (gro); write it as PDB, with all hydrogens"),
        (KEYS["openmm"] | {"force_field": "amber15.xml"}, 'force_field: Could not locate file'
         ' "amber15.xml": neither'
         " beside the scene nor one of OpenMM's; copy it to the scene, or name one of OpenMM's, such as"
         ' "amber14-all.xml"'),
        (KEYS["openmm"] | {"force_field": "/etc/a.xml"}, "force_field: '/etc/a.xml' lies outside the"
         " scene's folder"),
        (KEYS["openmm"] | {"implicit_solvent": "obc2"}, 'implicit_solvent: is of a prmtop or a psf, got'
         ' "obc2" with a'
         " force field; name the solvent's own file in `force_field`, such as \"implicit/obc2.xml\""),
        (KEYS["gromacs"] | {"implicit_solvent": "obc2"}, 'got "obc2" with a GROMACS topology'),
    ],
)  # fmt: skip
def test_keys_of_other_programs_that_are_refused(folder: Path, keys: dict, message: str) -> None:
    assert message in refusal(folder, keys)


def test_without_openmm_the_cure_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from minusgrad_molecular.programs import door

    monkeypatch.setattr(door, "find_spec", lambda name: None)
    said = refusal(folder, KEYS["amber"])
    assert said.startswith("'a.prmtop': needs OpenMM to be read, got none; pip install ")


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("A000", 10_000),
        ("A00A", 10_010),
        ("ZZZZ", 1_223_055),
        ("a000", 1_223_056),
        ("9999", None),
        ("Ab00", None),
    ],
)
def test_hybrid_36(word: str, number: int | None) -> None:
    """Values of cci.lbl.gov/hybrid_36."""
    assert applied.hybrid_36(word) == number


def test_residues_of_hybrid_36_stay_apart(folder: Path) -> None:
    """OpenMM alone puts one that it cannot read, with other names of atoms, into the residue before it."""
    text = peroxide.pdb().replace("HPO A   1", "HPO A9999").replace("HPO A   2", "HPO AA00G")
    for name, other in (("H1", "H5"), ("O1", "O5"), ("O2", "O6"), ("H2", "H6")):
        text = text.replace(f"{name}  HPO AA00G", f"{other}  HPO AA00G")
    (folder / "a.pdb").write_text(text)
    context = StateContext(UnitSystem.of("nm", "u", "ps"), 0, folder)
    state = Molecule(**KEYS["openmm"]).make(context)
    assert len(state.tuples["bonds"]) == 6


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (peroxide.prmtop(), "prmtop"), (peroxide.TOP, "top"), (peroxide.psf(), "psf"),
        (peroxide.pdb(), "pdb"),
        (peroxide.gro(), "gro"), (peroxide.gro(velocities=False), "gro"), (peroxide.inpcrd(), "inpcrd"),
        (peroxide.crd(), "crd"), (peroxide.RTF, "parameters"), (peroxide.PRM, "parameters"),
        (peroxide.FIELD_XML, "force_field"), ("<System/>", "system"), ("data_1ABC\n_cell.a 1\n", "pdbx"),
        ("# made by a program\ndata_1ABC\nloop_\n_atom_site.id\n", "pdbx"),
        ("*title of AMBER\n     8\n   0.0000000   0.9300000   0.5500000\n", "inpcrd"), ("CDF\x01", "inpcrd"),
        ("x,y,z\n1,2,3\n", None), ("", None), ("<html></html>", None),
    ],
)  # fmt: skip
def test_kinds_are_known_by_contents(text: str, kind: str | None) -> None:
    assert kinds.kind_of(text.encode()) == kind


def test_a_skewed_box_of_gro() -> None:
    """Edges beyond half of those before them become their images, as OpenMM has it."""
    from openmm import Vec3, unit
    from openmm.app.internal.unitcell import reducePeriodicBoxVectors

    text = "\n".join(peroxide.gro().splitlines()[:-1])
    nine = (3.0, 2.8, 2.4, 0.0, 0.0, 2.0, 0.0, -1.9, 1.6)
    found = gro.parse("a.gro", f"{text}\n{' '.join(map(str, nine))}\n".encode()).box
    edges = [Vec3(3.0, 0.0, 0.0), Vec3(2.0, 2.8, 0.0), Vec3(-1.9, 1.6, 2.4)] * unit.nanometer
    np.testing.assert_allclose(found, 10.0 * np.array(reducePeriodicBoxVectors(edges)._value), rtol=1e-12)
    assert found[1, 0] == pytest.approx(-10.0)
