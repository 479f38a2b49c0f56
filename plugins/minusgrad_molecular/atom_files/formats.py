"""Formats of files of atoms, by the names that scenes call them, and the units of their numbers.

    name       ASE's reader       endings, or the beginning of the name
    xyz        extxyz             .xyz .extxyz
    cif        cif                .cif
    poscar     vasp               .poscar .vasp POSCAR CONTCAR
    xdatcar    vasp-xdatcar       XDATCAR
    lammps     lammps-data        .lmp .lammps .data
    gro        gromacs            .gro
    pdb        proteindatabank    .pdb .ent
    traj       traj               .traj
    xsf        xsf                .xsf
    gen        gen                .gen

Each is one file whose reader opens no other one and executes nothing. Lengths are in angstrom, masses in u,
charges in e, velocities in angstrom/fs as ASE converts them; LAMMPS data files have those of a `units`
command of LAMMPS (its manual, `units`). The numbers of units "lj" stand as they are.
"""

from dataclasses import dataclass
from pathlib import PurePath

from minusgrad.plugin import UserError, choices, printable


@dataclass(frozen=True)
class AtomFormat:
    """A format: the name of ASE's reader, endings and beginnings of names, and whether it has many images."""

    ase: str
    endings: tuple[str, ...] = ()
    beginnings: tuple[str, ...] = ()
    several: bool = False


FORMATS = {
    "xyz": AtomFormat("extxyz", (".xyz", ".extxyz"), several=True),
    "cif": AtomFormat("cif", (".cif",), several=True),
    "poscar": AtomFormat("vasp", (".poscar", ".vasp"), ("POSCAR", "CONTCAR")),
    "xdatcar": AtomFormat("vasp-xdatcar", (), ("XDATCAR",), several=True),
    "lammps": AtomFormat("lammps-data", (".lmp", ".lammps", ".data")),
    "gro": AtomFormat("gromacs", (".gro",), several=True),
    "pdb": AtomFormat("proteindatabank", (".pdb", ".ent"), several=True),
    "traj": AtomFormat("traj", (".traj",), several=True),
    "xsf": AtomFormat("xsf", (".xsf",), several=True),
    "gen": AtomFormat("gen", (".gen",)),
}
"""By the name in a scene."""


@dataclass(frozen=True)
class FileUnits:
    """The units of a file's numbers: of masses, lengths, velocities and charges."""

    mass: str = "u"
    length: str = "angstrom"
    velocity: str = "angstrom fs^-1"
    charge: str = "e"


AS_IT_STANDS = "lj"
"""The units of numbers that have none, for dimensionless scenes."""
STYLES = ("atomic", "charge", "bond", "angle", "molecular", "full")
"""LAMMPS's atom styles that ASE reads."""
LAMMPS_UNITS = {
    "real": FileUnits(),
    "metal": FileUnits(velocity="angstrom ps^-1"),
    "si": FileUnits("kg", "m", "m s^-1", "C"),
    "cgs": FileUnits("g", "cm", "cm s^-1", ""),
    "electron": FileUnits("u", "bohr", "", "e"),
    "micro": FileUnits("pg", "µm", "µm µs^-1", "pC"),
    "nano": FileUnits("ag", "nm", "nm ns^-1", "e"),
}
"""By LAMMPS's name; "" for units that have no symbol here, whose numbers are refused."""


def format_of(file: str, given: str | None) -> str:
    """The name of the format of a file: as given, else by its name. Raises `UserError` for none."""
    if given is not None:
        return given
    name = PurePath(file).name
    for known, one in FORMATS.items():
        if name.lower().endswith(one.endings) or name.upper().startswith(one.beginnings or ("\0",)):
            return known
    raise UserError(
        f"'{printable(file)}': its name shows no format of atoms that is read{choices('', FORMATS)}; give"
        " `format`, or convert it: ase convert FILE FILE.extxyz"
    )
