"""Run folders of atoms in boxes, in any units, for what reads and exports them; distances by hand."""

from itertools import product
from pathlib import Path

import numpy as np

from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder
from minusgrad.scene.units import SYSTEMS, UnitSystem

SKEWED = np.array([[12.0, 0.0, 0.0], [4.0, 11.0, 0.0], [-3.0, 2.0, 10.0]])
TURN = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
TURN[:, 0] *= np.linalg.det(TURN)
BOXES = {
    "upright": SKEWED,
    "rotated": SKEWED @ TURN,
    "left-handed": SKEWED[[1, 0, 2]] @ TURN,
    "reflected": SKEWED * [1.0, 1.0, -1.0],
}
"""Edge vectors in rows."""
SYSTEM_OF = SYSTEMS | {
    "astronomical": UnitSystem.of("AU", "Msun", "day"),
    "atomic": UnitSystem.of("angstrom", "u", "ps"),
}
STEPS = (0, 10, 20)
UNIT = {
    "position": "m", "box/edges": "m", "velocity": "m s^-1", "force": "N", "potential/lj": "J",
    "potential/wall": "J", "energy_stress": "Pa", "charge": "C", "mass": "kg",
}  # fmt: skip
CHEMICAL = {
    "m": 1e-10, "m s^-1": 1e2, "N": 1.602176634e-9, "J": 1.602176634e-19, "Pa": 1.602176634e11, "s": 1e-12,
    "kg": 1.66053906892e-27, "C": 1.602176634e-19,
}  # fmt: skip
"""angstrom, angstrom/ps, eV/angstrom, eV, eV/angstrom^3, ps, u and e in SI."""


def atom_run(
    path: Path,
    frames: dict[str, np.ndarray],
    boxes: np.ndarray | None = None,
    periodic: tuple[bool, ...] = (True, True, True),
    units: str = "molecular",
    observables: dict[str, np.ndarray] | None = None,
    fields: dict[str, np.ndarray] | None = None,
    meta: dict | None = None,
    dtype: str = "f8",
    times: tuple[float, ...] = (0.0, 1.0, 2.0),
) -> Path:
    """A run whose numbers are given in angstrom, ps, eV, u and e, and recorded in those of a system of units.

    frames: label -> (T, N, ...); boxes (T, d, d); observables: name -> (T, ...); fields: name -> (N,). They
    are recorded at the steps 0, 10, 20; an array of fewer rows has none at the last of them.
    """
    system = SYSTEM_OF[units]
    own = {name: (system.symbol(unit), system.in_si(unit)) for name, unit in UNIT.items()}

    def converted(name: str, values: np.ndarray) -> np.ndarray:
        if not system.names or name not in UNIT:
            return np.asarray(values)
        return np.asarray(values) * (CHEMICAL[UNIT[name]] / own[name][1])

    clock = (system.symbol("s"), system.in_si("s"))
    recorder = Recorder(own, clock, periodic=periodic if boxes is not None else ())
    second = CHEMICAL["s"] / clock[1] if system.names else 1.0
    with RunDir.create(path, b"", []) as run:
        for k, (step, time) in enumerate(zip(STEPS, times, strict=True)):
            if boxes is not None:
                recorder.record_box(step, time * second, converted("box/edges", boxes[k]).astype(dtype))
            arrays = {n: converted(n, a[k]).astype(dtype) for n, a in frames.items() if len(a) > k}
            recorder.record_frame(step, time * second, arrays)
            values = {n: converted(n, a[k]) for n, a in (observables or {}).items() if len(a) > k}
            recorder.record_observables(step, time * second, values)
        named = {"m": "mass", "charge": "charge"}
        arrays = {f"fields/{n}": converted(named[n], a) for n, a in (fields or {}).items()}
        saved = {f"fields/{n}": own[named[n]][0] for n in fields or {}}
        facts = {"labels": {"x": "position", "v": "velocity", "m": "mass"}} | (meta or {})
        run.save(Snapshot(20, times[-1], 0.1, arrays, saved, facts), recorder, keep=1)
    return path


def lattice_of_atoms(box: np.ndarray, side: int = 2) -> np.ndarray:
    """Places (side^3, 3) in a box, moved at random."""
    cells = (np.array(np.meshgrid(*[np.arange(side)] * 3, indexing="ij")).reshape(3, -1).T + 0.5) / side
    return (cells + np.random.default_rng(5).uniform(-0.2, 0.2, size=cells.shape) / side) @ box


def nearest_distances(x: np.ndarray, box: np.ndarray, periodic=(True, True, True)) -> np.ndarray:
    """Distances of all pairs (i < j) to their nearest images, by hand."""
    shifts = np.array([*product(*[(-2, -1, 0, 1, 2) if one else (0,) for one in periodic])]) @ box
    first, second = np.triu_indices(len(x), 1)
    return np.linalg.norm((x[first] - x[second])[:, None] - shifts, axis=-1).min(axis=1)
