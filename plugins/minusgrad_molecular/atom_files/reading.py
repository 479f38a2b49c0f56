"""The atoms of a file by ASE, as plain arrays: for the child process of `bounded_read`.

    positions (n, 3), cell (3, 3), pbc (3,), velocities or momenta (n, 3), masses (n,), charges (n,)
    species, names, residues        texts of each atom
    arrays                          other columns by name; fixed: the numbers of fixed atoms
    lists                           bonds (k, 2), angles (k, 3), dihedrals (k, 4), with their types (k,)
    images, stated, remarks         their number, what the file says of itself, what is left out

Numbers are in the units of the file where that is LAMMPS data, else in angstrom, u, angstrom/fs and e. What
the file has not is left out of the answer.

Decisions 0145.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from io import BytesIO, StringIO
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, printable

from .file_texts import PREPARED, PreparedText, chosen
from .formats import FORMATS, STYLES

LOADS = ("ase.io", *(f"ase.io.{one}" for one in ("extxyz", "cif", "vasp", "lammpsdata", "gromacs", "xsf")))
"""Modules that the child imports once."""
ALL_IMAGES = ("cif", "xsf")
"""Formats whose images are counted by reading them."""
OWN = frozenset([
    "numbers", "positions", "momenta", "masses", "mass", "initial_charges", "charges", "id",
    "type", "mmcharges", "bonds", "angles", "dihedrals", "spacegroup_kinds", "residuenames",
    "atomtypes", "occupancy",
])  # fmt: skip
"""Arrays of ASE that are told of in other ways, or that it made itself."""
LABELS = "symbols_as_labels"
"""The column of an xyz file's symbols, which ASE would refuse where they are no elements."""
UNTAKEN = {"tags": "tags", "initial_magmoms": "magnetic moments"}
LISTS = {"bonds": 2, "angles": 3, "dihedrals": 4}
"""ASE's texts of LAMMPS's lists, with the number of atoms of an element."""


def read_atoms(
    file: str, data: bytes, format: str, index: int, style: str, species: Mapping[str, str]
) -> dict[str, Any]:
    """The atoms of an image. Raises `UserError` for a file that ASE cannot read as this format.

    style: LAMMPS's atom style, "" where the file says it. species: by the name of an atom in the file.
    """
    if not data.strip():
        raise UserError(f"'{file}': has no atoms, got an empty file; save it again")
    prepared = _prepared(file, data, format, index, species)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        atoms, images = _images_by_ase(file, data, format, index, style, prepared)
    if not len(atoms):
        raise UserError(f"'{file}': has no atoms, got an empty image; choose another `index`")
    found = _taken(file, atoms, format, prepared)
    found["weights"] = _weights({species.get(one, one) for one in found["species"]})
    lines = [" ".join(str(one.message).split()) for one in said if not _is_of_developers(one)]
    found["remarks"] = [*prepared.remarks, *found["remarks"], *dict.fromkeys(lines)]
    return found | {"images": images, "stated": prepared.stated}


def _is_of_developers(one: warnings.WarningMessage) -> bool:
    return issubclass(one.category, (DeprecationWarning, FutureWarning, ResourceWarning))


def _prepared(file: str, data: bytes, format: str, index: int, species: Mapping[str, str]) -> PreparedText:
    if format == "traj":
        if not data.startswith(b"- of Ulm"):
            raise UserError(
                f"'{file}': must be a trajectory of ASE 3.10 or later, got other bytes; older ones are"
                " pickles, which execute code: convert it with `ase convert` where you trust it"
            )
        return PreparedText("")
    if format == "cif" and b"_atom_site.Cartn_x" in data:
        raise UserError(
            f"'{file}': must be a CIF file of a crystal, got mmCIF of the Protein Data Bank; download its PDB"
            " file, or convert it: gemmi convert FILE FILE.pdb"
        )
    if b"\0" in data:
        raise UserError(f"'{file}': must be a text file, got zero bytes; name its `format`, or save it again")
    text = data.decode("utf-8-sig", "replace")
    if format not in PREPARED:
        return PreparedText(text)
    return PREPARED[format](file, text, index, species)


