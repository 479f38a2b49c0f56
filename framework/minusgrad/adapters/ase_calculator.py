"""The energy of a scene as a calculator of ASE: energy [eV], forces [eV/angstrom], and the exact Hessian.

Decisions 0340.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from ase.calculators.calculator import Calculator as AseCalculator
from ase.calculators.calculator import all_changes

from ..app.run_options import Overrides, Plugins
from ..engine.runtime import ENGINE
from ..errors import AtomsError
from .scene_energy import Given, GivenUnits, SceneEnergy

ELECTRONVOLT, ANGSTROM = 1.602176634e-19, 1e-10
"""J and m; exact."""
VOIGT = (0, 1, 2, 1, 0, 0), (0, 1, 2, 2, 2, 1)
"""Rows and columns of the six components of a stress, in ASE's order."""
UNITS = GivenUnits(ANGSTROM, ELECTRONVOLT)


class Calculator(AseCalculator):
    """The energy of a scene, for ASE's atoms: optimisers, nudged elastic bands, dimers, phonons.

        atoms.calc = minusgrad.ase.Calculator("scene.toml")
        atoms.get_potential_energy(), atoms.get_forces(), atoms.calc.get_hessian(atoms)

    scene: the path of a scene file, a simulation from `minusgrad.build`, or a potential. overrides, plugins:
    those of `minusgrad.run`. The atoms' positions become the scene's field "x", in the same order; species,
    masses and charges are those of the scene, and ASE's are not read. A scene without units, and a
    potential, are taken to be in eV and angstrom. The cell of the atoms becomes the box of a scene that has
    one, and repeats along the same axes; a scene that repeats along all three has a stress. Forces are those
    of the unconstrained U: what the scene holds is held by ASE's own constraints. The calculator has its own
    copy of the scene.

    Raises `SceneError` with all mistakes of the scene, `AtomsError` for atoms that do not fit it.
    """

    implemented_properties: list[str]
    results: dict[str, Any]

    def __init__(self, scene: Given, overrides: Overrides = (), plugins: Plugins = ()):
        super().__init__()
        self._scene = SceneEnergy(scene, UNITS, overrides, plugins)
        self.implemented_properties = ["energy", "free_energy", "forces"]
        self.implemented_properties += ["stress"] * all(self._scene.periodic)

    def calculate(
        self,
        atoms: Any = None,
        properties: Sequence[str] = ("energy",),
        system_changes: Sequence[str] = all_changes,
    ) -> None:
        """Compute energy, forces and if asked the stress of the atoms into `results`.

        Raises `AtomsError` for atoms that do not fit, `NonFiniteError` for infinity and NaN.
        """
        super().calculate(atoms, properties, system_changes)
        with ENGINE:
            self._place()
            energy, gradient = self._scene.energy_and_gradient()
            if "stress" in properties:
                self.results["stress"] = self._scene.stress()[VOIGT]
        self.results.update(energy=energy, free_energy=energy, forces=-gradient)

    def get_hessian(self, atoms: Any = None, sparse: bool = False) -> Any:
        """d2U/dx2 [eV/angstrom^2], (3 n, 3 n): a dense array, or with `sparse` SciPy's CSR matrix.

        Raises `EnergyError` where the energy has no second derivatives.
        """
        if atoms is not None:
            self.atoms = atoms.copy()
            self.results = {}
        with ENGINE:
            self._place()
            found = self._scene.hessian()
        return found if sparse else np.asarray(found.toarray())

    def _place(self) -> None:
        """Give the atoms to the scene. Raises `AtomsError` where they repeat along other axes."""
        atoms: Any = self.atoms
        repeated = tuple(map(bool, atoms.pbc))
        if repeated != self._scene.periodic:
            raise AtomsError(
                f"atoms: the scene is periodic along {_named(self._scene.periodic)}, got atoms that are along"
                f" {_named(repeated)}; set atoms.pbc, or [box] of the scene"
            )
        self._scene.place(atoms.positions, atoms.cell.array if any(repeated) else None)


def _named(periodic: tuple[bool, ...]) -> str:
    return ", ".join(axis for axis, yes in zip("xyz", periodic, strict=True) if yes) or "no axis"
