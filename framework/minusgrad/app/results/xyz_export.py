"""Frames as extended XYZ, which OVITO, VMD and ASE read.

    3
    Lattice="10 0 0 0 10 0 0 0 10" pbc="T T T" Properties=species:S:1:pos:R:3:velo:R:3 Time=0.5 step=50
    Ar 0.1 0.2 0.3 ...

Numbers are in the run's units, with all digits; `units` names those of length and time. The species of a node
is its element (`atom_exports.elements`), else X; names of nodes that are no elements are a further column.
Source: the extended XYZ specification, github.com/libAtoms/extxyz.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...energies.values.atom_labels import SYMBOLS
from ...files import h5md
from .atom_exports.elements import node_elements
from .csv_export import RowStream
from .recorded_frames import Frame, RecordedFrames, in_space

COLUMNS = {"velocity": "velo", "force": "forces"}
"""The names of our series in extended XYZ, where it has names of its own."""


def export_xyz(
    run: Path,
    out: RowStream,
    names: Sequence[str] = (),
    step: int | None = None,
    every: int = 1,
    given: Sequence[str] = (),
) -> int:
    """Write the recorded frames of a run; returns their number.

    names, step, every: as for `RecordedFrames`, which raises its errors; of its series those over nodes.
    given: elements (`node_elements`).
    """
    frames = RecordedFrames(run, names, step, every)
    columns = [name for name in frames.names if h5md.is_of_nodes(name)]
    texts: list[str] = []
    for frame in frames:
        texts = texts or _texts(frames, len(frame.position), given)
        parts = [frame.position, *(_column(name, frame.arrays[name]) for name in columns)]
        out.write(f"{len(frame.position)}\n{_comment(frames, frame, columns, parts)}\n")
        rows = np.concatenate([np.asarray(part, np.float64) for part in parts], axis=1).tolist()
        lines = (f"{text} {' '.join(map(repr, row))}\n" for text, row in zip(texts, rows, strict=True))
        out.write("".join(lines))
    return len(frames)


def _texts(frames: RecordedFrames, count: int, given: Sequence[str]) -> list[str]:
    """The species of each node, and the names of nodes where these are no species."""
    species = node_elements(frames.facts, count, given)
    if not _are_named(frames):
        return species
    names = [re.sub(r"\s", "_", name) or "_" for name in frames.node_names]
    return [f"{symbol} {name}" for symbol, name in zip(species, names, strict=True)]


def _are_named(frames: RecordedFrames) -> bool:
    return not set(frames.node_names) <= SYMBOLS


def _column(name: str, values: np.ndarray) -> np.ndarray:
    """The values of a series as columns (N, k); vectors that programs know have three."""
    flat = values.reshape(len(values), -1)
    return in_space(flat) if h5md.label(name) in COLUMNS and flat.shape[1] < 3 else flat


def _comment(
    frames: RecordedFrames, frame: Frame, columns: Sequence[str], parts: Sequence[np.ndarray]
) -> str:
    """The second line of a frame: box, columns, time, step, units."""
    kinds = "species:S:1" + (":name:S:1" if _are_named(frames) else "")
    for name, part in zip(["pos", *columns], parts, strict=True):
        label = h5md.label(name)
        kinds += f":{COLUMNS.get(label, label).replace(':', '_')}:R:{part.shape[1]}"
    periodic = " ".join("T" if one else "F" for one in frames.periodic)
    words = [f'pbc="{periodic}"', f"Properties={kinds}", f"Time={frame.time!r}", f"step={frame.step}"]
    if frame.edges is not None:
        edges = np.eye(3)
        edges[: len(frame.edges), : len(frame.edges)] = frame.edges
        words.insert(0, f'Lattice="{" ".join(map(repr, edges.ravel().tolist()))}"')
    if units := [unit for unit in (frames.unit(h5md.POSITION), frames.time_unit) if unit]:
        words.append(f'units="{", ".join(units)}"')
    return " ".join(words)
