"""Two molecules of hydrogen peroxide in the files of AMBER, GROMACS, CHARMM and OpenMM, written by hand.

One force field in the units of each program, so that all have one energy:

    bonds       k_b (r - r_0)^2: O-H 553, 0.96; O-O 350, 1.46           kcal/mol/A^2, A
    angles      50 (theta - 100 degrees)^2                              kcal/mol/rad^2
    torsion     1.5 (1 + cos(2 phi - 180 degrees))                      kcal/mol
    pairs       O: eps 0.15, Rmin/2 1.7; H: eps 0.02, Rmin/2 0.6        kcal/mol, A; arithmetic, geometric
    charges     O -0.4, H 0.4
    1-4 pairs   Lennard-Jones halved; charges divided by 1.2
"""

from math import sqrt
from pathlib import Path

KCAL = 4.184
PLACES = [
    (0.00, 0.93, 0.55), (0.05, 0.00, 0.72), (1.10, -0.10, 1.74), (1.00, -1.00, 2.02),
    (4.10, 0.30, 0.10), (4.02, 1.20, 0.42), (2.90, 1.10, 1.33), (3.20, 1.90, 1.95),
]  # fmt: skip
"""[angstrom] of H1 O1 O2 H2, twice."""
VELOCITIES = [(0.01 * k, -0.02 * k + 0.05, 0.03) for k in range(8)]
"""[angstrom/ps]"""
BOX = (21.0, 22.0, 23.0)
"""[angstrom]"""
KINDS = "HOOHHOOH"
NAMES = ("H1", "O1", "O2", "H2") * 2
EPSILON, RADIUS = {"O": 0.15, "H": 0.02}, {"O": 1.7, "H": 0.6}


def _section(name: str, form: str, items: list) -> str:
    width, per = (8, 10) if form == "10I8" else (16, 5) if form == "5E16.8" else (4, 20)
    texts = [f"{one:<4}" if width == 4 else f"{one:>8d}" if width == 8 else f"{one:16.8E}" for one in items]
    lines = ["".join(texts[k : k + per]) for k in range(0, len(texts), per)] or [""]
    return "\n".join([f"%FLAG {name}", f"%FORMAT({form})", *lines]) + "\n"


