"""Recorded frames of atoms in the units of chemists' files, whatever the units of the run.

    positions, edges      angstrom          forces        eV/angstrom
    velocities            angstrom/ps       energies      eV
    times                 ps                stress        eV/angstrom^3, positive in tension
    masses                u                 charges       e

Numbers of a frame are those that were recorded at its step, never those of another one. Of a run without
units they are as they are.

Decisions 0147.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ....energies.values.atom_labels import AtomLabels
from ....errors import UserError
from ....files import h5md, trajectory
from ....scene import units
from ..recorded_frames import RecordedFrames, in_space
from . import elements

ELECTRONVOLT, DALTON, CHARGE = (units.parse_unit(symbol).factor for symbol in ("eV", "Da", "e"))
"""In SI."""
POSITION, VELOCITY, FORCE = h5md.POSITION, h5md.VELOCITY, f"{h5md.FRAMES}/force"
ENERGY, STRESS = f"{h5md.OBSERVABLES}/potential/", f"{h5md.OBSERVABLES}/energy_stress"
SIZES = {
    "length": 1e-10,
    "time": 1e-12,
    "velocity": 1e2,
    "force": ELECTRONVOLT / 1e-10,
    "energy": ELECTRONVOLT,
    "stress": ELECTRONVOLT / 1e-30,
    "mass": DALTON,
    "charge": CHARGE,
}
"""The units of files of atoms, in SI."""


@dataclass(frozen=True)
class AtomFrame:
    """One moment: position (N, 3), velocity and force (N, 3), edges (3, 3) in rows, energy, stress (3, 3).

    None where the run has not recorded it at this step. others: further series of nodes, in the run's units.
    """

    step: int
    time: float
    position: np.ndarray
    velocity: np.ndarray | None
    force: np.ndarray | None
    edges: np.ndarray | None
    energy: float | None
    stress: np.ndarray | None
    others: Mapping[str, np.ndarray]


class AtomFrames:
    """The frames of a run as atoms; names, step, every: as for `RecordedFrames`, which raises its errors.

    given: elements (`elements.node_elements`). lj: True if a run without units is welcome. Raises
    `UserError` for one where it is not, and for positions that are no lengths.
    """

    def __init__(
        self,
        run: Path,
        form: str,
        names: Sequence[str] = (),
        step: int | None = None,
        every: int = 1,
        given: Sequence[str] = (),
        lj: bool = False,
    ):
        self.frames = RecordedFrames(run, names, step, every)
        self.run, self.form, self._given = run, form, given
        self.has_units = self._has_lengths(lj)

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[AtomFrame]:
        energies, stresses = self._energies, self._stresses
        time = self._size(POSITION, "time", of_time=True)
        for frame in self.frames:
            step, edges = frame.step, None
            if frame.edges is not None:
                edges = np.eye(3) if self.has_units else np.eye(3) * np.linalg.norm(frame.edges[0])
                d = len(frame.edges)
                edges[:d, :d] = frame.edges * self._size(POSITION, "length")
            vectors = {name: self._vectors(frame.arrays, name, step) for name in (VELOCITY, FORCE)}
            others = {
                name: array
                for name, array in frame.arrays.items()
                if name not in vectors and h5md.is_of_nodes(name) and step in self._steps[name]
            }
            yield AtomFrame(
                step,
                frame.time * time,
                frame.position.astype(np.float64) * self._size(POSITION, "length"),
                vectors[VELOCITY],
                vectors[FORCE],
                edges,
                energies.get(step),
                stresses.get(step),
                others,
            )

    # What does not change

    @cached_property
    def count(self) -> int:
        """The number of atoms."""
        return trajectory.last_row(self.run, POSITION).value.shape[1]

    @property
    def periodic(self) -> tuple[bool, bool, bool]:
        """Whether the box repeats along each edge."""
        return self.frames.periodic

    @cached_property
    def elements(self) -> list[str]:
        """The chemical symbol of each atom; X of none."""
        return elements.node_elements(self.frames.facts, self.count, self._given)

    @cached_property
    def labels(self) -> AtomLabels | None:
        """What the state says of the atoms."""
        return elements.atom_labels(self.frames.facts, self.count)

    @cached_property
    def masses(self) -> np.ndarray | None:
        """Masses (N,) in u; None of a run without masses of nodes."""
        return self._constant("mass")

    @cached_property
    def charges(self) -> np.ndarray | None:
        """Charges (N,) in e; None of a run without them."""
        return self._constant("charge")

    # Units

    def _has_lengths(self, lj: bool) -> bool:
        symbol = self.frames.unit(POSITION)
        if symbol and units.parse_unit(symbol).dimension == units.parse_unit("m").dimension:
            return True
        if symbol:
            raise UserError(
                f"{self.run}: has positions in {symbol}, got --format {self.form}, which needs lengths; use"
                " --format xyz, which writes numbers as they are"
            )
        if not lj:
            raise UserError(
                f"{self.run}: has no units, got --format {self.form}, whose readers take them for"
                " angstrom; use --format xyz, which writes them as they are, or give the scene [units]"
            )
        return False

    def _size(self, name: str, what: str, of_time: bool = False) -> float:
        """The unit of a series, or of its times, in that of files."""
        if not self.has_units:
            return 1.0
        found = trajectory.units(self.run, name)[of_time]
        return 1.0 if found is None or found[0] == "1" else found[1] / SIZES[what]

    def _vectors(self, arrays: Mapping[str, np.ndarray], name: str, step: int) -> np.ndarray | None:
        if name not in arrays or step not in self._steps[name]:
            return None
        what = "velocity" if name == VELOCITY else "force"
        return in_space(arrays[name].astype(np.float64)) * self._size(name, what)

    def _constant(self, label: str) -> np.ndarray | None:
        """A field of nodes in the newest checkpoint, by its label or its name."""
        saved = self.frames.snapshot
        if saved is None:
            return None
        labels = saved.meta.get("labels") or {}
        for folder in ("fields", "stepper/fields"):
            for name, array in saved.arrays_under(folder).items():
                array = array[0] if folder != "fields" and array.shape[:1] == (1,) else array
                if label in (labels.get(name), name) and array.shape in ((self.count,), (1,)):
                    size = (
                        _size_of_symbol(saved.units.get(f"{folder}/{name}", "1")) if self.has_units else 1.0
                    )
                    scale = size / SIZES[label] if self.has_units else 1.0
                    return np.broadcast_to(array.astype(np.float64) * scale, (self.count,))
        return None

    # Rows at the steps of frames

    @cached_property
    def _steps(self) -> dict[str, set[int]]:
        return {name: {*trajectory.steps(self.run, name).tolist()} for name in self.frames.names}

    @cached_property
    def _energies(self) -> dict[int, float]:
        """The potential energy by step: the sum of its terms."""
        found: dict[int, float] = {}
        terms = [name for name in self._observables if name.startswith(ENERGY)]
        counts: dict[int, int] = {}
        for name in terms:
            rows, size = trajectory.series(self.run, name), self._size(name, "energy")
            for step, value in zip(rows.step.tolist(), rows.value.tolist(), strict=True):
                found[step] = found.get(step, 0.0) + value * size
                counts[step] = counts.get(step, 0) + 1
        return {step: value for step, value in found.items() if counts[step] == len(terms)}

    @cached_property
    def _stresses(self) -> dict[int, np.ndarray]:
        """The stress of the energies by step; none of a plane, whose stress is no force per area."""
        if STRESS not in self._observables or self.frames.dimension != 3:
            return {}
        rows, size = trajectory.series(self.run, STRESS), self._size(STRESS, "stress")
        return {
            step: 0.5 * size * (one + one.T)
            for step, one in zip(rows.step.tolist(), rows.value.astype(np.float64), strict=True)
        }

    @cached_property
    def _observables(self) -> list[str]:
        return [name for name in trajectory.names(self.run) if name.startswith(f"{h5md.OBSERVABLES}/")]


def _size_of_symbol(symbol: str) -> float:
    """The size in SI of a unit; of one per mole, that of a single particle."""
    unit: Any = units.parse_unit(symbol)
    moles = unit.dimension[units.BASE.index("mol")]
    return unit.times(units.AVOGADRO.power(-moles)).factor if moles else unit.factor
