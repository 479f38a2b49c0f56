"""Stress and elastic constants of a saved state of a run: read from its folder, which stays as it is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..assembly.plugin_blame import blaming
from ..errors import EnergyError, UserError
from ..potential.constraints.constraints import Constraints
from ..potential.potential import Potential
from ..scene import units
from ..scene.units import UnitSystem
from ..steppers.pressure.elasticity import STRAINS, Elasticity, elastic_constants
from ..steppers.stepper import Stepper
from .run_options import Plugins
from .saved_simulation import constraints_over, derivatives_in_double, saved_simulation

AXES = "xyz"


@dataclass(frozen=True)
class RunElasticity:
    """The elastic constants of a run at a saved step; `found` is in the run's units."""

    folder: Path
    step: int
    units: UnitSystem
    found: Elasticity

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return len(self.found.stress)

    @property
    def unit(self) -> tuple[str, float]:
        """The unit of tables, and its size in that of the run: GPa, in the plane N/m, 1 without units."""
        if not self.units.names:
            return "1", 1.0
        symbol, unit, in_si = ("GPa", "Pa", 1e9) if self.dimension == 3 else ("N/m", "N/m", 1.0)
        return symbol, in_si / self.units.in_si(unit)

    @property
    def strains(self) -> list[str]:
        """The components of the strain in Voigt's order: xx, yy, zz, yz, xz, xy, in the plane xx, yy, xy."""
        return [AXES[a] + AXES[b] for a, b in STRAINS[self.dimension]]

    @property
    def relaxes(self) -> bool:
        """True if the atoms are at a minimum, so that they have a relaxation."""
        return bool(np.isfinite(self.found.relaxed).all())

    @property
    def follows(self) -> bool:
        """True if all atoms can follow a strain: no constraint keeps them from it."""
        return bool(np.isfinite(self.found.unrelaxed).all())

    @property
    def head(self) -> tuple[str, ...]:
        """Titles of the table: the strain, the stress, and the constants by strain."""
        symbol = self.unit[0]
        return "strain", units.with_unit("stress", symbol), *self.strains

    def rows(self) -> list[tuple[str, ...]]:
        """The stress, and the constants; without relaxation where the atoms are at no minimum."""
        size, found = self.unit[1], self.found
        table = (found.relaxed if self.relaxes else found.unrelaxed) / size
        stresses = [found.stress[a, b] / size for a, b in STRAINS[self.dimension]]
        return [
            (name, self._number(stress), *map(self._number, row))
            for name, stress, row in zip(self.strains, stresses, table, strict=True)
        ]

    def remarks(self) -> list[str]:
        """Remarks below the table: counts, forces left, units."""
        symbol, size = self.unit
        d, table = self.dimension, self.found.relaxed if self.relaxes else self.found.unrelaxed
        bulk = float(table[:d, :d].sum()) / d**2 / size
        said = [f"bulk modulus (Voigt): {bulk:.6g} {symbol}".removesuffix(" 1")]
        if self.relaxes:
            least = float(np.linalg.eigvalsh(table)[0]) / size
            stable = "stable" if least > 0.0 else "NOT stable: strains grow by themselves"
            said.append(f"smallest eigenvalue: {least:.6g} {symbol} ({stable})")
            also = "; --json has the constants without it, too" if self.follows else " along the constraints"
            said.append(f"with the relaxation of atoms{also}")
        else:
            said.append("NOT relaxed: the atoms are at no minimum, and follow the strain here")
            said.append("minimise U first: [stepper] kind = 'lbfgs'")
        force = units.number_with_unit(self.found.largest_force, self.units.symbol("N"))
        return [*said, f"largest |dU/dx|: {force}", "Birch's coefficients, static: without vibrations"]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; constants without relaxation, too."""
        symbol, size = self.unit
        facts = {"folder": str(self.folder), "step": self.step, "unit": symbol, "strains": self.strains}
        facts |= {"stress": (self.found.stress / size).tolist(), "largest_force": self.found.largest_force}
        facts |= {"unrelaxed": (self.found.unrelaxed / size).tolist() if self.follows else None}
        facts |= {"relaxed": (self.found.relaxed / size).tolist() if self.relaxes else None}
        return facts | {"remarks": self.remarks()}

    def _number(self, value: float) -> str:
        """As many decimals as give the largest constant six digits."""
        table = self.found.relaxed if self.relaxes else self.found.unrelaxed
        largest = float(np.abs(table).max()) / self.unit[1]
        decimals = max(5 - int(np.floor(np.log10(largest))), 0) if largest > 0.0 else 0
        return f"{round(value, decimals) + 0.0:.{decimals}f}"  # so that -0.0 becomes 0.0


def elastic(path: Path, at: int | None = None, plugins: Plugins = ()) -> RunElasticity:
    """Stress and elastic constants of a run at its last saved state, or that of step `at`.

    path: the run folder. plugins: the files that the run was started with. In single precision, derivatives
    at the saved state are computed in double. Raises `RunFolderError` for a folder without a run,
    `CheckpointError` for a step that was not saved, `EnergyError` without a periodic box.
    """
    simulation, step = saved_simulation(path, at, plugins, "elastic")
    with blaming(simulation.registry):
        potential, time = derivatives_in_double(simulation.potential), simulation.stepper.time
        try:
            kept = simulation.stepper.constraints
            kept = None if kept is None else constraints_over(potential.fields, kept)
            found = _relaxed_or_not(potential, time, kept, simulation.stepper)
        except UserError as error:
            raise EnergyError(f"{path}: {error}") from error
    return RunElasticity(path, step, simulation.units, found)


def _relaxed_or_not(
    potential: Potential, time: float, kept: Constraints | None, stepper: Stepper
) -> Elasticity:
    """The constants without relaxation where the atoms are at no minimum; under constraints refused there."""
    if kept is not None:
        return elastic_constants(potential, time, constraints=kept, stepper=stepper)
    without = elastic_constants(potential, time, relax=False, stepper=stepper)
    try:
        return elastic_constants(potential, time)
    except EnergyError:
        return without