def _images_by_ase(
    file: str, data: bytes, format: str, index: int, style: str, prepared: PreparedText
) -> tuple[Any, int]:
    """The image that is chosen, and the number of images."""
    from ase.io import read
    from ase.io.extxyz import key_val_str_to_dict
    from ase.io.trajectory import TrajectoryReader

    def with_labels(line: str) -> dict[str, Any]:
        """A second line of extended XYZ, whose symbols are labels: ASE would refuse those of no element."""
        given = key_val_str_to_dict(line) if not prepared.stated["comment"] else {}
        named = str(given.get("Properties", "species:S:1:pos:R:3"))
        return given | {"Properties": re.sub(r"(^|:)(species|symbols):S:1", rf"\1{LABELS}:S:1", named)}

    options: dict[str, Any] = {"format": FORMATS[format].ase}
    if format == "xyz":
        options |= {"properties_parser": with_labels}
    if format == "lammps":
        options |= {"units": "ASE", "atom_style": _atom_style(file, style, prepared.stated["style"])}
    binary = format in ("traj", "cif")
    stream: Any = BytesIO(data) if binary else StringIO(prepared.text)
    try:
        if format == "traj":
            trajectory = TrajectoryReader(stream)
            images = len(trajectory)
            return trajectory[chosen(file, images, index)], images
        options["index"] = ":" if format in ALL_IMAGES else index if format == "xdatcar" else 0
        found = read(stream, **options)
        if format not in ALL_IMAGES:
            return found, prepared.images
        if not found:
            raise UserError(f"'{file}': has no atoms, got none; save it again")
        return found[chosen(file, len(found), index)], len(found)
    except (MemoryError, UserError):
        raise
    except Exception as error:  # readers raise anything
        reason = " ".join(str(error).split()) or "it is not there where it is expected"
        reason = f"unknown name '{error.args[0]}'" if isinstance(error, KeyError) and error.args else reason
        raise UserError(
            f"'{file}': ASE cannot read it as {format} ({printable(reason, 300)}); correct it, or name its"
            " `format`"
        ) from error


def _atom_style(file: str, given: str, stated: str) -> str:
    """The atom style of LAMMPS data. Raises `UserError` for none, and for another than the file says."""
    style = given or stated
    if given and stated and given != stated:
        raise UserError(
            f"style: '{file}' says '{printable(stated, 40)}' itself, got '{given}'; leave `style` out, or"
            " correct one of them"
        )
    if style not in STYLES:
        raise UserError(
            f"style: '{file}' does not say an atom style that is read, got '{printable(style, 40)}'; write"
            f" the atom_style of your LAMMPS input ({', '.join(STYLES)})"
        )
    return style