def prmtop(boxed: bool = True) -> str:
    """AMBER: types 1 (H) and 2 (O)."""
    pairs = [("H", "H"), ("H", "O"), ("O", "O")]
    wells = [(sqrt(EPSILON[a] * EPSILON[b]), RADIUS[a] + RADIUS[b]) for a, b in pairs]
    hydrogen = [3 * k for k in (0, 1, 2, 3, 4, 5, 6, 7)]
    h1, o1, o2, h2, g1, p1, p2, g2 = hydrogen
    pointers = [
        8,
        2,
        4,
        2,
        4,
        0,
        2,
        0,
        0,
        0,
        14,
        2,
        2,
        0,
        0,
        2,
        1,
        1,
        2,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        int(boxed),
        4,
        0,
        0,
    ]
    text = "%VERSION  VERSION_STAMP = V0001.000  DATE = 01/01/26  00:00:00\n"
    for name, form, items in [
        ("TITLE", "20a4", ["HOOH"]), ("POINTERS", "10I8", pointers), ("ATOM_NAME", "20a4", list(NAMES)),
        ("CHARGE", "5E16.8", [18.2223 * (0.4 if one == "H" else -0.4) for one in KINDS]),
        ("ATOMIC_NUMBER", "10I8", [1 if one == "H" else 8 for one in KINDS]),
        ("MASS", "5E16.8", [1.008 if one == "H" else 15.999 for one in KINDS]),
        ("ATOM_TYPE_INDEX", "10I8", [1 if one == "H" else 2 for one in KINDS]),
        ("NUMBER_EXCLUDED_ATOMS", "10I8", [3, 2, 1, 1, 3, 2, 1, 1]),
        ("NONBONDED_PARM_INDEX", "10I8", [1, 2, 2, 3]), ("RESIDUE_LABEL", "20a4", ["HPO", "HPO"]),
        ("RESIDUE_POINTER", "10I8", [1, 5]), ("BOND_FORCE_CONSTANT", "5E16.8", [553.0, 350.0]),
        ("BOND_EQUIL_VALUE", "5E16.8", [0.96, 1.46]), ("ANGLE_FORCE_CONSTANT", "5E16.8", [50.0]),
        ("ANGLE_EQUIL_VALUE", "5E16.8", [1.7453292519943295]), ("DIHEDRAL_FORCE_CONSTANT", "5E16.8", [1.5]),
        ("DIHEDRAL_PERIODICITY", "5E16.8", [2.0]), ("DIHEDRAL_PHASE", "5E16.8", [3.141592653589793]),
        ("SCEE_SCALE_FACTOR", "5E16.8", [1.2]), ("SCNB_SCALE_FACTOR", "5E16.8", [2.0]),
        ("SOLTY", "5E16.8", [0.0, 0.0]),
        ("LENNARD_JONES_ACOEF", "5E16.8", [e * r**12 for e, r in wells]),
        ("LENNARD_JONES_BCOEF", "5E16.8", [2.0 * e * r**6 for e, r in wells]),
        ("BONDS_INC_HYDROGEN", "10I8", [h1, o1, 1, o2, h2, 1, g1, p1, 1, p2, g2, 1]),
        ("BONDS_WITHOUT_HYDROGEN", "10I8", [o1, o2, 2, p1, p2, 2]),
        ("ANGLES_INC_HYDROGEN", "10I8", [h1, o1, o2, 1, o1, o2, h2, 1, g1, p1, p2, 1, p1, p2, g2, 1]),
        ("ANGLES_WITHOUT_HYDROGEN", "10I8", []),
        ("DIHEDRALS_INC_HYDROGEN", "10I8", [h1, o1, o2, h2, 1, g1, p1, p2, g2, 1]),
        ("DIHEDRALS_WITHOUT_HYDROGEN", "10I8", []),
        ("EXCLUDED_ATOMS_LIST", "10I8", [2, 3, 4, 3, 4, 4, 0, 6, 7, 8, 7, 8, 8, 0]),
        ("HBOND_ACOEF", "5E16.8", []), ("HBOND_BCOEF", "5E16.8", []),
        ("AMBER_ATOM_TYPE", "20a4", ["HO" if one == "H" else "OH" for one in KINDS]),
        ("SOLVENT_POINTERS", "10I8", [2, 2, 1]), ("ATOMS_PER_MOLECULE", "10I8", [4, 4]),
        ("BOX_DIMENSIONS", "5E16.8", [90.0, 30.0, 30.0, 30.0]), ("RADII", "5E16.8", [1.2] * 8),
        ("SCREEN", "5E16.8", [0.85] * 8),
    ]:  # fmt: skip
        text += _section(name, form, items)
    return text


def inpcrd(velocities: bool = True, box: bool = True) -> str:
    """AMBER: six numbers of 12 columns a line; velocities in angstrom per 1/20.455 ps."""
    rows = [PLACES, [[v / 20.455 for v in row] for row in VELOCITIES]][: 1 + velocities]
    numbers = [[x for row in part for x in row] for part in rows]
    lines = ["".join(f"{x:12.7f}" for x in part[k : k + 6]) for part in numbers for k in range(0, 24, 6)]
    end = ["".join(f"{x:12.7f}" for x in (*BOX, 90.0, 90.0, 90.0))] if box else []
    return "\n".join(["peroxide", "     8", *lines, *end]) + "\n"


def _sigma(kind: str) -> float:
    """[nm]"""
    return 0.2 * RADIUS[kind] / 2.0 ** (1.0 / 6.0)


