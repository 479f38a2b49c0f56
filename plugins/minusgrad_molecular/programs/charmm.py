"""CHARMM topologies (psf) with their parameters: in the child of `bounded_read`.

A psf of CHARMM has numbers as atom types, that of X-PLOR and NAMD names; OpenMM's reader takes both, with or
without EXT. It takes atom 0 for the last one, so that the lists are looked at before it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.plugin import UserError

LISTS = {"NBOND": 2, "NTHETA": 3, "NPHI": 4, "NIMPHI": 4, "NCRTERM": 8}
ENDINGS = (".rtf", ".top", ".par", ".prm", ".str", ".inp")
"""By which OpenMM knows what a file of parameters has."""


def make_topology(file: str, data: bytes, path: str, box: Any) -> Any:
    """The topology of a psf. Raises `UserError` for one that OpenMM would take wrongly."""
    from openmm import app

    check_file(file, data.decode("utf-8", "replace"))
    return app.CharmmPsfFile(path, periodicBoxVectors=box)


def read_parameters(files: Mapping[str, bytes], folder: str) -> Any:
    """The parameters of files, in their order. Raises `UserError` for endings that OpenMM does not know."""
    from openmm import app

    paths = []
    for k, (name, data) in enumerate(files.items()):
        ending = Path(name).suffix.lower()
        if ending not in ENDINGS:
            raise UserError(
                f"parameters: '{name}' must end with one of {', '.join(ENDINGS)}, which say what it has;"
                " name it so"
            )
        is_topology = ending == ".inp" and "top" in Path(name).name
        stem = ("top" if is_topology else "par") if ending == ".inp" else "a"
        paths.append(Path(folder) / f"{stem}{k}{ending}")
        paths[-1].write_bytes(data)
    return app.CharmmParameterSet(*map(str, paths))


def check_file(file: str, text: str) -> None:
    """Raise `UserError` for a polarisable psf, for lists that are cut or not from 1, for double bonds."""
    lines = text.splitlines()
    if "DRUDE" in lines[0].split():
        raise UserError(
            f"'{file}': a polarisable force field (DRUDE) is not supported; make the psf with a force"
            " field of"
            " fixed charges, such as CHARMM36"
        )
    heads = [k for k, line in enumerate(lines) if "!" in line]
    titles = {_title(lines[k]): k for k in heads}
    if "NATOM" not in titles or "NBOND" not in titles:
        raise UserError(
            f"'{file}': needs the sections !NATOM and !NBOND, got {len(lines)} lines; write it again"
        )
    atoms = _count(file, lines, titles["NATOM"])
    there = sum(1 for line in lines[titles["NATOM"] + 1 : titles["NATOM"] + 1 + atoms] if line.strip())
    if there < atoms:
        raise UserError(
            f"'{file}': line {titles['NATOM'] + 1}: must have {atoms} atoms, got {there}; the file is"
            " truncated:"
            " write it again"
        )
    for name, arity in LISTS.items():
        if name in titles:
            end = next((k for k in heads if k > titles[name]), len(lines))
            _check_list(file, lines, titles[name], end, arity, atoms)


def _title(line: str) -> str:
    return [*line.split("!", 1)[1].split(":")[0].split(), ""][0].upper()


def _count(file: str, lines: list[str], head: int) -> int:
    try:
        return int(lines[head].split()[0])
    except (ValueError, IndexError):
        raise UserError(
            f"'{file}': line {head + 1}: must begin with a number, got '{lines[head].strip()[:40]}'; write"
            " it again"
        ) from None


def _check_list(file: str, lines: list[str], head: int, end: int, arity: int, atoms: int) -> None:
    """Rows of atoms behind a title."""
    name, rows = _title(lines[head]), _count(file, lines, head)
    where = f"'{file}': line {head + 1}: {name}"
    try:
        found = np.array(" ".join(lines[head + 1 : end]).split(), np.int64)
    except ValueError:
        raise UserError(f"{where} must have whole numbers, got others; write the file again") from None
    if len(found) < rows * arity:
        raise UserError(
            f"{where} must have {rows * arity} numbers of atoms, got {len(found)}; the file is truncated:"
            " write it again"
        )
    found = found[: rows * arity].reshape(-1, arity)
    wrong = ((found < 1) | (found > atoms)).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UserError(
            f"{where} must have atoms from 1 to {atoms}, got {', '.join(map(str, found[row].tolist()))} in"
            " row"
            f" {row + 1}; they are counted from 1"
        )
    if name == "NBOND" and rows:
        known, counts = np.unique(np.sort(found, axis=1), axis=0, return_counts=True)
        if (counts > 1).any():
            i, j = known[np.argmax(counts > 1)]
            raise UserError(
                f"{where}: the bond of atoms {i} and {j} must be there once, got two; leave one out"
            )
