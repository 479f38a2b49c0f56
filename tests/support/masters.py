"""Series as other tools find them in `trajectory.h5`."""

from pathlib import Path

import h5py
import numpy as np

OWN = "minusgrad/"
VECTORS = ("particles/all/position", "particles/all/velocity", "particles/all/force")


def place(file: h5py.File, name: str) -> str:
    """Where a series lies: below /minusgrad if MDAnalysis would misread it."""
    return name if f"{name}/value" in file else OWN + name


def series_in(file: h5py.File) -> list[str]:
    """All series of a master or a segment, by their usual names."""
    found: list[str] = []
    file.visit(lambda path: found.append(path.removesuffix("/value")) if path.endswith("/value") else None)
    return sorted(name.removeprefix(OWN) for name in found)


def through_master(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Step, time and value of a series; vectors without the components that are padded."""
    with h5py.File(folder / "trajectory.h5") as file:
        group, width = file[place(file, name)], int(file["minusgrad"].attrs["dimension"])
        step, time, value = (group[leaf][...] for leaf in ("step", "time", "value"))
    if name in VECTORS and width < 3:
        assert not value[step >= 0, ..., width:].any(), name
        value = value[..., :width]
    return step, time, value
