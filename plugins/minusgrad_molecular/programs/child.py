"""In the child of `bounded_read`: a System, as OpenMM's XML, and the atoms, of other programs' files.

openmm.app reads the files and makes the System; everything then passes through `openmm_system.parse`, so that
forces are obeyed or refused there. Files that OpenMM opens by their path are written to a folder of the
parent, which removes it whatever happens here.

Decisions 0146.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.plugin import UserError

from ..pdb import Atoms
from . import amber, applied, charmm, gromacs, settings
from .coordinates import of_topology, read_positions

LOADS = ("openmm.app",)
SECONDS, SPACE = 20.0, 1 << 30
"""Beyond the limits for the files: computing time of reading force fields, and their address space."""
CURES = {
    "prmtop": "write it again with tleap or ParmEd",
    "top": "correct the line, or include the file of the force field that is missing",
    "psf": "name all files of parameters that the psf was made with, in `parameters`",
    "force_field": "correct the file, or name force fields that have its residues",
}


def system(
    file: str, data: bytes, kind: str, positions: Mapping[str, Any], asked: Mapping[str, Any], folder: str,
    more: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """The System of a file of some kind, with the atoms of `positions` (file, data, kind).

    kind: of `kinds.TOPOLOGIES`, or "force_field", whose file is that of the positions. asked: settings.
    more: what a kind needs besides. Raises `UserError` for what OpenMM cannot read, or reads wrongly.
    """
    remarks: list[str] = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = _made(file, data, kind, positions, asked, folder, more, remarks)
    said = dict.fromkeys(" ".join(str(one.message).split())[:300] for one in heard if _is_of_files(one))
    return found | {"remarks": [*remarks, *(f"'{file}': OpenMM says: {one}" for one in said)]}


def places(file: str, data: bytes, kind: str, folder: str) -> dict[str, Any]:
    """The atoms of a file of positions alone."""
    return atoms_as_data(read_positions(file, data, kind, folder))


def atoms_as_data(atoms: Atoms) -> dict[str, Any]:
    """The parts of `Atoms`, as they leave the child."""
    return {
        "places": atoms.places, "names": list(atoms.names), "residues": list(atoms.residues),
        "numbers": list(atoms.numbers), "chains": list(atoms.chains), "elements": list(atoms.elements),
        "velocities": atoms.velocities, "box": atoms.box,
    }  # fmt: skip


def _made(
    file: str, data: bytes, kind: str, positions: Mapping[str, Any], asked: Mapping[str, Any], folder: str,
    more: Mapping[str, Any], remarks: list[str],
) -> dict[str, Any]:  # fmt: skip
    import openmm

    path = str(Path(folder) / "topology")
    Path(path).write_bytes(data)
    lines = None
    if kind == "top":
        texts = data.decode("utf-8", "replace").split("\n")
        lines = gromacs.TopologyLines(texts, more["places"].tolist(), more["files"])
    if kind == "force_field":
        settings.solvent_keyword(asked, "a force field")
        structure = _by_openmm(
            lambda: applied.read_structure(file, data, positions["kind"]), file, kind, folder, None
        )
        atoms = of_topology(structure)
        if (box := settings.box_vectors(asked, atoms.box)) is not None:
            structure.topology.setPeriodicBoxVectors(box)
        keywords = settings.create_keywords(asked, structure.topology, file, remarks)
        field = _by_openmm(
            lambda: applied.read_force_field(more["names"], more["files"], folder, more["scripts"]),
            file, kind, folder, None,
        )  # fmt: skip
        made = _by_openmm(
            lambda: field.createSystem(structure.topology, **keywords), file, kind, folder, None
        )
    else:
        atoms = read_positions(**positions, folder=folder)
        box = settings.box_vectors(asked, atoms.box)
        topology = _by_openmm(
            lambda: _topology(file, data, kind, path, box, more, lines), file, kind, folder, lines
        )
        remarks += lines.remarks if lines is not None else ()
        keywords = settings.create_keywords(asked, topology.topology, file, remarks)
        keywords |= settings.solvent_keyword(asked, "a GROMACS topology" if kind == "top" else None)
        made = _by_openmm(lambda: _created(kind, topology, keywords, more, folder), file, kind, folder, lines)
        atoms = _named_atoms(file, kind, topology.topology, atoms, positions["file"], remarks)
    settings.set_dispersion(made, asked["dispersion"])
    settings.remove_empty_forces(made)
    return {"xml": openmm.XmlSerializer.serialize(made).encode()} | atoms_as_data(atoms)


def _topology(
    file: str, data: bytes, kind: str, path: str, box: Any, more: Mapping[str, Any],
    lines: gromacs.TopologyLines | None,
) -> Any:  # fmt: skip
    if kind == "prmtop":
        return amber.make_topology(file, data, path, box)
    if lines is not None:
        return gromacs.make_topology(path, lines, box, dict(more["defines"]))
    return charmm.make_topology(file, data, path, box)


def _created(kind: str, topology: Any, keywords: dict[str, Any], more: Mapping[str, Any], folder: str) -> Any:
    if kind == "psf":
        parameters = charmm.read_parameters(more["parameters"], folder)
        return topology.createSystem(parameters, flexibleConstraints=False, **keywords)
    return topology.createSystem(**keywords)


def _by_openmm(call: Any, file: str, kind: str, folder: str, lines: gromacs.TopologyLines | None) -> Any:
    """What a call of OpenMM returns. Raises `UserError` with its reason, the place and a cure."""
    try:
        return call()
    except (UserError, MemoryError):
        raise
    except Exception as error:  # OpenMM raises ValueError, KeyError, OSError, its own and others
        reason = " ".join(str(error).replace(folder, "").split())[:500] or "no reason"
        if not isinstance(error, (ValueError, RuntimeError)) and len(reason.split()) < 4:
            reason = f"{type(error).__name__}: {reason}"
        place = None if lines is None else lines.place_of(str(error).split("line:")[-1])
        raise UserError(
            f"{place or repr(file)}: OpenMM cannot make a System of it ({reason}); {CURES[kind]}"
        ) from error


def _named_atoms(
    file: str, kind: str, topology: Any, atoms: Atoms, positions: str, remarks: list[str]
) -> Atoms:
    """The places with the names of the topology. Raises `UserError` for another number of atoms."""
    named = list(topology.atoms())
    if len(named) != len(atoms.places):
        raise UserError(
            f"positions: '{positions}' must have the atoms of '{file}', {len(named)}, got"
            f" {len(atoms.places)};"
            " give the positions of the same system"
        )
    names = tuple(atom.name for atom in named)
    _remark_other_names(file, positions, names, atoms.names, remarks)
    edges = topology.getPeriodicBoxVectors()
    return Atoms(
        atoms.places,
        names,
        tuple(atom.residue.name for atom in named),
        tuple(str(atom.residue.id) for atom in named),
        tuple(atom.residue.chain.id.strip() if kind == "psf" else "" for atom in named),
        tuple("" if atom.element is None else atom.element.symbol for atom in named),
        atoms.velocities,
        None if edges is None else np.array(edges._value) * 10.0,
    )


def _remark_other_names(
    file: str, positions: str, names: Sequence[str], others: Sequence[str], remarks: list[str]
) -> None:
    """A remark where the letters with which the names of an atom begin differ: files in another order."""
    for k, (name, other) in enumerate(zip(names, others, strict=True)):
        first, second = ("".join(filter(str.isalpha, one))[:1].upper() for one in (name, other))
        if first and second and first != second:
            remarks.append(
                f"'{positions}': atom {k + 1} is {other}, that of '{file}' is {name}; atoms are taken in"
                " the order"
                " of both files"
            )
            return


def _is_of_files(heard: warnings.WarningMessage) -> bool:
    return not issubclass(heard.category, (DeprecationWarning, PendingDeprecationWarning, ResourceWarning))