def _taken(file: str, atoms: Any, format: str, prepared: PreparedText) -> dict[str, Any]:
    """What a scene takes of the atoms, and remarks on the rest."""
    from ase.units import fs

    arrays, remarks = atoms.arrays, list[str]()
    found: dict[str, Any] = {
        "positions": np.asarray(atoms.positions, float),
        "cell": np.asarray(atoms.cell.array, float),
        "pbc": np.asarray(atoms.pbc, bool),
        "species": _species(atoms, format, prepared),
    }
    results = dict(getattr(atoms.calc, "results", {}) or {})
    masses = arrays.get("masses", arrays.get("mass"))
    if masses is not None and (format != "lammps" or prepared.stated["masses"]):
        found["masses"] = np.asarray(masses, float)
    if "momenta" in arrays and format == "xyz":  # whose species ASE does not know
        found["momenta"] = np.asarray(arrays["momenta"], float) * fs
    elif "momenta" in arrays:
        factor = 1.0 if format == "lammps" else fs
        found["velocities"] = np.asarray(atoms.get_velocities(), float) * factor
    charges = arrays.get("initial_charges", results.pop("charges", None))
    if charges is not None:
        found["charges"] = np.asarray(charges, float)
    _refuse_occupancies(file, atoms)
    taken = {"tags"} if format == "gro" else set[str]()
    texts = {"residuenames": "residues", "atomtypes": "names"}
    for name, values in arrays.items():
        if name in texts and values.dtype.kind in "UO":
            found[texts[name]] = [str(one).strip() for one in values]
        elif name in UNTAKEN:
            remarks += [f"its {UNTAKEN[name]} are not taken"] * (name not in taken)
        elif name not in (*OWN, LABELS) and values.dtype.kind in "UOSM":
            remarks.append(f"its texts '{printable(name, 40)}' are not taken")
        elif name not in (*OWN, LABELS) and (name != "bfactor" or values.any()):
            found.setdefault("arrays", {})[name] = np.asarray(values, float)
    if format == "lammps":
        found["lists"] = _lists(arrays)
    results = {name: value for name, value in results.items() if value is not None}
    remarks += [f"its results {', '.join(results)} are not taken"] if results else []
    remarks += _of_constraints(atoms, found)
    told = {"spacegroup", "unit_cell", "occupancy", "comment"} if format in ("cif", "lammps") else set[str]()
    info = [printable(str(name), 40) for name in atoms.info if name not in told]
    remarks += [f"its information {', '.join(info)} is not taken"] if info else []
    return found | {"remarks": remarks}


def _species(atoms: Any, format: str, prepared: PreparedText) -> list[str]:
    """The name of each atom in the file: its label, type, or symbol."""
    if prepared.species is not None:
        return prepared.species
    if LABELS in atoms.arrays:
        return [str(one) for one in atoms.arrays[LABELS]]
    if format == "lammps":
        labels = prepared.stated["labels"]
        return [labels.get(str(one), str(one)) for one in atoms.arrays["type"]]
    return list(atoms.get_chemical_symbols())


def _weights(names: set[str]) -> dict[str, float]:
    """Masses [u] of the names that are elements."""
    from ase.data import atomic_masses, atomic_numbers

    numbers = {name: atomic_numbers.get(name, 0) for name in names}
    return {name: float(atomic_masses[number]) for name, number in numbers.items() if number}


def _refuse_occupancies(file: str, atoms: Any) -> None:
    """Refuse sites of a CIF file that are partly occupied, or twice."""
    for site, shares in (atoms.info.get("occupancy") or {}).items():
        if len(shares) > 1 or any(abs(float(share) - 1.0) > 1e-6 for share in shares.values()):
            shown = ", ".join(f"{symbol} {float(share):g}" for symbol, share in shares.items())
            raise UserError(
                f"'{file}': has a partial occupancy, site {printable(str(site), 10)} of {shown}; a scene has"
                " whole atoms: write an ordered cell"
            )


def _of_constraints(atoms: Any, found: dict[str, Any]) -> list[str]:
    """Fixed atoms, as rows of `found`, and remarks on constraints."""
    others = []
    for one in atoms.constraints:
        if type(one).__name__ == "FixAtoms":
            found["fixed"] = np.union1d(found.get("fixed", np.zeros(0, int)), one.get_indices())
        else:
            others.append(type(one).__name__)
    names = ", ".join(dict.fromkeys(others))
    return [f"its {len(others)} constraints {names} are not taken"] if others else []


def _lists(arrays: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Any]]:
    """Rows of atoms and types of LAMMPS's lists, of which ASE keeps a text for each atom."""
    found: dict[str, dict[str, Any]] = {}
    for name in LISTS:
        rows, types = [], []
        for atom, text in enumerate(arrays.get(name, ())):
            for others, kind in re.findall(r"([\d-]+)\((\d+)\)", str(text)):
                numbers = [int(one) for one in others.split("-")]
                place = 1 if name == "angles" else 0
                rows.append([*numbers[:place], atom, *numbers[place:]])
                types.append(int(kind))
        if rows:
            found[name] = {"rows": np.array(rows), "types": np.array(types)}
    return found
