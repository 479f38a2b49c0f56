"""Test systems of openmmtools by the compound `force_field`, beside OpenMM's platform Reference.

    pip install --no-deps openmmtools
    python -m tests.plugins.molecular.openmmtools_systems [NAME ...]

prints a row for each system: atoms, its forces, |dU| / |U| and the largest |dF| over the largest |F|, or why
it is refused. Without its dependencies openmmtools does not import as a whole: `named_system` imports the
module with the systems alone. Places are those of the system, moved at random by up to 0.005 nm, so that
crystals have forces.
"""

import importlib.util
import sys
import tempfile
import types
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.errors import MinusgradError
from tests.support.openmm_systems import beside_openmm

SYSTEMS = (
    "HarmonicOscillator",
    "Diatom",
    "DiatomicFluid",
    "DipolarFluid",
    "SodiumChlorideCrystal",
    "LennardJonesPair",
    "LennardJonesCluster",
    "LennardJonesFluid",
    "LennardJonesFluidTruncated",
    "LennardJonesGrid",
    "CustomLennardJonesFluidMixture",
    "WCAFluid",
    "IdealGas",
    "WaterCluster",
    "WaterBox",
    "FlexibleWaterBox",
    "FourSiteWaterBox",
    "FiveSiteWaterBox",
    "AlanineDipeptideVacuum",
    "AlanineDipeptideImplicit",
    "AlanineDipeptideExplicit",
    "TolueneVacuum",
    "TolueneImplicitHCT",
    "TolueneImplicitOBC1",
    "TolueneImplicitOBC2",
    "TolueneImplicitGBn",
    "TolueneImplicitGBn2",
    "HostGuestVacuum",
    "HostGuestImplicit",
    "HostGuestExplicit",
    "MethanolBox",
    "MolecularIdealGas",
    "LysozymeImplicit",
    "DNADodecamerExplicit",
    "DHFRExplicit",
    "CustomGBForceSystem",
    "AMOEBAIonBox",
)


def named_system(name: str) -> Any:
    """A system of openmmtools, with `system` and `positions`."""
    if "openmmtools" not in sys.modules:
        spec = importlib.util.find_spec("openmmtools")
        assert spec is not None
        package = types.ModuleType("openmmtools")
        package.__path__, package.__spec__ = list(spec.submodule_search_locations or ()), spec
        sys.modules["openmmtools"] = package
    return getattr(import_module("openmmtools.testsystems"), name)()


def compare(name: str, folder: Path) -> tuple[str, str, Any]:
    """Atoms, forces, and the system beside OpenMM, or the refusal."""
    from openmm import unit

    made = named_system(name)
    system, places = made.system, np.array(made.positions.value_in_unit(unit.nanometer), float)
    places += np.random.default_rng(0).uniform(-0.005, 0.005, places.shape)
    forces = sorted(
        {force.__class__.__name__.removesuffix("Force") for force in system.getForces()} - {"CMMotionRemover"}
    )
    try:
        found: Any = beside_openmm(folder, system, places)
    except MinusgradError as refusal:
        found = refusal
    return f"{system.getNumParticles():,}", ", ".join(forces), found


def row_of(name: str) -> str:
    """The row of a system in the table."""
    with tempfile.TemporaryDirectory() as folder:
        atoms, forces, found = compare(name, Path(folder))
    if isinstance(found, MinusgradError):
        why = str(found).split("'a.xml': ")[-1]
        return f"| `{name}` | {atoms} | {forces} | refused: {why} | |"
    return f"| `{name}` | {atoms} | {forces} | {found.error:.1e} | {found.error_of_forces:.1e} |"


def main(names: list[str]) -> None:
    print("| system | particles | forces | error of U | error of forces |")
    print("|---|---|---|---|---|")
    for name in names or SYSTEMS:
        print(row_of(name), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
