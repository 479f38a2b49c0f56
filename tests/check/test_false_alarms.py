"""`check` never cries wolf: no error finding on our own energies and scenes, and on random energies.

Random energies are those of `random_energies` without decisions: where `if` and `select` choose between any
two values U jumps, which must be reported. A few are checked in every run, 60 in the long tier, and 500 with
MINUSGRAD_ZOO=all.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from minusgrad import local_energy
from minusgrad.app.runs import build
from minusgrad.assembly.registry import Registry
from minusgrad.check import term_check
from minusgrad.energies.constraint import Constraint
from minusgrad.energies.magnetic_field import MagneticField
from minusgrad.steppers.magnetic.flow import flow_energy
from minusgrad.symbolic.graph import reachable
from minusgrad.symbolic.operations import OPERATIONS
from tests.support.command import one_member, own_files
from tests.support.random_energies import ROLES
from tests.support.random_programs import Program, drawn
from tests.support.short_scenes import shortened
from tests.support.tiers import counts, sampled

SHIPPED = Registry.load().energies()
FOLDER = Path(__file__).parents[2] / "scenes"
SCENES = sorted(file.stem for file in FOLDER.glob("*.toml"))
LARGE = ("laser_butterfly", "rigid_body", "volume_renderer", "diffmpm", "liquid", "water_renderer")
LARGE += ("copper_constants", "electric", "laser_image", "mpm_lagrangian", "peptide_in_water", "rigid_water")
LARGE += ("diffmpm3d", "engraver_text", "process_window", "two_photon")
LARGE += ("silicon_tersoff", "galaxy_collision", "yukawa_cluster")
COSTLY = ("smoke", "dam_break", "inflated_tube", "topology")
"""Scenes that take more than 8 s of CPU time each; their energies are asked by themselves."""
BARE = ("double_pendulum", "foucault", "tennis_racket")
"""Scenes without energies: their Lagrangians and constraints are asked in `tests/adjoint`."""
NUMBERS = counts(2, 500 if os.environ.get("MINUSGRAD_ZOO") == "all" else 60)
DECISIONS = {"select", *(name for name, row in OPERATIONS.items() if row.rounding)}


def accused(findings) -> list[str]:
    asked = list(findings)
    assert len(asked) > 8
    return [f"{f.term}.{f.argument}: {f.question}: {f.text}" for f in asked if not f.passed]


FIELDS = [e for e in SHIPPED.values() if isinstance(e, MagneticField)]
APART = (MagneticField, Constraint)
"""Kinds that are no energies by themselves."""
ENERGIES = [n for n, e in SHIPPED.items() if not isinstance(e, APART) and not getattr(e, "cell", None)]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_no_flow_of_our_magnetic_fields_is_accused(field: MagneticField, d: int) -> None:
    assert accused(term_check.of_energy(flow_energy(field, d, True, True), d)) == []


@pytest.mark.parametrize("name", sampled(ENERGIES, ENERGIES[::10]))
def test_no_energy_of_ours_is_accused(name: str) -> None:
    """In space; scenes ask those of the plane, and maps to grids."""
    assert accused(term_check.of_energy(SHIPPED[name])) == []


SMALLER = {
    "copper_constants": ["state.cells=[1, 1, 1]", 'map.0.cutoff="8 angstrom"', 'energy.0.cutoff="8 angstrom"']
}
"""Overrides of scenes whose many atoms say no more than a few."""
SHORT = ("diffmpm", "diffmpm3d", "engraver_text", "liquid")
"""Asked with fewer particles and pixels; many cells of their grids are empty."""
SAMPLE = [n for n in [n for n in SCENES if n not in LARGE][::6] if n not in (*COSTLY, *BARE)]


@pytest.mark.parametrize("scene", sampled([n for n in SCENES if n not in BARE], SAMPLE))
def test_no_scene_of_ours_is_accused(scene: str) -> None:
    changes: Any = ['runtime.precision="f64"', *one_member(scene), *SMALLER.get(scene, [])]
    if scene in SHORT:
        changes = shortened(scene) | {"runtime.precision": "f64"}
    simulation = build(FOLDER / f"{scene}.toml", changes, plugins=own_files(scene))
    found = accused(term_check.of_potential(simulation.potential, simulation.stepper.time))
    assert found == []


def smooth(number: int) -> list[Program]:
    """Random energies whose value has no jump."""
    found = [p for p in drawn(8 * number) if not DECISIONS & {node.op for node in reachable([p.value])}]
    assert len(found) >= number
    return found[:number]


@pytest.mark.parametrize("number", NUMBERS)
def test_no_random_energy_is_accused(number: int) -> None:
    accusations = {}
    for k, program in enumerate(smooth(number)):
        energy = local_energy(f"random{k}", over=2, **ROLES)(program.function)
        if found := accused(term_check.of_energy(energy, seed=k)):
            accusations[program.text] = found
    assert accusations == {}
