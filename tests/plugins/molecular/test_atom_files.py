"""Files of other programs: small ones written by hand, with the numbers that they say."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad.assembly.contexts import StateContext
from minusgrad.plugin import State, UnitSystem
from minusgrad_molecular.atom_files.state import AtomFile

ase = pytest.importorskip("ase")
pytestmark = pytest.mark.unit

UNITS = UnitSystem.of("angstrom", "u", "fs")
NONE = UnitSystem.dimensionless()
AR, KR, OXYGEN, H, NA, CL = 39.948, 83.798, 15.999, 1.008, 22.98976928, 35.45


def made(folder: Path, name: str, text: str | bytes, system: UnitSystem = UNITS, **keys: Any) -> State:
    state, _ = told(folder, name, text, system, **keys)
    return state


def told(
    folder: Path, name: str, text: str | bytes, system: UnitSystem = UNITS, **keys: Any
) -> tuple[State, list[str]]:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    context = StateContext(system, 5, folder)
    return AtomFile(file=name, **keys).make(context), context.remarks


def nodes(state: State) -> dict[str, list[int]]:
    return {body.name: body.nodes.tolist() for body in state.bodies}


def is_close(state: State, **fields: Any) -> None:
    for name, values in fields.items():
        np.testing.assert_allclose(state.fields[name], values, rtol=1e-12, atol=1e-12, err_msg=name)


PROPERTIES = "species:S:1:pos:R:3:velo:R:3:charge:R:1:site-kind:I:1"
SLAB = f"""2
Lattice="5 0 0 1 6 0 0 0 20" Properties={PROPERTIES} pbc="T T F" energy=-3.5
Ar 0.5 0 1 0.25 0 -1 0.5 7
Kr 1.5 2 3 0 0 0.125 -0.25 8
"""
PLAIN = "3\nwater, energy = 3\nO 0 0 0\nH 0.96 0 0\nH -0.24 0.93 0\n"
TWO = "1\nfirst\nAr 1 2 3\n1\nsecond\nAr 4 5 6\n"
SALT = """data_salt
_cell_length_a 5.64
_cell_length_b 5.64
_cell_length_c 5.64
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_space_group_name_H-M 'F m -3 m'
_symmetry_Int_Tables_number 225
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_occupancy
Na1 Na 0 0 0 1
Cl1 Cl 0.5 0.5 0.5 1
"""
SKEWED = """data_one
_cell_length_a 4
_cell_length_b 5
_cell_length_c 6
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 60
loop_
_atom_site_label
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
Ar 0 0.5 0.5
"""
DIRECT = "ice\n2.0\n2 0 0\n0 2.5 0\n0 0 3\nKr Ar\n1 2\nDirect\n0 0 0\n.5 .5 .5\n.25 0 1.5\n"
FIXED = (
    "x\n-60\n1 0 0\n0 1 0\n0 0 7.5\nAr Kr\n1 1\nSelective dynamics\nCartesian\n0 0 0 F F F\n.5 .25 1 T T T\n"
)
CONTCAR = "x\n1\n4 0 0\n0 4 0\n0 0 4\nAr\n2\nDirect\n0 0 0\n.5 .5 .5\n\n0.01 0 -0.5\n0 0.02 0\n"
VASP4 = "ice\n1\n4 0 0\n0 5 0\n0 0 6\n1 2\nDirect\n0 0 0\n.5 .5 .5\n.25 0 0\n"
XDATCAR = """a
1
4 0 0
0 5 0
0 0 6
Ar Kr
1 1
Direct configuration= 1
0 0 0
.5 .5 .5
Direct configuration= 2
.25 0 0
.5 .5 .75
"""
FULL = """LAMMPS data file via write_data, version 2 Aug 2023, timestep = 0, units = real

3 atoms
2 atom types
2 bonds
2 bond types
1 angles
1 angle types

-1 9 xlo xhi
0 12 ylo yhi
0 14 zlo zhi

Masses