FORCE_FIELD_ITP = f"""\
[ defaults ]
1 2 yes 0.5 {1 / 1.2!r}
[ atomtypes ]
HO 1 1.008 0.4 A {_sigma("H")!r} {0.02 * KCAL!r}
OH 8 15.999 -0.4 A {_sigma("O")!r} {0.15 * KCAL!r}
[ bondtypes ]
OH HO 1 0.096 {2 * 553 * KCAL * 100!r}
OH OH 1 0.146 {2 * 350 * KCAL * 100!r}
[ angletypes ]
HO OH OH 1 100.0 {2 * 50 * KCAL!r}
[ dihedraltypes ]
HO OH OH HO 1 180.0 {1.5 * KCAL!r} 2
"""
PEROXIDE_ITP = """\
[ moleculetype ]
HPO 3
[ atoms ]
1 HO 1 HPO H1 1 0.4
2 OH 1 HPO O1 1 -0.4
3 OH 1 HPO O2 1 -0.4
4 HO 1 HPO H2 1 0.4
[ bonds ]
1 2 1
2 3 1
3 4 1
[ pairs ]
1 4 1
[ angles ]
1 2 3 1
2 3 4 1
[ dihedrals ]
1 2 3 4 1
"""
TOP = """\
; two molecules
#include "field.ff/forcefield.itp"
#ifdef POSRES
#include "nowhere.itp"
#endif
#include "peroxide.itp"
[ system ]
peroxide
[ molecules ]
HPO 2
"""


def whole_top() -> str:
    """One file with what the others include."""
    lines = [line for line in TOP.splitlines() if not line.startswith("#")]
    return f"{FORCE_FIELD_ITP}{PEROXIDE_ITP}" + "\n".join(lines) + "\n"


def gro(velocities: bool = True) -> str:
    """GROMACS, with four decimals."""
    rows = []
    for k, (x, v) in enumerate(zip(PLACES, VELOCITIES, strict=True)):
        text = f"{k // 4 + 1:>5}HPO  {NAMES[k]:>5}{k + 1:>5}" + "".join(f"{0.1 * a:9.4f}" for a in x)
        rows.append(text + ("".join(f"{0.1 * a:9.5f}" for a in v) if velocities else ""))
    return "\n".join(["peroxide", "8", *rows, "".join(f"{0.1 * a:10.5f}" for a in BOX)]) + "\n"


def psf(kind: str = "") -> str:
    """CHARMM with names of types, as X-PLOR and NAMD write it."""
    atoms = "".join(
        f"{k + 1:>8} PER  {k // 4 + 1:<4} HPO  {NAMES[k]:<4} {'HO' if one == 'H' else 'OH'}"
        f"  {0.4 if one == 'H' else -0.4:10.6f} {1.008 if one == 'H' else 15.999:13.4f}           0\n"
        for k, one in enumerate(KINDS)
    )
    lists = (
        "       6 !NBOND: bonds\n       1       2       2       3       3       4       5       6\n"
        "       6       7       7       8\n\n"
        "       4 !NTHETA: angles\n       1       2       3       2       3       4       5       6       7\n"
        "       6       7       8\n\n"
        "       2 !NPHI: dihedrals\n       1       2       3       4       5       6       7       8\n\n"
        "       0 !NIMPHI: impropers\n\n\n       0 !NDON: donors\n\n\n       0 !NACC: acceptors\n\n\n"
        "       0 !NNB\n\n       0       0       0       0       0       0       0       0\n\n"
        "       2       0 !NGRP NST2\n       0       1       0       4       1       0\n\n"
    )
    return f"PSF{kind}\n\n       1 !NTITLE\n REMARKS peroxide\n\n       8 !NATOM\n{atoms}\n{lists}"


RTF = """\
* peroxide
*
36 1
MASS 1 HO 1.008 H
MASS 2 OH 15.999 O
END
"""
PRM = """\
* peroxide
*
BONDS
OH HO 553.0 0.96
OH OH 350.0 1.46
ANGLES
HO OH OH 50.0 100.0
DIHEDRALS
HO OH OH HO 1.5 2 180.0
NONBONDED nbxmod 5 atom cdiel shift vatom vdistance vswitch -
cutnb 14.0 ctofnb 12.0 ctonnb 10.0 eps 1.0 e14fac 0.83333333333333 wmin 1.5
HO 0.0 -0.02 0.6 0.0 -0.01 0.6
OH 0.0 -0.15 1.7 0.0 -0.075 1.7
END
"""


