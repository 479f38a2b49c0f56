"""Normal modes of a saved state of a run: read from its folder, which stays as it is."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..assembly.built_scene import BuiltScene
from ..assembly.plugin_blame import blaming
from ..errors import EnergyError, UserError
from ..plot.modes.mode_shapes import Shapes
from ..scene import units
from ..scene.units import UnitSystem, quotient
from ..steppers.stability.lagrangian_modes import lagrangian_modes
from ..steppers.stability.normal_modes import NormalModes, normal_modes
from ..steppers.systems.parts import ALL, FRICTION, MAGNETIC, Consumer
from .run_options import Plugins
from .saved_simulation import constraints_in_double, derivatives_in_double, saved_simulation

HERTZ, LIGHT = 1e12, 299_792_458e2
"""Hz in a THz; the speed of light [cm/s], by which spectroscopists divide frequencies."""
MOLECULAR = 1e9
"""Hz from which on the highest frequency is given in THz and cm^-1."""


MODES = Consumer(
    "modes",
    ALL - {MAGNETIC},
    idle={FRICTION: "the frequencies are those of the undamped system"},
    cure="leave it out for the modes without it",
)
"""The parts of a system that have a rule in the vibrations about a state."""


@dataclass(frozen=True)
class RunModes:
    """The lowest normal modes of a run at a saved step.

    `found`: eigenvalues and displacements in the run's units. `simulation`: the run at that step.
    """

    folder: Path
    step: int
    simulation: BuiltScene
    found: NormalModes

    @property
    def units(self) -> UnitSystem:
        return self.simulation.units

    @cached_property
    def hertz(self) -> np.ndarray | None:
        """The frequencies (k,) in Hz; None in a dimensionless scene."""
        return self.found.frequencies / self.units.in_si("s") if self.units.symbol("s") != "1" else None

    @property
    def is_molecular(self) -> bool:
        """True where THz and cm^-1 are the usual units."""
        return self.hertz is not None and bool(np.abs(self.hertz).max(initial=0.0) >= MOLECULAR)

    def kind(self, k: int) -> str:
        """`zero`, `unstable`, or nothing."""
        return "zero" if self.found.zero[k] else "unstable" if self.found.unstable[k] else ""

    @property
    def unit(self) -> str:
        """The unit of frequency of tables and pictures."""
        if self.is_molecular:
            return "THz"
        clock = self.units.symbol("s")
        return "1" if clock == "1" else "Hz" if clock == "s" else f"{clock}^-1"

    @property
    def shown(self) -> np.ndarray:
        """The frequencies (k,) in `unit`; of unstable modes negative."""
        return self.hertz / HERTZ if self.is_molecular and self.hertz is not None else self.found.frequencies

    def remarks(self) -> list[str]:
        """Remarks below the table: counts, forces left, units."""
        found, (zero, unstable) = self.found, (int(self.found.zero.sum()), int(self.found.unstable.sum()))
        said = [f"{len(found)} lowest of {found.total} modes: {zero} zero, {unstable} unstable"]
        for name, size in found.gradient.items():
            unit = self._force_unit(name)
            rest = "at rest" if found.at_rest else "NOT at rest: these are modes of the quadratic part of U"
            along = "" if self.simulation.constraints is None else " along the constraints"
            of = "U" if self.simulation.lagrangian is None else "(U - L)"
            said.append(f"largest |d{of}/d{name}|{along}: {units.number_with_unit(size, unit)} ({rest})")
        if self.simulation.lagrangian is not None:
            said.append("velocities are left out: a Lagrangian vibrates about rest")
        elif not found.at_rest:
            said.append("minimise U first for vibrations about a place of rest: [stepper] kind = 'lbfgs'")
        if found.zero[-1] and len(found) < found.total:
            said.append("all of these are zero modes; ask for more: --count")
        if self.simulation.dissipation is not None:
            said.append("friction is left out: the frequencies are those of the undamped system")
        return said

    def _force_unit(self, field: str) -> str:
        return self.units.symbol(quotient("J", self.simulation.fields[field].unit))

    def as_dict(self, mode: int | None = None) -> dict[str, Any]:
        """For JSON; with the displacements of one mode."""
        found = self.found
        clock = self.units.symbol("s")
        modes = []
        for k in range(len(found)):
            one: dict[str, Any] = {"mode": k + 1, "kind": self.kind(k)}
            one |= {"eigenvalue": float(found.eigenvalues[k]), "frequency": float(found.frequencies[k])}
            if self.hertz is not None:
                one |= {"hertz": float(self.hertz[k])}
            modes.append(one)
        shown = {} if mode is None else {"mode": mode, "displacements": self._displacements(mode)}
        facts = {"folder": str(self.folder), "step": self.step, "unit_of_time": clock, "total": found.total}
        facts |= {"at_rest": found.at_rest, "gradient": found.gradient, "remarks": self.remarks()}
        return facts | {"modes": modes} | shown

    def _displacements(self, mode: int) -> dict[str, Any]:
        return {name: shapes[mode - 1].tolist() for name, shapes in self.found.shapes.items()}

    def rows(self) -> list[tuple[str, ...]]:
        """Rows of a table; `head` has its titles."""
        rows = []
        for k, f in enumerate(self.found.frequencies):
            row = [str(k + 1), self._number(f), self._number(2.0 * np.pi * f)]
            if self.is_molecular and self.hertz is not None:
                hertz = float(self.hertz[k])
                row += [self._number(hertz / HERTZ), self._number(hertz / LIGHT)]
            rows.append((*row, self.kind(k)))
        return rows

    @property
    def head(self) -> tuple[str, ...]:
        """Titles of the table: its frequencies are those of the run's units, then THz and cm^-1."""
        clock = self.units.symbol("s")
        per = {"1": ("1", "1"), "s": ("Hz", "rad s^-1")}.get(clock, (f"{clock}^-1", f"rad {clock}^-1"))
        names = ["mode", units.with_unit("frequency", per[0]), units.with_unit("omega", per[1])]
        return (*names, *(("THz", "cm⁻¹") if self.is_molecular else ()), "")

    @staticmethod
    def _number(value: float) -> str:
        """`12.34`, and `1.2 i` of what grows, since the square of its frequency is below zero."""
        return f"{abs(value):.6g}{' i' if value < 0 else ''}"

    def drawn(self) -> list[Shapes]:
        """For pictures: the displacements of each moving field."""
        simulation, found = self.simulation, []
        grids = simulation.state.grids.values()
        for name, moved in self.found.shapes.items():
            field = simulation.fields[name]
            raster = next((g.shape for g in grids if name in g.fields), None)
            lists = [simulation.state.tuples[n] for n in simulation.state.shown]
            unit = self.units.symbol(field.unit)
            label = simulation.state.labels.get(name, name)
            places = field.values.astype(np.float64)
            kinds = tuple(self.kind(k) for k in range(len(self.found)))
            found.append(Shapes(label, unit, places, moved, lists, raster, self.shown, self.unit, kinds))
        return found


def modes(path: Path, at: int | None = None, count: int = 30, plugins: Plugins = ()) -> RunModes:
    """The `count` lowest normal modes of a run at its last saved state, or that of step `at`.

    path: the run folder. plugins: the files that the run was started with. In single precision, derivatives
    at the saved state are computed in double. Raises `RunFolderError` for a folder without a run,
    `CheckpointError` for a step that was not saved, `EnergyError` where there are no modes.
    """
    simulation, step = saved_simulation(path, at, plugins, "modes")
    with blaming(simulation.registry):
        about = simulation.state.motions, simulation.holds, simulation.stepper.time, count
        potential, kept = (
            derivatives_in_double(simulation.potential),
            constraints_in_double(simulation.constraints),
        )
        try:
            MODES.accept(simulation.system)
            if simulation.lagrangian is None:
                found = normal_modes(potential, *about, kept)
            else:
                moved = derivatives_in_double(simulation.lagrangian)
                found = lagrangian_modes(potential, moved, *about, kept)
        except UserError as error:
            raise EnergyError(f"{path}: {error}") from error
    return RunModes(path, step, simulation, found)
