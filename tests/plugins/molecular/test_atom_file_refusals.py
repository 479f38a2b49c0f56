"""Files of atoms that are refused: one message each, with its cure; and what is asked for by name."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad.assembly.contexts import StateContext
from minusgrad.errors import UserError
from minusgrad.plugin import UnitSystem
from minusgrad_molecular.atom_files import state as atoms_state
from minusgrad_molecular.atom_files.element_names import element_of_name
from minusgrad_molecular.atom_files.state import AtomFile
from tests.plugins.molecular.test_atom_files import (
    CHARGE,
    DIRECT,
    FULL,
    GRO,
    NONE,
    PDB,
    PLAIN,
    PLAIN_LJ,
    SALT,
    SLAB,
    TWO,
    UNITS,
    VASP4,
    XDATCAR,
)

pytest.importorskip("ase")
pytestmark = pytest.mark.unit

LIGAND = GRO.replace("1SOL  ", "1LIG  ").replace("   OW ", "  CD1 ").replace("  HW1 ", "  CA  ")
STYLES = "atomic, charge, bond, angle, molecular, full"
SYSTEMS = "real, metal, si, cgs, electron, micro, nano, lj"
FORMATS = "xyz, cif, poscar, xdatcar, lammps, gro, pdb, traj, xsf, gen"


def refusal(folder: Path, name: str, text: str | bytes, system: UnitSystem = UNITS, **keys: Any) -> str:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(UserError) as refused:
        AtomFile(file=name, **keys).make(StateContext(system, 0, folder))
    return str(refused.value)


@pytest.mark.parametrize(
    ("name", "text", "keys", "message"),
    [
        (
            "a.xyz",
            "",
            {},
            "'a.xyz': has no atoms, got an empty file; save it again",
        ),
        (
            "a.xyz",
            "Ar 0 0 0\n",
            {},
            "'a.xyz': line 1 must be the number of atoms of a frame, got 'Ar 0 0 0'; correct it",
        ),
        (
            "a.xyz",
            "3\nx\nAr 0 0 0\n",
            {},
            "'a.xyz': line 1 says 3 atoms, got 1 lines of atoms; complete the file",
        ),
        (
            "a.xyz",
            "1\nx\nAr 0 0 z\n",
            {},
            "'a.xyz': ASE cannot read it as xyz (could not convert string to float: 'z'); correct it,"
            " or name its `format`",
        ),
        (
            "a.xyz",
            TWO,
            {"index": 2},
            "index: 'a.xyz' has 2 images, 0 to 1, got 2; choose one of them",
        ),
        (
            "POSCAR",
            DIRECT,
            {"index": 1},
            "index: 'POSCAR' has one image, got 1; choose one of them",
        ),
        (
            "XDATCAR",
            XDATCAR,
            {"index": -3},
            "index: 'XDATCAR' has 2 images, 0 to 1, got -3; choose one of them",
        ),
        (
            "a.xyz",
            "1\nx\nQ 0 0 0\n",
            {},
            "masses: 'a.xyz' has no mass above 0 for Q, which name no element whose mass is known"
            ' here; write masses = { Q = "..." }, or elements in `species`',
        ),
        (
            "a.xyz",
            "1\nx\nX 0 0 0\n",
            {},
            "masses: 'a.xyz' has no mass above 0 for X, which name no element whose mass is known"
            ' here; write masses = { X = "..." }, or elements in `species`',
        ),
        (
            "a.xyz",
            TWO,
            {"masses": {"Kr": "1 u"}},
            "masses: no species 'Kr' in 'a.xyz' (there are: Ar); correct the name",
        ),
        (
            "a.xyz",
            SLAB,
            {"charges": {"Ar": "1 e"}, "columns": {"velo": "m/s"}},
            "charges: needs one for each species, got none for Kr; add them, 0 for neutral atoms",
        ),
        (
            "a.xyz",
            SLAB,
            {},
            "columns: 'velo' of 'a.xyz' has velocities, but the file does not say their unit; write"
            ' it, columns = { velo = "angstrom fs^-1" }, or `temperature`',
        ),
        (
            "a.xyz",
            SLAB,
            {"columns": {"vel": "m/s"}},
            "columns: 'a.xyz' has no column 'vel' (there are: velo, site-kind); correct the name",
        ),
        (
            "a.xyz",
            SLAB,
            {"columns": {"velo": "m"}},
            "'1 m' is a length, but 'm s^-1' (speed) is needed",
        ),
        (
            "a.xyz",
            SLAB,
            {"temperature": 0.0, "cells": [1, 1, 2]},
            "cells: the cell of 'a.xyz' does not repeat along axis 2, got [1, 1, 2]; write 1 there",
        ),
        (
            "a.xyz",
            PLAIN,
            {"cells": [2, 1, 1]},
            "cells: needs a cell that repeats, got none in 'a.xyz'; leave `cells` out",
        ),
        (
            "a.xyz",
            SLAB.replace('"T T F"', '"T T T"').replace("1 6 0", "10 0 0"),
            {"temperature": 0.0},
            "file: 'a.xyz' has a cell that spans no volume, got [[5.0, 0.0, 0.0], [10.0, 0.0, 0.0],"
            " [0.0, 0.0, 20.0]]; correct its vectors",
        ),
        (
            "a.xyz",
            TWO,
            {"style": "full"},
            "style: is that of LAMMPS data, got 'full' for a xyz file; leave it out",
        ),
        (
            "a.xyz",
            TWO,
            {"units": "real"},
            "units: a xyz file has its own, got 'real'; leave it out, or write 'lj' for plain numbers",
        ),
        (
            "a.xyz",
            TWO,
            {"units": "lj"},
            "units: 'lj' are plain numbers of a dimensionless scene, got a scene with units; write"
            ' [units] system = "dimensionless", or the units of the file',
        ),
        (
            "a.lammpstrj",
            TWO,
            {},
            f"'a.lammpstrj': its name shows no format of atoms that is read (there are: {FORMATS});"
            " give `format`, or convert it: ase convert FILE FILE.extxyz",
        ),
        (
            "a.cif",
            SALT.replace("0.5 1\n", "0.5 0.75\n"),
            {},
            "'a.cif': has a partial occupancy, site 1 of Cl 0.75; a scene has whole atoms: write an"
            " ordered cell",
        ),
        (
            "a.cif",
            SALT.replace("Na1 Na", "Q1 Qx"),
            {},
            "'a.cif': ASE cannot read it as cif (unknown name 'Qx'); correct it, or name its `format`",
        ),
        (
            "a.cif",
            "data_1ABC\nloop_\n_atom_site.group_PDB\n_atom_site.Cartn_x\nATOM 1.0\n",
            {},
            "'a.cif': must be a CIF file of a crystal, got mmCIF of the Protein Data Bank; download its PDB"
            " file, or convert it: gemmi convert FILE FILE.pdb",
        ),
        (
            "a.cif",
            TWO,
            {},
            "'a.cif': ASE cannot read it as cif (it is not there where it is expected); correct it,"
            " or name its `format`",
        ),
        (
            "POSCAR",
            VASP4,
            {},
            "species: 'POSCAR' has 2 kinds of atoms without symbols (VASP 4), got none; write species"
            ' = { 1 = "...", 2 = "..." }',
        ),
        (
            "POSCAR",
            DIRECT.replace("Kr Ar", "Kr Qx"),
            {},
            "'POSCAR': ASE cannot read it as poscar (unknown name 'Qx'); correct it, or name its `format`",
        ),
        (
            "POSCAR",
            DIRECT.replace("1 2\n", "1 9\n"),
            {},
            "'POSCAR': says 10 atoms, got 3 lines of atoms; complete the file",
        ),
        (
            "POSCAR",
            DIRECT + "Direct\n0 0 0\n0 0 0\n0 0 0\n",
            {},
            "'POSCAR': has velocities in units of the cell (Direct), which ASE takes for Cartesian"
            " ones; remove them, or write them in angstrom/fs",
        ),
        (
            "a.lmp",
            PLAIN_LJ,
            {"units": "real"},
            "style: 'a.lmp' does not say an atom style that is read, got ''; write the atom_style of"
            f" your LAMMPS input ({STYLES})",
        ),
        (
            "a.lmp",
            PLAIN_LJ,
            {"style": "atomic"},
            "units: 'a.lmp' does not say its units, got none; write the `units` of your LAMMPS input"
            f" ({SYSTEMS})",
        ),
        (
            "a.lmp",
            PLAIN_LJ,
            {"style": "full", "units": "real"},
            "'a.lmp': ASE cannot read it as lammps (Style \"full\" not supported or invalid. Number of"
            " fields: 5); correct it, or name its `format`",
        ),
        (
            "a.lmp",
            PLAIN_LJ.replace("Atoms", "Atoms # sphere"),
            {"units": "real"},
            "style: 'a.lmp' does not say an atom style that is read, got 'sphere'; write the"
            f" atom_style of your LAMMPS input ({STYLES})",
        ),
        (
            "a.lmp",
            FULL,
            {"style": "charge"},
            "style: 'a.lmp' says 'full' itself, got 'charge'; leave `style` out, or correct one of them",
        ),
        (
            "a.lmp",
            FULL,
            {"units": "metal"},
            "units: 'a.lmp' says 'real' itself, got 'metal'; leave `units` out, or correct one of them",
        ),
        (
            "a.lmp",
            FULL,
            {"cells": [2, 1, 1]},
            "cells: 'a.lmp' has bonds, which are not repeated, got [2, 1, 1]; leave it out",
        ),
        (
            "a.lmp",
            CHARGE,
            {"style": "charge", "units": "cgs"},
            "units: charges in LAMMPS's 'cgs' have no unit that is read, got some in 'a.lmp'; write"
            " the file in metal, real or si units",
        ),
        (
            "a.lmp",
            PLAIN_LJ.replace("2 1 1 1 1", "1 1 1 1 1"),
            {"style": "atomic", "units": "real"},
            "'a.lmp': each atom must have an id of its own, got 1 twice; correct it",
        ),
        (
            "a.lmp",
            PLAIN_LJ.replace("2 1 1 1 1", "2 3 1 1 1"),
            {"style": "atomic", "units": "real"},
            "'a.lmp': ASE cannot read it as lammps (unknown name '3'); correct it, or name its `format`",
        ),
        (
            "a.lmp",
            PLAIN_LJ.replace("Masses\n\n1 2.5\n\n", ""),
            {"style": "atomic", "units": "real"},
            "masses: 'a.lmp' has no mass above 0 for type_1, which name no element whose mass is"
            ' known here; write masses = { type_1 = "..." }, or elements in `species`',
        ),
        (
            "a.lmp",
            "units real\nread_data x\n",
            {},
            "'a.lmp': must be a LAMMPS data file, got no section Atoms; write it with write_data",
        ),
        (
            "a.gro",
            LIGAND,
            {},
            "species: 'a.gro' has 2 names of atoms that show no element or several, got CD1, CA;"
            ' write species = { "CD1" = "...", "CA" = "..." }',
        ),
        (
            "a.gro",
            GRO.replace("    4\n", "    9\n"),
            {},
            "'a.gro': line 2 must be the number of atoms, and as many lines and a box must follow,"
            " got '9'; complete the file",
        ),
        (
            "a.gro",
            "t\n    1\n    1SOL     OW    1   0.23000   0.62800   0.11300\n 1 1 1\n",
            {},
            "'a.gro': needs positions with three decimals, as ASE reads it, got '    1SOL     OW    1"
            "   0.23000   0.62800   0.11300'; write it again: gmx editconf -ndec 3",
        ),
        (
            "a.pdb",
            "HEADER\nEND\n",
            {},
            "'a.pdb': has no ATOM or HETATM records, got none; give a PDB file",
        ),
        (
            "a.pdb",
            PDB.replace("ALA A   1", "ALA AA000"),
            {},
            "'a.pdb': the number of a residue must be decimal, got 'A000' (hybrid-36); number"
            " residues from 1 again in each chain",
        ),
        (
            "a.pdb",
            PDB.replace("11.104   6.134", "nowhere  6.134"),
            {"index": 0},
            "'a.pdb': ASE cannot read it as pdb (Invalid or missing coordinate(s)); correct it, or"
            " name its `format`",
        ),
        (
            "a.traj",
            b"PickleTrajectory\x80\x02cposix\nsystem\n",
            {},
            "'a.traj': must be a trajectory of ASE 3.10 or later, got other bytes; older ones are"
            " pickles, which execute code: convert it with `ase convert` where you trust it",
        ),
        (
            "a.gen",
            b"\x00\x01",
            {},
            "'a.gen': must be a text file, got zero bytes; name its `format`, or save it again",
        ),
    ],
)
def test_a_file_that_is_refused(
    tmp_path: Path, name: str, text: str | bytes, keys: dict, message: str
) -> None:
    assert refusal(tmp_path, name, text, **keys) == message


def test_a_file_with_units_in_a_dimensionless_scene(tmp_path: Path) -> None:
    assert refusal(tmp_path, "a.xyz", TWO, NONE) == (
        "file: 'a.xyz' has units (angstrom, u, e), got a dimensionless scene; give [units], or units = \"lj\""
        " to take its numbers as they are"
    )


def test_without_ase_its_line_for_pip_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atoms_state, "find_spec", lambda name: None)
    assert re.fullmatch(
        r"'a\.xyz': needs ASE to be read, got none; pip install .*\[ase\].*", refusal(tmp_path, "a.xyz", TWO)
    )


def test_a_trajectory_cannot_name_objects(tmp_path: Path) -> None:
    """Its JSON may name arrays, atoms and cells; an array of objects is not read from bytes."""
    from ase import Atoms
    from ase.io import write

    write(tmp_path / "b.traj", Atoms("Ar", [[1.0, 2.0, 3.0]]))
    data = (tmp_path / "b.traj").read_bytes()
    assert b'"float64"' in data
    message = refusal(tmp_path, "a.traj", data.replace(b'"float64"', b'"object" '))
    assert message.startswith("'a.traj': ASE cannot read it as traj (")


@pytest.mark.parametrize(
    ("name", "residue", "element"),
    [
        ("OW", "SOL", "O"), ("HW1", "SOL", "H"), ("1HB2", "ALA", "H"), ("CA", "ALA", "C"),
        ("CD1", "LEU", "C"),
        ("HG", "SER", "H"), ("NE2", "HIS", "N"), ("SD", "MET", "S"), ("CA", "CA", "Ca"), ("NA", "NA", "Na"),
        ("CL", "CL", "Cl"), ("Na+", "NA", "Na"), ("ZN", "ZN", "Zn"), ("K", "K", "K"), ("C1", "LIG", "C"),
        ("Cl1", "LIG", "Cl"), ("CL1", "LIG", None), ("HO", "LIG", None), ("SOD", "SOD", None),
        ("MW", "SOL", None),
        ("", "", None), ("O5'", "DA", "O"),
    ],
)  # fmt: skip
def test_the_element_of_a_name(name: str, residue: str, element: str | None) -> None:
    from ase.data import chemical_symbols

    assert element_of_name(name, residue, set(chemical_symbols[1:])) == element


def test_what_is_left_out_is_said_by_name(tmp_path: Path) -> None:
    """Results, information, tags, texts, columns without a name, constraints, another cell."""
    text = (
        '2\nLattice="5 0 0 0 5 0 0 0 5" pbc="F F F" stress="1 0 0 0 1 0 0 0 1" step=3 name=run'
        " Properties=species:S:1:pos:R:3:forces:R:3:tags:I:1:kind:S:1:move_mask:L:3:x:R:1:w:R:1\n"
        "Ar 0 0 0 1 1 1 1 a T F T 0.5 0.5 9\nAr 1 1 1 1 1 1 2 b T T T 0.5 0.25 9\n"
    )
    (tmp_path / "a.xyz").write_text(text)
    context = StateContext(UNITS, 0, tmp_path)
    state = AtomFile(file="a.xyz").make(context)
    np.testing.assert_array_equal(state.fields["w"], [0.5, 0.25])
    assert "box" not in state.fields
    assert [one.removeprefix("'a.xyz': ") for one in context.remarks] == [
        "its 1 columns beyond those of Properties are not taken; name them by Properties=... in its"
        " second line",
        "its tags are not taken",
        "its texts 'kind' are not taken",
        "its results forces, stress are not taken",
        "its 2 constraints FixCartesian are not taken",
        "its information step, name is not taken",
        "its cell is not taken: it repeats along no axis",
        "its column 'x' is not taken: a field has this name; rename it",
        "its columns w are fields of plain numbers; `columns` gives them units",
    ]
