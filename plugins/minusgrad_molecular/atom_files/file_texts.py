"""What ASE's readers pass over in the text of a file: found before they read, and refused or remarked.

ASE 3.29 guesses the species of a POSCAR file without symbols and of atom names, reads one frame of a gro
file in fixed columns, forgets the cell after the first model of a PDB file, and leaves out sections of LAMMPS
data. A `PreparedText` is the text that ASE reads, with what it does not show.

Decisions 0145.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minusgrad.plugin import UserError, printable

from .element_names import element_of_name

TAKEN = ("Masses", "Atoms", "Velocities", "Atom Type Labels", "Bonds", "Angles", "Dihedrals")
SECTION = re.compile(r"^\s*([A-Z][A-Za-z]+(?: [A-Za-z0-9]+){0,3})\s*(?:#\s*(.*?))?\s*$")
KNOWN_SECTIONS = re.compile(
    r"Atoms|Velocities|Masses|Ellipsoids|Lines|Triangles|Bodies|Bonds|Angles|Dihedrals|Impropers"
    r"|.* Coeffs|.* Type Labels"
)


@dataclass
class PreparedText:
    """The text that ASE reads; images of the file; species of atoms by text; remarks; what is said of it."""

    text: str
    images: int = 1
    species: list[str] | None = None
    remarks: list[str] = field(default_factory=list)
    stated: dict[str, Any] = field(default_factory=dict)


def chosen(file: str, images: int, index: int) -> int:
    """The number of an image from 0. Raises `UserError` where the file has none of this number."""
    if not -images <= index < images:
        have = f"{images} images, 0 to {images - 1}" if images > 1 else "one image"
        raise UserError(f"index: '{file}' has {have}, got {index}; choose one of them")
    return index % images


def prepare_xyz(file: str, text: str, index: int, species: Mapping[str, str]) -> PreparedText:
    """The frames of an xyz file; columns beyond those that it names are refused."""
    lines, frames, at = text.splitlines(), [], 0
    while at < len(lines) and lines[at].strip():
        count = lines[at].split()[0]
        if not count.isdigit() or int(count) < 1:
            raise UserError(
                f"'{file}': line {at + 1} must be the number of atoms of a frame, got"
                f" '{printable(lines[at], 40)}'; correct it"
            )
        end = at + 2 + int(count)
        if end > len(lines):
            raise UserError(
                f"'{file}': line {at + 1} says {count} atoms, got {max(len(lines) - at - 2, 0)} lines of"
                " atoms; complete the file"
            )
        while end < len(lines) and lines[end].lstrip().startswith("VEC"):
            end += 1
        frames.append((at, end))
        at = end
    if not frames:
        raise UserError(f"'{file}': has no atoms, got an empty file; save it again")
    at, end = frames[chosen(file, len(frames), index)]
    named = re.search(r'Properties\s*=\s*"?([^\s"]+)', lines[at + 1])
    widths = named[1].split(":")[2::3] if named else ["1", "3"]
    width = sum(int(one) for one in widths if one.isdigit())
    remarks = []
    if (got := len(lines[at + 2].split())) > width:
        which = "Properties" if named else "a symbol and x, y, z"
        remarks.append(
            f"its {got - width} columns beyond those of {which} are not taken; name them by Properties=... in"
            " its second line"
        )
    found = PreparedText("\n".join(lines[at:end]) + "\n", len(frames), remarks=remarks)
    found.stated["comment"] = not named and "Lattice" not in lines[at + 1]
    return found


def prepare_poscar(file: str, text: str, index: int, species: Mapping[str, str]) -> PreparedText:
    """A POSCAR file with a line of symbols, and with velocities that are Cartesian."""
    chosen(file, 1, index)
    lines = text.splitlines()
    if len(lines) < 8:
        raise UserError(f"'{file}': must be a POSCAR file, got {len(lines)} lines; save it again")
    kinds, remarks, at = lines[5].split(), [], 6
    if kinds and all(one.isdigit() for one in kinds):
        named = [species.get(str(k), "") for k in range(1, len(kinds) + 1)]
        if not all(named):
            asked = ", ".join(f'{k} = "..."' for k in range(1, len(kinds) + 1))
            raise UserError(
                f"species: '{file}' has {len(kinds)} kinds of atoms without symbols (VASP 4), got"
                f" {dict(species) or 'none'}; write species = {{ {asked} }}"
            )
        lines.insert(5, " ".join(named))
        kinds = kinds[: len(named)]
    else:
        kinds = lines[6].partition("!")[0].split()
    if not kinds or not all(one.isdigit() for one in kinds):
        raise UserError(
            f"'{file}': line 7 must have the numbers of atoms, got '{printable(lines[6], 40)}'; correct it"
        )
    at = 7 + (lines[7][:1].strip().lower() == "s" if len(lines) > 7 else 0)
    behind = at + 1 + sum(map(int, kinds))
    if len(lines) < behind:
        raise UserError(
            f"'{file}': says {sum(map(int, kinds))} atoms, got {max(len(lines) - at - 1, 0)} lines of atoms;"
            " complete the file"
        )
    head = lines[behind].strip().lower() if len(lines) > behind else ""
    if head.startswith("l"):
        remarks.append("its velocities of the lattice are not taken")
        behind += 8
        head = lines[behind].strip().lower() if len(lines) > behind else ""
    if head.startswith("d"):
        raise UserError(
            f"'{file}': has velocities in units of the cell (Direct), which ASE takes for Cartesian ones;"
            " remove them, or write them in angstrom/fs"
        )
    return PreparedText("\n".join(lines) + "\n", remarks=remarks)


def prepare_gro(file: str, text: str, index: int, species: Mapping[str, str]) -> PreparedText:
    """One frame of a gro file, with three decimals as ASE reads it, and the elements of its names."""
    lines, frames, at = text.splitlines(), [], 0
    while at + 1 < len(lines) and lines[at + 1].strip():
        count = lines[at + 1].strip()
        end = at + 3 + (int(count) if count.isdigit() else 0)
        if not count.isdigit() or end > len(lines):
            raise UserError(
                f"'{file}': line {at + 2} must be the number of atoms, and as many lines and a box must"
                f" follow, got '{printable(count, 40)}'; complete the file"
            )
        frames.append((at, end))
        at = end
    if not frames:
        raise UserError(f"'{file}': has no atoms, got an empty file; save it again")
    at, end = frames[chosen(file, len(frames), index)]
    rows = lines[at + 2 : end - 1]
    points = [k for k, letter in enumerate(rows[0][20:], 20) if letter == "."] if rows else []
    if len(points) < 3 or points[1] - points[0] != 8:
        raise UserError(
            f"'{file}': needs positions with three decimals, as ASE reads it, got '{printable(rows[0], 60)}';"
            " write it again: gmx editconf -ndec 3"
        )
    found = PreparedText("\n".join(lines[at:end]) + "\n", len(frames))
    names = [(row[10:15].strip(), row[5:10].strip(), "") for row in rows]
    found.species = [*_elements(file, names, species)]
    return found


def prepare_pdb(file: str, text: str, index: int, species: Mapping[str, str]) -> PreparedText:
    """One model of a PDB file under the cell of the file; the first of alternate locations of each atom."""
    head, models, rows = list[str](), list[list[str]](), list[str]()
    for line in text.splitlines():
        if line.startswith(("CRYST1", "ORIGX")):
            head.append(line)
        elif line.startswith(("ATOM  ", "HETATM")):
            rows.append(line)
        elif line.startswith("END") and rows:
            models.append(rows)
            rows = []
    models += [rows] if rows else []
    if not models:
        raise UserError(f"'{file}': has no ATOM or HETATM records, got none; give a PDB file")
    rows = models[chosen(file, len(models), index)]
    first = dict[str, str]()
    kept = [
        line for line in rows if not (at := line[16:17].strip()) or first.setdefault(_atom(line), at) == at
    ]
    remarks = [f"has {len(rows) - len(kept)} atoms at other locations, which are left out"] * (
        len(kept) < len(rows)
    )
    for line in kept:
        if not re.fullmatch(r"\s*-?\d+\s*", line[22:26]):
            raise UserError(
                f"'{file}': the number of a residue must be decimal, got '{line[22:26]}' (hybrid-36); number"
                " residues from 1 again in each chain"
            )
    if any(len(line) > 59 and line[54:60].strip() not in ("", "1.00", "1.0", "1") for line in kept):
        remarks.append("has occupancies below 1; each of these atoms is taken as one atom")
    if text.startswith("CONECT") or "\nCONECT" in text:
        remarks.append("its CONECT records are not taken")
    unit = [one for one in head if one.startswith("CRYST1") and one.split()[1:4] == ["1.000"] * 3]
    if unit:
        head = [one for one in head if one not in unit]
        remarks.append("its cell of 1 angstrom stands for none (CRYST1), and is not taken")
    names = [(line[12:16].strip(), line[17:20].strip(), line[76:78].strip()) for line in kept]
    found = PreparedText("\n".join([*head, *kept]) + "\nEND\n", len(models), remarks=remarks)
    found.species = [*_elements(file, names, species)]
    return found


def _atom(line: str) -> str:
    """What is one atom in a PDB file: its name, chain and residue."""
    return line[12:16] + line[17:27]


def _elements(file: str, names: Sequence[tuple[str, str, str]], species: Mapping[str, str]) -> Sequence[str]:
    """The species of atoms by name, residue and element, where the file has one."""
    from ase.data import chemical_symbols

    elements = frozenset(chemical_symbols[1:])
    found, asked = [], dict[str, None]()
    for name, residue, element in names:
        if name in species:
            found.append(species[name])
            continue
        written = element.capitalize()
        one = written if written in elements else element_of_name(name, residue, elements)
        found.append(one or "")
        if one is None:
            asked[name] = None
    if asked:
        shown = ", ".join(f'"{printable(name, 10)}" = "..."' for name in [*asked][:4])
        raise UserError(
            f"species: '{file}' has {len(asked)} names of atoms that show no element or several, got"
            f" {', '.join(printable(name, 10) for name in [*asked][:8])}; write species = {{ {shown} }}"
        )
    return found


def prepare_lammps(file: str, text: str, index: int, species: Mapping[str, str]) -> PreparedText:
    """A LAMMPS data file: its sections, labels of types, and what it says of its style and units."""
    chosen(file, 1, index)
    lines = text.splitlines()
    found = PreparedText(text)
    sections = dict[str, str]()
    for line in lines[1:]:
        match = SECTION.match(line)
        if match and KNOWN_SECTIONS.fullmatch(match[1]):
            sections[match[1]] = (match[2] or "").strip()
    if "Atoms" not in sections:
        raise UserError(
            f"'{file}': must be a LAMMPS data file, got no section Atoms; write it with write_data"
        )
    if twice := [one for one, count in Counter(_atom_ids(lines)).items() if count > 1]:
        raise UserError(f"'{file}': each atom must have an id of its own, got {twice[0]} twice; correct it")
    if left := [name for name in sections if name not in TAKEN]:
        found.remarks.append(f"its sections {', '.join(left)} are not taken")
    units = re.search(r"\bunits\s*=\s*(\w+)", lines[0])
    found.stated = {
        "style": sections["Atoms"].split()[0] if sections["Atoms"] else "",
        "units": units[1] if units else "",
        "masses": "Masses" in sections,
        "labels": _type_labels(lines),
    }
    return found


def _atom_ids(lines: Sequence[str]) -> Iterator[str]:
    """The first words of the lines of the section Atoms."""
    inside = False
    for line in lines:
        match = SECTION.match(line)
        if match and KNOWN_SECTIONS.fullmatch(match[1]):
            inside = match[1] == "Atoms"
        elif inside and (words := line.partition("#")[0].split()):
            yield words[0]


def _type_labels(lines: Sequence[str]) -> dict[str, str]:
    """Labels of atom types by number, from their section."""
    found, inside = dict[str, str](), False
    for line in lines:
        words = line.partition("#")[0].split()
        if " ".join(words) == "Atom Type Labels":
            inside = True
        elif inside and len(words) == 2 and words[0].isdigit():
            found[words[0]] = words[1]
        elif inside and words:
            break
    return found


def prepare_xdatcar(file: str, text: str, index: int, species: Mapping[str, str]) -> PreparedText:
    """An XDATCAR file, whose images begin with a mark."""
    images = len(re.findall(r"^\s*Direct configuration=", text, re.MULTILINE))
    chosen(file, images or 1, index)
    return PreparedText(text, images)


PREPARED: dict[str, Callable[..., PreparedText]] = {
    "xyz": prepare_xyz,
    "poscar": prepare_poscar,
    "gro": prepare_gro,
    "pdb": prepare_pdb,
    "lammps": prepare_lammps,
    "xdatcar": prepare_xdatcar,
}
"""By format: how its text is prepared. Each raises `UserError` with what is wrong in the file."""
