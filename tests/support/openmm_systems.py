"""Systems of OpenMM, at the same places by the compound `force_field` and by the platform Reference."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import minusgrad

SCENE = """\
title = "A System of OpenMM"
plugins = ["elastic", "electrostatics", "molecular"]
units.system = "molecular"
state = { kind = "molecule", system = "a.xml", positions = "a.pdb" }
compound = [{ kind = "force_field" }]
stepper = { kind = "leapfrog", dt = "0.5 fs" }
run.steps = 2
checkpoint.every = 1
"""


@dataclass(frozen=True)
class Beside:
    """U [kJ/mol] and forces (n, 3) [kJ/mol/nm], ours by term; `theirs` and `their_forces` of OpenMM."""

    terms: dict[str, float]
    forces: np.ndarray
    theirs: float
    their_forces: np.ndarray

    @property
    def error(self) -> float:
        """|dU| / |U|."""
        return abs(sum(self.terms.values()) - self.theirs) / max(abs(self.theirs), 1e-300)

    @property
    def error_of_forces(self) -> float:
        """The largest |dF|, over the largest |F|."""
        largest = np.linalg.norm(self.their_forces, axis=1).max()
        return float(np.linalg.norm(self.forces - self.their_forces, axis=1).max() / max(largest, 1e-300))


def write_scene(folder: Path, system: Any, places: np.ndarray, text: str = SCENE) -> Path:
    """A scene of a System (an object of OpenMM, or its XML) and places (n, 3) [nm]; the path of the scene."""
    from openmm import XmlSerializer

    xml = system if isinstance(system, str) else XmlSerializer.serialize(system)
    (folder / "a.xml").write_text(xml)
    rows = (
        f"ATOM  {(k + 1) % 100000:5d}  C   MOL A{k // 100 % 10000:4d}    {x:8.3f}{y:8.3f}{z:8.3f}\n"
        for k, (x, y, z) in enumerate(10.0 * places)
    )
    (folder / "a.pdb").write_text("".join(rows))
    (folder / "a.toml").write_text(text)
    return folder / "a.toml"


def beside_openmm(folder: Path, system: Any, places: np.ndarray, text: str = SCENE, **changes: Any) -> Beside:
    """A System at places (n, 3) [nm], here and by OpenMM's platform Reference; forces are those on atoms.

    Virtual sites are where OpenMM computes them.
    """
    from openmm import Context, Platform, VerletIntegrator, unit

    places = np.asarray(places, float)
    built = minusgrad.build(write_scene(folder, system, places, text), changes)
    angstrom = built.units.convert("1 angstrom", "m")
    atoms = [k for k in range(len(places)) if not system.isVirtualSite(k)]
    built.fields["x"].set(10.0 * places[atoms] * angstrom)
    potential, kilojoules = built.potential, built.units.in_si("J") * 6.02214076e20
    per_nanometre = kilojoules / (0.1 * angstrom)
    integrator = VerletIntegrator(0.001)
    context = Context(system, integrator, Platform.getPlatformByName("Reference"))
    context.setPositions(places)
    context.computeVirtualSites()
    state = context.getState(getEnergy=True, getForces=True)
    kj = unit.kilojoule_per_mole
    return Beside(
        {name: u * kilojoules for name, u in potential.by_term().items()},
        -potential.gradient("x") * per_nanometre,
        state.getPotentialEnergy().value_in_unit(kj),
        state.getForces(asNumpy=True).value_in_unit(kj / unit.nanometer)[atoms],
    )
