"""One frame as a LAMMPS data file, in `units metal`: angstrom, angstrom/ps, u, e; without units `units lj`.

    0.0 12.0 xlo xhi         the box stands upright (LAMMPS' restricted triclinic form), so that positions and
    4.0 -3.0 2.0 xy xz yz    velocities are rotated with it

A type is an element and a mass. Atoms lie in the box, with image flags n, so that x + n . box is the recorded
place. Tilts beyond half an edge, which LAMMPS advises against, are taken back by whole edges: the lattice is
the same. Along an open axis the box reaches over the atoms. Bonds and energies are not written. Source:
documentation of LAMMPS, read_data and Howto_triclinic (docs.lammps.org).

Decisions 0147.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..csv_export import RowStream
from .atom_frames import AtomFrame, AtomFrames
from .upright_cells import closed_box, turn_upright

MARGIN = 1.0
"""angstrom between the atoms and the box along an open axis."""


def write_lammps_data(frames: AtomFrames, out: RowStream) -> list[str]:
    """Write the last of the frames; returns remarks."""
    *_, frame = frames
    recorded = np.eye(3) if frame.edges is None else frame.edges
    turned = turn_upright(frame, closed_box(recorded, frames.periodic, (0.0,) * 3))
    assert turned.edges is not None
    box, corner = box_over_atoms(turned.edges, turned.position, frames.periodic)
    edges = reduce_tilts(box)
    x, images = wrap_into(turned.position - corner, edges, frames.periodic)
    types = AtomTypes.of(frames)
    lines = [*_head(frames, frame, edges, corner, len(types.masses)), *types.mass_lines()]
    lines += _atom_lines(frames, types, x + corner, images)
    if turned.velocity is not None:
        lines += ["", "Velocities", ""]
        lines += [f"{k} {_numbers(row)}" for k, row in enumerate(turned.velocity.tolist(), 1)]
    out.write("\n".join(lines) + "\n")
    return _remarks(frames, frame, turned, not np.array_equal(edges, box))


def box_over_atoms(
    edges: np.ndarray, x: np.ndarray, periodic: Sequence[bool]
) -> tuple[np.ndarray, np.ndarray]:
    """Edges (3, 3) and lowest corner (3,) of a box whose open edges reach over the atoms."""
    found, corner = edges.copy(), np.zeros(3)
    for k in range(3):
        if not periodic[k]:
            along = edges[k] / np.linalg.norm(edges[k])
            places = x @ along
            found[k] = along * (np.ptp(places) + 2.0 * MARGIN)
            corner += along * (places.min() - MARGIN)
    return found, corner


def reduce_tilts(edges: np.ndarray) -> np.ndarray:
    """Upright edges of the same lattice, whose tilts are at most half an edge."""
    found = edges.copy()
    for row, column in ((1, 0), (2, 1), (2, 0)):
        if abs(found[row, column]) > 0.5 * found[column, column] * (1.0 + 1e-12):
            found[row] -= np.round(found[row, column] / found[column, column]) * found[column]
    return found


def wrap_into(x: np.ndarray, edges: np.ndarray, periodic: Sequence[bool]) -> tuple[np.ndarray, np.ndarray]:
    """Places in the box along its periodic edges, and the whole edges (N, 3) that were taken off."""
    images = np.floor(x @ np.linalg.inv(edges)) * np.array(periodic)
    return x - images @ edges, images.astype(int)


@dataclass(frozen=True)
class AtomTypes:
    """Types by element and mass: of_atoms (N,) from 1 on; of each type its element and mass in u, or None."""

    of_atoms: list[int]
    elements: list[str]
    masses: list[float | None]

    @classmethod
    def of(cls, frames: AtomFrames) -> "AtomTypes":
        masses = [None] * frames.count if frames.masses is None else frames.masses.tolist()
        rows = [*zip(frames.elements, masses, strict=True)]
        kinds = {row: k for k, row in enumerate(dict.fromkeys(rows), 1)}
        return cls([kinds[row] for row in rows], [e for e, _ in kinds], [m for _, m in kinds])

    def mass_lines(self) -> list[str]:
        """The section of masses; empty without them."""
        if None in self.masses:
            return []
        rows = enumerate(zip(self.masses, self.elements, strict=True), 1)
        return ["", "Masses", "", *(f"{k} {mass!r} # {element}" for k, (mass, element) in rows)]


def _head(
    frames: AtomFrames, frame: AtomFrame, edges: np.ndarray, corner: np.ndarray, kinds: int
) -> list[str]:
    system = "metal" if frames.has_units else "lj"
    lines = [f"LAMMPS data file by minusgrad, timestep = {frame.step}, units = {system}", ""]
    lines += [f"{frames.count} atoms", f"{kinds} atom types", ""]
    for axis, low, length in zip("xyz", corner.tolist(), np.diag(edges).tolist(), strict=True):
        lines.append(f"{low!r} {low + length!r} {axis}lo {axis}hi")
    tilts = edges[1, 0], edges[2, 0], edges[2, 1]
    return [*lines, f"{_numbers(map(float, tilts))} xy xz yz"] if any(tilts) else lines


def _atom_lines(frames: AtomFrames, types: AtomTypes, x: np.ndarray, images: np.ndarray) -> list[str]:
    charges = frames.charges
    style = "atomic" if charges is None else "charge"
    lines = ["", f"Atoms # {style}", ""]
    rows = zip(types.of_atoms, x.tolist(), images.tolist(), strict=True)
    for k, (kind, place, image) in enumerate(rows):
        charge = "" if charges is None else f"{float(charges[k])!r} "
        lines.append(f"{k + 1} {kind} {charge}{_numbers(place)} {' '.join(map(str, image))}")
    return lines


def _numbers(values: Iterable[float]) -> str:
    return " ".join(map(repr, values))


def _remarks(frames: AtomFrames, frame: AtomFrame, turned: AtomFrame, reduced: bool) -> list[str]:
    found = []
    if np.abs(turned.position - frame.position).max() > 1e-9 * np.abs(frame.position).max():
        found.append("the box, positions and velocities are rotated: its first edge lies along x")
    if reduced:
        found.append("tilts of the box beyond half an edge are taken back by whole edges")
    if frames.frames.dimension < 3:
        found.append("the run is in a plane: write `dimension 2` before read_data")
    elif not all(frames.periodic):
        flags = " ".join("p" if one else "f" for one in frames.periodic)
        found.append(f"the box is open, and its edges there reach over the atoms: write `boundary {flags}`")
    if frame.velocity is None:
        found.append("the frame has no velocities; record them with the observer 'frames'")
    if frames.masses is None:
        found.append("the run has no masses: give them by the command `mass`")
    return found
