"""Molecules from other programs' files: what is asked for, the System and the atoms that OpenMM makes of it.

Files are read as those of the scene are; OpenMM reads them in the child of `bounded_read`, in a folder that
is removed. Needs the extra `openmm`.

Decisions 0146.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, bounded_read, pip_line, printable

from .. import pdb
from ..pdb import Atoms
from . import child, gro, includes, kinds

SETTINGS: dict[str, Any] = {
    "nonbonded": None, "cutoff": None, "switch": None, "dispersion": None, "constraints": "none",
    "rigid_water": False, "hydrogen_mass": None, "implicit_solvent": None, "box": None,
}  # fmt: skip
"""What `settings` asks for, as it is where nothing is given."""
PREDEFINED = {"FLEXIBLE": "1"}
"""Macros of a GROMACS topology: its waters have bonds and angles, as OpenMM's reader has it."""
CURES = {
    "old_prmtop": "write it again with tleap or ParmEd",
    "system": "give it as `system`",
    "force_field": "give it as `force_field`",
    "parameters": "give it as `parameters`, with the psf as `topology`",
} | dict.fromkeys(kinds.POSITIONS, "give it as `positions`, with the topology beside it")


@dataclass(frozen=True)
class Request:
    """Files by name, as the keys of the state `molecule`, and settings over those of SETTINGS.

    scripts: files of force fields may have scripts, which OpenMM executes.
    """

    positions: str
    topology: str | None = None
    parameters: tuple[str, ...] = ()
    force_field: tuple[str, ...] = ()
    include: str | None = None
    defines: Mapping[str, str | bool | float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    scripts: bool = False


@dataclass(frozen=True)
class Made:
    """XML of a System, its atoms in its order, and remarks; `file`: what it was made of."""

    file: str
    xml: bytes
    atoms: Atoms
    remarks: tuple[str, ...]


def make_system(request: Request, bytes_of: Callable[[str], bytes]) -> Made:
    """The System of the files of a request.

    Raises `UserError` without OpenMM, for files of a wrong kind, for what is not in them, and for what has no
    sense together.
    """
    _require_openmm(request.topology or request.positions)
    if request.topology is not None:
        file, data = request.topology, bytes_of(request.topology)
        kind = kinds.require_kind("topology", file, data, kinds.TOPOLOGIES, CURES)
    else:
        file, data, kind = request.positions, bytes_of(request.positions), "force_field"
    wanted: tuple[str, ...] = kinds.APPLIED if kind == "force_field" else kinds.POSITIONS
    _refuse_keys(request, kind)
    places = data if kind == "force_field" else bytes_of(request.positions)
    positions = {"file": request.positions, "data": places} | {
        "kind": kinds.require_kind("positions", request.positions, places, wanted, _cures_of_places(kind))
    }
    more, size = _what_a_kind_needs(request, kind, data, bytes_of)
    if kind == "top":
        data = more.pop("text")
    with TemporaryDirectory(prefix="minusgrad-", ignore_cleanup_errors=True) as folder:
        found = bounded_read(
            child.system, file, data, child.LOADS,
            seconds=child.SECONDS + (len(places) + size) / 50_000,
            space=child.SPACE + 64 * (len(places) + size), kind=kind, positions=positions,
            asked=SETTINGS | dict(request.settings), folder=folder, more=more,
        )  # fmt: skip
    return Made(file, found.pop("xml"), _atoms_of(found), tuple(found.pop("remarks")))


def read_places(file: str, data: bytes) -> Atoms:
    """The atoms of a file of positions alone; those of PDB and gro files need no OpenMM.

    Raises `UserError` for a file of another kind, without OpenMM, and for one that cannot be read.
    """
    kind = kinds.kind_of(data)
    if kind == "gro":
        return gro.parse(file, data)
    if kind not in kinds.POSITIONS[1:]:
        cures = dict.fromkeys(kinds.TOPOLOGIES, "give it as `topology`, without `system`")
        if kind in (*kinds.TOPOLOGIES, "system", "force_field", "parameters"):
            kinds.require_kind("positions", file, data, kinds.POSITIONS, cures)
        return pdb.parse(file, data)
    _require_openmm(file)
    with TemporaryDirectory(prefix="minusgrad-", ignore_cleanup_errors=True) as folder:
        return _atoms_of(bounded_read(child.places, file, data, child.LOADS, kind=kind, folder=folder))


def _require_openmm(file: str) -> None:
    if find_spec("openmm") is None:
        raise UserError(
            f"'{printable(file)}': needs OpenMM to be read, got none; {pip_line('openmm')}, or make the"
            " System"
            " where it is by `python -m minusgrad_molecular.convert`"
        )


def _refuse_keys(request: Request, kind: str) -> None:
    """Raise `UserError` for keys that the kind of topology does not take, and for those that it needs."""
    takes = {
        "parameters": kind == "psf", "include": kind == "top", "defines": kind == "top",
        "force_field": kind == "force_field",
    }  # fmt: skip
    of = {"parameters": "a CHARMM psf", "include": "a GROMACS topology", "defines": "a GROMACS topology"}
    for key, is_taken in takes.items():
        if getattr(request, key) and not is_taken:
            got = kinds.WORDS.get(kind, "a force field")
            what = of.get(key, "positions without a `topology`, which has its parameters itself")
            raise UserError(f"{key}: is of {what}, got it with {got}; leave it out")
    if kind == "psf" and not request.parameters:
        raise UserError(
            f"parameters: '{request.topology}' needs files of parameters (par, prm, rtf, str), got none; name"
            " those that it was made with"
        )


def _cures_of_places(kind: str) -> dict[str, str]:
    if kind == "force_field":
        return dict.fromkeys(kinds.POSITIONS[2:], "write it as PDB, with all hydrogens") | {
            "force_field": "give it as `force_field`"
        }
    return dict.fromkeys(kinds.TOPOLOGIES, "give it as `topology`")


def _what_a_kind_needs(
    request: Request, kind: str, data: bytes, bytes_of: Callable[[str], bytes]
) -> tuple[dict[str, Any], int]:
    """Files and numbers for the child beyond topology and positions, and the bytes of these files."""
    if kind == "top":
        defines = {
            name: "1" if value is True else str(value)
            for name, value in (PREDEFINED | dict(request.defines)).items()
            if value is not False
        }
        lines = includes.active_lines(request.topology or "", data, bytes_of, request.include, defines)
        text = "\n".join(lines.texts).encode()
        places = np.array(lines.places, np.int64).reshape(-1, 2)
        return {"text": text, "places": places, "files": lines.files, "defines": defines}, 0
    if kind == "psf":
        files = {name: bytes_of(name) for name in request.parameters}
        for name, one in files.items():
            kinds.require_kind("parameters", name, one, ("parameters",), CURES)
        return {"parameters": files}, sum(map(len, files.values()))
    if kind == "force_field" and request.scripts:  # the user's own, wherever they lie
        named = [str(Path(one).resolve()) if Path(one).is_file() else one for one in request.force_field]
        return {"names": named, "files": {}, "scripts": True}, 0
    if kind == "force_field":
        files = includes.force_field_files(request.force_field, bytes_of)
        for name in request.force_field:
            if name in files:
                kinds.require_kind("force_field", name, files[name], ("force_field",), CURES)
        more = {"names": list(request.force_field), "files": files, "scripts": False}
        return more, sum(map(len, files.values()))
    return {}, 0


def _atoms_of(found: Mapping[str, Any]) -> Atoms:
    parts = ("names", "residues", "numbers", "chains", "elements")
    names, residues, numbers, chains, elements = (tuple(found[one]) for one in parts)
    return Atoms(
        found["places"], names, residues, numbers, chains, elements, found["velocities"], found["box"]
    )
