"""Frames as extended XYZ in the units of ASE: angstrom, eV, eV/angstrom, u, e.

    2
    Lattice="5.2 0 0 0 5.2 0 0 0 5.2" pbc="T T T" Properties=species:S:1:pos:R:3:momenta:R:3:forces:R:3
     energy=-1.5 stress="..." Time=0.5 step=50                                     (in one line)
    Ar 0.1 0.2 0.3 ...

energy: U; forces: -dU/dx; stress: (dU/de) / V, positive in tension, of the energies alone, which is ASE's
own. momenta: m v, in sqrt(u eV); without masses `velo`, in angstrom/fs. Time is in ps. Other series are
columns in the run's units, which `column_units` names. Source: the extended XYZ specification,
github.com/libAtoms/extxyz; ase.io.extxyz.

Decisions 0147.
"""

import json
import re
from collections import Counter

import numpy as np

from ....files import h5md
from ....scene import units
from ..csv_export import RowStream
from .atom_frames import DALTON, ELECTRONVOLT, AtomFrame, AtomFrames

PICOSECONDS = 1e-10 * np.sqrt(DALTON / ELECTRONVOLT) / 1e-12
"""ASE's unit of time, angstrom sqrt(u/eV), in ps."""
_TAKEN = {
    "species", "pos", "name", "positions", "numbers", "symbols", "tags", "momenta", "masses",
    "initial_charges", "charges", "energies", "forces", "stresses", "magmoms", "dipole", "velo", "move_mask",
}  # fmt: skip
"""Columns that mean something to readers; a series of such a name gets a stroke behind it."""


def write_extxyz(frames: AtomFrames, out: RowStream) -> list[str]:
    """Write the frames; returns remarks on what some of them lack."""
    counts: Counter[str] = Counter()
    for frame in frames:
        columns = _columns(frames, frame)
        counts.update([*columns, *(n for n in ("energy", "stress") if getattr(frame, n) is not None)])
        out.write(f"{len(frame.position)}\n{_comment(frames, frame, columns)}\n")
        rows = np.concatenate([values for values, _ in columns.values()], axis=1).tolist()
        lines = (f"{e} {' '.join(map(repr, row))}\n" for e, row in zip(frames.elements, rows, strict=True))
        out.write("".join(lines))
    return _remarks(frames, counts)


def _columns(frames: AtomFrames, frame: AtomFrame) -> dict[str, tuple[np.ndarray, str]]:
    """The columns of numbers (N, k) by name, each with its unit where that is the run's."""
    found = {"pos": (frame.position, "")}
    if frame.velocity is not None and frames.masses is not None:
        found["momenta"] = (frames.masses[:, None] * frame.velocity * PICOSECONDS, "")
    elif frame.velocity is not None:
        found["velo"] = (frame.velocity * 1e-3, "angstrom/fs")
    for name, values in (("masses", frames.masses), ("initial_charges", frames.charges)):
        if values is not None:
            found[name] = (values[:, None], "")
    if frame.force is not None:
        found["forces"] = (frame.force, "")
    for series, array in frame.others.items():
        label = re.sub(r"[\s:=\"]", "_", h5md.label(series))
        while label in _TAKEN or label in found:
            label += "_"
        unit = units.familiar_name(frames.frames.unit(series))
        found[label] = (array.reshape(len(array), -1).astype(np.float64), unit)
    return found


def _comment(frames: AtomFrames, frame: AtomFrame, columns: dict[str, tuple[np.ndarray, str]]) -> str:
    kinds = "".join(f":{name}:R:{values.shape[1]}" for name, (values, _) in columns.items())
    periodic = " ".join("T" if one else "F" for one in frames.periodic)
    words = [f'pbc="{periodic}"', f"Properties=species:S:1{kinds}"]
    if frame.edges is not None:
        words.insert(0, f"Lattice={_numbers(frame.edges)}")
    if frame.energy is not None:
        words.append(f"energy={frame.energy!r}")
    if frame.stress is not None and all(frames.periodic):
        words.append(f"stress={_numbers(frame.stress)}")
    if named := {name: unit for name, (_, unit) in columns.items() if unit}:
        words.append("column_units=" + json.dumps(", ".join(f"{n}: {u}" for n, u in named.items())))
    return " ".join([*words, f"Time={frame.time!r}", f"step={frame.step}"])


def _numbers(matrix: np.ndarray) -> str:
    return f'"{" ".join(map(repr, matrix.ravel().tolist()))}"'


def _remarks(frames: AtomFrames, counts: Counter[str]) -> list[str]:
    found = []
    wanted = {
        "energy": "the energy, by the observer 'energies'",
        "forces": "forces, by the observer 'forces'",
        "stress": "the stress of the energies, by the observer 'forces' with stress = true",
    }
    if not all(frames.periodic) or frames.frames.dimension != 3:
        wanted.pop("stress")
    for name, words in wanted.items():
        if counts[name] < len(frames):
            found.append(
                f"{counts[name]} of {len(frames)} frames have {name}; record {words}, at the steps of frames"
            )
    if counts["velo"] and frames.masses is None:
        found.append("the run has no masses, so that velocities are a column `velo` in angstrom/fs")
    return found