1 15.9994
2 1.008

Pair Coeffs # lj/cut

1 0.16 3.12

Atoms # full

3 1 2 0.41 1.0 3.0 2.0 0 0 0
1 1 1 -0.82 1.0 2.0 2.0 0 1 0
2 1 2 0.41 2.0 2.0 2.0 0 0 -1

Velocities

1 0.001 0 0
2 0 0.002 0
3 0 0 -0.003

Bonds

1 1 1 2
2 2 1 3

Angles

1 1 2 1 3
"""
CHARGE = """made by hand

2 atoms
2 atom types
0 4 xlo xhi
0 5 ylo yhi
0 6 zlo zhi
1 0.5 -0.25 xy xz yz

Masses

1 22.98976928
2 35.45

Atoms

1 1 1.0 0 0 0
2 2 -1.0 2 2 2

Velocities

2 1 0 0
1 0 0 -2.5
"""
PLAIN_LJ = """x

2 atoms
1 atom types
0 4 xlo xhi
0 4 ylo yhi
0 4 zlo zhi

Masses

1 2.5

Atoms

1 1 0 0 0
2 1 1 1 1
"""
LABELS = PLAIN_LJ.replace("\nMasses", "\nAtom Type Labels\n\n1 Ar\n\nMasses").replace("2.5", "39.948")
GRO = """Water and an ion, t= 2.0
    4
    1SOL     OW    1   0.230   0.628   0.113  0.1000  0.0000 -0.2500
    1SOL    HW1    2   0.137   0.626   0.150  0.0000  0.0000  0.0000
    1SOL    HW2    3   0.231   0.589   0.021  0.0000  0.0000  0.0000
    2NA      NA    4   1.000   1.000   1.000  0.0000  0.5000  0.0000
   2.00000   3.00000   4.00000   0.00000   0.00000   0.50000   0.00000   0.25000   0.75000
