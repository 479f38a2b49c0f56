"""A wrong number in a scene, or a wrong function, makes the row fail that promises it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad
from minusgrad.plugin import Cutoff
from minusgrad.published import inference
from minusgrad.published.outcome import FAIL, Outcome
from minusgrad.published.published_value import PublishedValue, Workplace
from minusgrad_elastic.published import mosaic
from minusgrad_gravity.published import celestial, chaos
from minusgrad_heat.published import mosaic as slab
from minusgrad_molecular.published import liquids
from tests.published.test_rows import every_row
from tests.support.command import SCENES
from tests.support.tiers import sampled

SCENE_DAMAGES = {
    "Kepler e = 0.999": ("two_body", "masses = [0.75, 0.25]", "masses = [0.75, 0.25000001]"),
    "figure eight": ("figure_eight", "G = 1.0", "G = 1.0000001"),
    "outer Solar System, IAS15": ("outer_solar_system", "0.00029591220828559115", "0.0002959122082855"),
    "perihelion of Mercury": ("mercury", "eccentricity = 0.20563593", "eccentricity = 0.2061"),
    "LJ13 minimum": ("lj_minima", "epsilon = 1.0", "epsilon = 1.00000002"),
    "silicon of Stillinger and Weber": ("silicon", '"2.0951 angstrom"', '"2.0957 angstrom"'),
    "silicon of Tersoff": ("silicon_tersoff", 'kind = "tersoff" ', 'kind = "tersoff"\nn = 0.785\n'),
    "copper of Sutton and Chen": ("copper_constants", "c = 39.432", "c = 39.5"),
    "Foucault's pendulum": ("foucault", "5.49056796e-05", "5.49066796e-05"),
    "drift in crossed fields": ("crossed_fields", '"0 T", "1 T"]', '"0 T", "1.00001 T"]'),
    "quenched bar": ("quenched_bar", '"40 W m^-1 K^-1"', '"41 W m^-1 K^-1"'),
    "edge of chaos of two planets": ("stability_map", '"1e-4 Msun"', '"1e-5 Msun"'),
    "liquid argon by neutrons": ("argon_liquid", '"3.405 angstrom"', '"3.6 angstrom"'),
    "dam break": ("dam_break", '"-9.81 m/s^2"', '"-8.5 m/s^2"'),
    "DiffTaichi's diffmpm, 100 steps": ("diffmpm", "mu = 10.0", "mu = 10.0001"),
}
"""By row: the scene, a text in it, and what it becomes."""


def outcome(row: PublishedValue, place: Workplace) -> Outcome:
    return Outcome.of_numbers(row, np.ravel(np.asarray(row.compute(place), float)).tolist(), 0.0)


def workplace(folder: Path) -> Workplace:
    """With a copy of all scenes."""
    shutil.copytree(SCENES, folder / "scenes", ignore=shutil.ignore_patterns("pictures", "__pycache__"))
    (folder / "work").mkdir()
    scenes = {path.stem: path for path in (folder / "scenes").glob("*.toml")}
    return Workplace(folder / "work", None, scenes)


@pytest.mark.parametrize("name", sampled(SCENE_DAMAGES, ["figure eight"]))
def test_a_wrong_number_in_a_scene(name: str, tmp_path: Path) -> None:
    scene, text, damaged = SCENE_DAMAGES[name]
    place, row = workplace(tmp_path), every_row()[name]
    file = place.scenes[scene]
    assert text in file.read_text()
    file.write_text(file.read_text().replace(text, damaged))
    assert outcome(row, place).answer == FAIL


def with_stepper(name: str, **keys: Any) -> Callable[[pytest.MonkeyPatch], None]:
    """`minusgrad.NAME`, whose stepper has other keys; None takes a key away."""
    real = getattr(minusgrad, name)

    def damaged(*arguments: Any, **given: Any) -> Any:
        table = given if name == "Simulation" else dict(arguments[1])
        table["stepper"] = {k: v for k, v in (table["stepper"] | keys).items() if v is not None}
        return real(**table) if name == "Simulation" else real(arguments[0], table)

    return lambda patch: patch.setattr(minusgrad, name, damaged)


def with_energy(module: Any, name: str, **factors: float) -> Callable[[pytest.MonkeyPatch], None]:
    """An energy at hand, some of whose parameters are wrong by a factor."""
    real = getattr(module, name)

    def damaged(*arguments: Any, **given: Any) -> Any:
        return real(*arguments, **given | {k: given[k] * factor for k, factor in factors.items()})

    return lambda patch: patch.setattr(module, name, damaged)


def drifting(patch: pytest.MonkeyPatch) -> None:
    """An energy that grows by 1e-15 of itself in a year."""
    real = celestial.energy
    patch.setattr(celestial, "energy", lambda one: real(one) * (1.0 + 1e-15 * one.stepper.time / 365.25))


def with_value(module: Any, name: str, value: Any) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(module, name, value)


DAMAGES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "Pythagorean problem": with_stepper("Simulation", kind="kahan_li8", dt=0.01),
    "IAS15, Brouwer's law": with_stepper("build", tolerance=0.1),
    "WHFast, no drift of the energy": drifting,
    "symplectic correctors": with_stepper("Simulation", corrector=None),
    "standard map": with_energy(chaos, "kicked_rotor", strength=1.02),
    "saddle": with_energy(chaos, "bowl", stiffness=1.001),
    "MEGNO of regular orbits": with_value(chaos, "bowl", lambda stiffness: chaos.kicked_rotor(strength=20.0)),
    "LJ38 minimum": with_energy(minusgrad, "energy", epsilon=1.00000001),
    "LJ55 minimum": with_energy(minusgrad, "energy", epsilon=1.00000001),
    "lattice sums of fcc": with_energy(minusgrad, "energy", epsilon=1.001),
    "Ishigami function": with_value(inference, "SAMPLES", 64),
    "Lennard-Jones sum of 30 digits": with_value(liquids, "Cutoff", lambda c, **given: Cutoff(2.2, **given)),
    "Mosaic, heated slab": with_value(slab, "DENSITIES", (0.0500001, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95)),
    "Mosaic, cantilever": with_value(mosaic, "DENSITIES", (0.2000001, 0.4, 0.5, 0.7, 0.9)),
}


@pytest.mark.parametrize("name", sampled(DAMAGES, ["saddle"]))
def test_a_wrong_function(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = every_row()[name]
    DAMAGES[name](monkeypatch)
    assert outcome(row, workplace(tmp_path)).answer == FAIL