def crd() -> str:
    """CHARMM coordinates."""
    rows = "".join(
        f"{k + 1:>5}{k // 4 + 1:>5} HPO  {NAMES[k]:<4}{x:10.5f}{y:10.5f}{z:10.5f} PER "
        f" {k // 4 + 1:<4}{0.0:10.5f}\n"
        for k, (x, y, z) in enumerate(PLACES)
    )
    return f"* peroxide\n*\n    8\n{rows}"


FIELD_XML = f"""\
<ForceField>
<AtomTypes><Type name="HO" class="HO" element="H" mass="1.008"/>
<Type name="OH" class="OH" element="O" mass="15.999"/></AtomTypes>
<Residues><Residue name="HPO">
<Atom name="H1" type="HO" charge="0.4"/><Atom name="O1" type="OH" charge="-0.4"/>
<Atom name="O2" type="OH" charge="-0.4"/><Atom name="H2" type="HO" charge="0.4"/>
<Bond atomName1="H1" atomName2="O1"/><Bond atomName1="O1" atomName2="O2"/>
<Bond atomName1="O2" atomName2="H2"/></Residue></Residues>
<HarmonicBondForce><Bond class1="OH" class2="HO" length="0.096" k="{2 * 553 * KCAL * 100!r}"/>
<Bond class1="OH" class2="OH" length="0.146" k="{2 * 350 * KCAL * 100!r}"/></HarmonicBondForce>
<HarmonicAngleForce><Angle class1="HO" class2="OH" class3="OH" angle="1.7453292519943295"
 k="{2 * 50 * KCAL!r}"/></HarmonicAngleForce>
<PeriodicTorsionForce><Proper class1="HO" class2="OH" class3="OH" class4="HO" periodicity1="2"
 phase1="3.141592653589793" k1="{1.5 * KCAL!r}"/></PeriodicTorsionForce>
<NonbondedForce coulomb14scale="{1 / 1.2!r}" lj14scale="0.5"><UseAttributeFromResidue name="charge"/>
<Atom type="HO" sigma="{_sigma("H")!r}" epsilon="{0.02 * KCAL!r}"/>
<Atom type="OH" sigma="{_sigma("O")!r}" epsilon="{0.15 * KCAL!r}"/></NonbondedForce>
</ForceField>
"""


def pdb(box: bool = True) -> str:
    """With the bonds of its residues, which have no template of OpenMM's own."""
    head = "CRYST1{:9.3f}{:9.3f}{:9.3f}  90.00  90.00  90.00 P 1           1\n".format(*BOX) if box else ""
    rows = "".join(
        f"HETATM{k + 1:>5}  {NAMES[k]}  HPO A{k // 4 + 1:>4}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00"
        f"          {KINDS[k]:>2}\n"
        for k, (x, y, z) in enumerate(PLACES)
    )
    bonds = "".join(f"CONECT{k + i + 1:>5}{k + i + 2:>5}\n" for k in (0, 4) for i in range(3))
    return head + rows + bonds + "END\n"


def write_files(folder: Path) -> None:
    """All files: of a name for each kind."""
    (folder / "field.ff").mkdir()
    for name, text in {
        "a.prmtop": prmtop(), "a.inpcrd": inpcrd(), "a.top": TOP, "peroxide.itp": PEROXIDE_ITP,
        "field.ff/forcefield.itp": FORCE_FIELD_ITP, "a.gro": gro(), "a.psf": psf(), "a.rtf": RTF,
        "a.prm": PRM, "a.crd": crd(), "field.xml": FIELD_XML, "a.pdb": pdb(),
    }.items():  # fmt: skip
        (folder / name).write_text(text)


FILES: dict[str, dict] = {  # box [angstrom]
    "amber": {"topology": "a.prmtop", "positions": "a.inpcrd"},
    "gromacs": {"topology": "a.top", "positions": "a.gro"},
    "charmm": {"topology": "a.psf", "positions": "a.crd", "parameters": ("a.rtf", "a.prm"), "box": BOX},
    "openmm": {"force_field": "field.xml", "positions": "a.pdb"},
}