"""
PDB = """CRYST1   20.000   30.000   40.000  90.00  90.00  90.00 P 1           1
MODEL        1
ATOM      1  N   ALA A   1      11.104   6.134  -6.504  1.00  1.50           N
ATOM      2  CA  ALA A   1      12.000   7.000  -7.000  1.00  2.00           C
HETATM    3 CA    CA A   2       1.000   2.000   3.000  1.00  0.00          CA
ENDMDL
MODEL        2
ATOM      1  N   ALA A   1      21.104   6.134  -6.504  1.00  1.50           N
ATOM      2  CA  ALA A   1      22.000   7.000  -7.000  1.00  2.00           C
HETATM    3 CA    CA A   2       4.000   5.000   6.000  1.00  0.00          CA
ENDMDL
END
"""
LOCATIONS = """ATOM      1  CA AALA A   1      12.000   7.000  -7.000  0.60  0.00
ATOM      2  CA BALA A   1      13.000   7.000  -7.000  0.40  0.00
ATOM      3  OXT ALA A   1      14.000   7.000  -7.000  1.00  0.00
"""
XSF = "SLAB\nPRIMVEC\n4 0 0\n0 5 0\n0 0 30\nPRIMCOORD\n2 1\n18 0 0 0\n36 1 2 3\n"
GEN = "2 F\nAr Kr\n1 1 0 0 0\n2 2 0.5 0.5 0.25\n0 0 0\n4 0 0\n0 5 0\n0 0 8\n"


def test_a_plain_xyz_file(tmp_path: Path) -> None:
    state, remarks = told(tmp_path, "a.xyz", PLAIN)
    is_close(state, x=[[0, 0, 0], [0.96, 0, 0], [-0.24, 0.93, 0]], v=np.zeros((3, 3)), m=[OXYGEN, H, H])
    is_close(state, species=[0, 1, 1])
    assert nodes(state) == {"O": [0], "H": [1, 2]}
    assert "box" not in state.fields
    assert "charge" not in state.fields
    assert remarks == []


def test_a_slab_with_charges_velocities_and_a_column(tmp_path: Path) -> None:
    state, remarks = told(tmp_path, "a.xyz", SLAB, columns={"velo": "angstrom ps^-1"}, cells=[2, 1, 1])
    is_close(
        state,
        x=[[0.5, 0, 1], [1.5, 2, 3], [5.5, 0, 1], [6.5, 2, 3]],
        v=np.tile([[0.25e-3, 0, -1e-3], [0, 0, 0.125e-3]], (2, 1)),
        m=[AR, KR, AR, KR],
        site_kind=[7, 8, 7, 8],
        box=[[[10, 0, 0], [1, 6, 0], [0, 0, 20]]],
    )
    e = UNITS.convert("1 e", "C")
    is_close(state, charge=np.array([0.5, -0.25, 0.5, -0.25]) * e)
    assert state.periodic == (True, True, False)
    assert state.units["charge"] == "C"
    assert nodes(state) == {"Ar": [0, 2], "Kr": [1, 3]}
    assert remarks == ["'a.xyz': its results energy are not taken"]


def test_units_are_those_of_the_run(tmp_path: Path) -> None:
    """In SI, by constants written here: CODATA 2022."""
    state = made(tmp_path, "a.xyz", SLAB, UnitSystem.si(), columns={"velo": "angstrom fs^-1"})
    np.testing.assert_allclose(state.fields["x"][1], [1.5e-10, 2e-10, 3e-10], rtol=1e-14)
    np.testing.assert_allclose(state.fields["v"][0], [2.5e4, 0, -1e5], rtol=1e-14)
    np.testing.assert_allclose(state.fields["m"], np.array([AR, KR]) * 1.66053906892e-27, rtol=1e-14)
    np.testing.assert_allclose(state.fields["charge"], np.array([0.5, -0.25]) * 1.602176634e-19, rtol=1e-14)
    np.testing.assert_allclose(state.fields["box"][0, 1], [1e-10, 6e-10, 0], rtol=1e-14)


def test_momenta_as_ase_writes_them(tmp_path: Path) -> None:
    """p [u angstrom / (angstrom sqrt(u / eV))]: 1 is the velocity sqrt(eV / u) of 1 u."""
    text = "1\nProperties=species:S:1:pos:R:3:masses:R:1:momenta:R:3\nAr 1 2 3 2.0 0.5 0 -4\n"
    state = made(tmp_path, "a.extxyz", text)
    one = (1.602176634e-19 / 1.66053906892e-27) ** 0.5 * 1e-5
    assert state.fields["m"].tolist() == [2.0]
    np.testing.assert_allclose(state.fields["v"], [[0.25 * one, 0.0, -2.0 * one]], rtol=1e-7)


def test_the_image_that_is_chosen(tmp_path: Path) -> None:
    state, remarks = told(tmp_path, "a.xyz", TWO)
    assert state.fields["x"].tolist() == [[4, 5, 6]]
    assert remarks == ["'a.xyz': has 2 images, of which the last one is read; see `index`"]
    assert told(tmp_path, "a.xyz", TWO, index=0)[1] == []
    assert made(tmp_path, "a.xyz", TWO, index=0).fields["x"].tolist() == [[1, 2, 3]]
    assert made(tmp_path, "a.xyz", TWO, index=-2).fields["x"].tolist() == [[1, 2, 3]]


def test_beads_that_are_no_elements(tmp_path: Path) -> None:
    text = "3\nbeads\nP 0 0 0\nQda 1 0 0\nQda 2 0 0\n"
    state = made(
        tmp_path, "a.xyz", text, masses={"Qda": "72 u", "P": "45 u"}, charges={"P": 0.0, "Qda": "1 e"}
    )
    assert state.fields["m"].tolist() == [45, 72, 72]
    assert nodes(state) == {"P": [0], "Qda": [1, 2]}
    is_close(state, charge=np.array([0, 1, 1]) * UNITS.convert("1 e", "C"))
    named = made(tmp_path, "a.xyz", text, species={"Qda": "Kr", "P": "Ar"})
    is_close(named, m=[AR, KR, KR])


def test_plain_numbers_of_a_dimensionless_scene(tmp_path: Path) -> None:
    state = made(tmp_path, "a.xyz", TWO, NONE, units="lj", masses={"Ar": 1.5}, index=0, temperature=0.0)
    assert state.fields["x"].tolist() == [[1, 2, 3]]
    assert state.fields["m"].tolist() == [1.5]


def test_vectors_in_a_plain_xyz_file(tmp_path: Path) -> None:
    state = made(tmp_path, "a.xyz", "1\n\nAr 1 2 3\nVEC1 4 0 0\nVEC2 0 5 0\n")
    assert state.periodic == (True, True, False)
    assert state.fields["box"][0, :2].tolist() == [[4, 0, 0], [0, 5, 0]]
    np.testing.assert_allclose(np.abs(state.fields["box"][0, 2]), [0, 0, 1], atol=1e-15)


def test_a_crystal_of_its_symmetry(tmp_path: Path) -> None:
    state, remarks = told(tmp_path, "salt.cif", SALT)
    h = 5.64 / 2
    faces = np.array([[0, 0, 0], [0, h, h], [h, 0, h], [h, h, 0]])
    assert len(state.fields["x"]) == 8
    for name, places, mass in (("Na", faces, NA), ("Cl", (faces + h) % 5.64, CL)):
        x = state.fields["x"][nodes(state)[name]]
        assert sorted(x.round(9).tolist()) == sorted(places.round(9).tolist())
        assert set(state.fields["m"][nodes(state)[name]]) == {mass}
    is_close(state, box=[5.64 * np.eye(3)])
    assert remarks == []


def test_a_skewed_cell_of_a_cif_file(tmp_path: Path) -> None:
    state = made(tmp_path, "a.cif", SKEWED)
    b = [5 * 0.5, 5 * 3**0.5 / 2, 0]
    is_close(state, box=[[[4, 0, 0], b, [0, 0, 6]]], x=[[b[0] / 2, b[1] / 2, 3]])


def test_a_poscar_file(tmp_path: Path) -> None:
    state = made(tmp_path, "POSCAR", DIRECT)
    is_close(state, box=[np.diag([4, 5, 6])], x=[[0, 0, 0], [2, 2.5, 3], [1, 0, 9]], m=[KR, AR, AR])
    assert nodes(state) == {"Kr": [0], "Ar": [1, 2]}


def test_a_poscar_file_of_a_volume_with_fixed_atoms(tmp_path: Path) -> None:
    state, remarks = told(tmp_path, "slab.vasp", FIXED)
    is_close(state, box=[np.diag([2, 2, 15])], x=[[0, 0, 0], [1, 0.5, 2]])
    assert nodes(state)["fixed"] == [0]
    assert remarks == ["'slab.vasp': its 1 fixed atoms are the body 'fixed'; [[hold]] holds them"]


def test_velocities_of_a_contcar_file(tmp_path: Path) -> None:
    state = made(tmp_path, "CONTCAR", CONTCAR)
    np.testing.assert_allclose(state.fields["v"], [[0.01, 0, -0.5], [0, 0.02, 0]], rtol=1e-12)


def test_a_file_of_vasp_4_with_its_species(tmp_path: Path) -> None:
    state = made(tmp_path, "POSCAR", VASP4, species={"1": "Kr", "2": "Ar"})
    is_close(state, m=[KR, AR, AR], x=[[0, 0, 0], [2, 2.5, 3], [1, 0, 0]])


def test_an_xdatcar_file(tmp_path: Path) -> None:
    is_close(made(tmp_path, "XDATCAR", XDATCAR), x=[[1, 0, 0], [2, 2.5, 4.5]], m=[AR, KR])
    is_close(made(tmp_path, "XDATCAR", XDATCAR, index=0), x=[[0, 0, 0], [2, 2.5, 3]])


def test_lammps_data_of_style_full_in_real_units(tmp_path: Path) -> None:
    """Atoms by their ids, in the images that the flags say; lists of all bonds, and of each type."""
    state, remarks = told(tmp_path, "water.data", FULL, species={"1": "O", "2": "H"})
    is_close(
        state,
        x=[[1, 14, 2], [2, 2, -12], [1, 3, 2]],
        v=[[0.001, 0, 0], [0, 0.002, 0], [0, 0, -0.003]],
        m=[15.9994, 1.008, 1.008],
        box=[np.diag([10, 12, 14])],
        mol_id=[1, 1, 1],
        charge=np.array([-0.82, 0.41, 0.41]) * UNITS.convert("1 e", "C"),
    )
    assert nodes(state) == {"O": [0], "H": [1, 2]}
    assert {name: rows.tolist() for name, rows in state.tuples.items()} == {
        "bonds": [[0, 1], [0, 2]],
        "bonds_1": [[0, 1]],
        "bonds_2": [[0, 2]],
        "angles": [[1, 0, 2]],
    }
    assert remarks == ["'water.data': its sections Pair Coeffs are not taken"]


def test_skewed_lammps_data_of_style_charge_in_metal_units(tmp_path: Path) -> None:
    state = made(tmp_path, "salt.lmp", CHARGE, style="charge", units="metal")
    is_close(
        state,
        x=[[0, 0, 0], [2, 2, 2]],
        v=[[0, 0, -2.5e-3], [1e-3, 0, 0]],
        box=[[[4, 0, 0], [1, 5, 0], [0.5, -0.25, 6]]],
        m=[NA, CL],
        charge=np.array([1, -1]) * UNITS.convert("1 e", "C"),
    )
    assert nodes(state) == {"type_1": [0], "type_2": [1]}


def test_lammps_data_in_si_units(tmp_path: Path) -> None:
    state = made(tmp_path, "a.lmp", CHARGE, UnitSystem.si(), style="charge", units="si")
    is_close(
        state,
        v=[[0, 0, -2.5], [1, 0, 0]],
        m=[NA, CL],
        charge=[1, -1],
        box=[[[4, 0, 0], [1, 5, 0], [0.5, -0.25, 6]]],
    )


def test_lammps_data_of_plain_numbers(tmp_path: Path) -> None:
    state = made(tmp_path, "a.lmp", PLAIN_LJ, NONE, style="atomic", units="lj")
    is_close(state, m=[2.5, 2.5], x=[[0, 0, 0], [1, 1, 1]], box=[4 * np.eye(3)])


def test_labels_of_types_are_species(tmp_path: Path) -> None:
    state = made(tmp_path, "a.lmp", LABELS, style="atomic", units="real")
    assert nodes(state) == {"Ar": [0, 1]}
    bare = LABELS.replace("\nMasses\n\n1 39.948\n", "")
    is_close(made(tmp_path, "a.lmp", bare, style="atomic", units="real"), m=[AR, AR])


def test_a_gro_file(tmp_path: Path) -> None:
    """nm and nm/ps; the box is v1(x) v2(y) v3(z) v1(y) v1(z) v2(x) v2(z) v3(x) v3(y)."""
    state, remarks = told(tmp_path, "a.gro", GRO)
    is_close(
        state,
        x=[[2.3, 6.28, 1.13], [1.37, 6.26, 1.5], [2.31, 5.89, 0.21], [10, 10, 10]],
        v=[[1e-3, 0, -2.5e-3], [0, 0, 0], [0, 0, 0], [0, 5e-3, 0]],
        box=[[[20, 0, 0], [5, 30, 0], [2.5, 7.5, 40]]],
        m=[OXYGEN, H, H, NA],
    )
    assert nodes(state) == {
        "O": [0],
        "H": [1, 2],
        "Na": [3],
        "SOL": [0, 1, 2],
        "NA": [3],
        "OW": [0],
        "HW1": [1],
        "HW2": [2],
    }
    assert remarks == []


def test_frames_of_a_gro_file(tmp_path: Path) -> None:
    two = GRO + GRO.replace("0.230   0.628   0.113", "0.500   0.500   0.500")
    assert made(tmp_path, "a.gro", two, index=0).fields["x"][0] == pytest.approx([2.3, 6.28, 1.13])
    assert made(tmp_path, "a.gro", two).fields["x"][0] == pytest.approx([5, 5, 5])


def test_models_of_a_pdb_file_have_its_cell(tmp_path: Path) -> None:
    state = made(tmp_path, "a.pdb", PDB)
    is_close(
        state,
        x=[[21.104, 6.134, -6.504], [22, 7, -7], [4, 5, 6]],
        box=[np.diag([20, 30, 40])],
        m=[14.007, 12.011, 40.078],
        bfactor=[1.5, 2.0, 0.0],
    )
    assert nodes(state) == {"N": [0], "C": [1], "Ca": [2], "ALA": [0, 1], "CA": [2]}
    assert made(tmp_path, "a.pdb", PDB, index=0).fields["x"][2].tolist() == [1, 2, 3]


def test_the_first_location_of_an_atom_of_a_pdb_file(tmp_path: Path) -> None:
    state, remarks = told(tmp_path, "a.pdb", LOCATIONS)
    is_close(state, x=[[12, 7, -7], [14, 7, -7]], m=[12.011, OXYGEN])
    assert remarks == [
        "'a.pdb': has 1 atoms at other locations, which are left out",
        "'a.pdb': has occupancies below 1; each of these atoms is taken as one atom",
    ]


def test_a_trajectory_of_ase(tmp_path: Path) -> None:
    from ase import Atoms
    from ase.io import write
    from ase.units import fs

    first = Atoms("ArKr", [[0, 0, 0], [1, 2, 3]], cell=[4, 5, 6], pbc=[True, False, True], charges=[1, -1])
    second = first.copy()
    second.set_velocities(np.array([[0.5, 0, 0], [0, -0.25, 0]]) / fs)
    second.set_initial_magnetic_moments([1.0, 0.0])
    write(tmp_path / "b.traj", [first, second])
    state, remarks = told(tmp_path, "a.traj", (tmp_path / "b.traj").read_bytes())
    is_close(state, x=[[0, 0, 0], [1, 2, 3]], v=[[0.5, 0, 0], [0, -0.25, 0]], box=[np.diag([4, 5, 6])])
    assert state.periodic == (True, False, True)
    assert remarks[0] == "'a.traj': its magnetic moments are not taken"
    assert (
        made(tmp_path, "a.traj", (tmp_path / "b.traj").read_bytes(), index=0).fields["v"].tolist()
        == [[0] * 3] * 2
    )


def test_files_of_xcrysden_and_dftb(tmp_path: Path) -> None:
    slab = made(tmp_path, "a.xsf", XSF)
    is_close(slab, x=[[0, 0, 0], [1, 2, 3]], box=[np.diag([4, 5, 30])], m=[AR, KR])
    assert slab.periodic == (True, True, False)
    is_close(made(tmp_path, "a.gen", GEN), x=[[0, 0, 0], [2, 2.5, 2]], box=[np.diag([4, 5, 8])], m=[AR, KR])


def test_velocities_of_a_temperature(tmp_path: Path) -> None:
    state, remarks = told(tmp_path, "a.xyz", SLAB, temperature="300 K", cells=[10, 10, 1])
    v, m = state.fields["v"], state.fields["m"]
    assert np.abs(m @ v).max() < 1e-10
    found = (m @ v**2).sum() / (3 * len(m) - 3) / (1.380649e-23 / 1.66053906892e-27 * 1e-10)
    assert abs(found - 300.0) < 4.0 * 300.0 * (2.0 / (3 * len(m))) ** 0.5
    assert "'a.xyz': its velocities are not taken, but those of `temperature`" in remarks
