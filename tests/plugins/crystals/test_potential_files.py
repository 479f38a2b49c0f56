"""Potentials from files of LAMMPS: against LAMMPS itself, splines by its formulas, and bad files."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Potential
from minusgrad.energies.fields import Body, State
from minusgrad.errors import MinusgradError
from minusgrad.plugin import Compound, UnitSystem
from minusgrad_crystals.potential_files.eam import eam
from minusgrad_crystals.potential_files.eam_tables import EamFiles
from minusgrad_crystals.potential_files.entry_files import SW, TERSOFF, Entries
from minusgrad_crystals.potential_files.species import Species
from minusgrad_crystals.potential_files.splines import spline_coefficients
from minusgrad_crystals.potential_files.stillinger_weber_species import stillinger_weber
from minusgrad_crystals.potential_files.tersoff_species import tersoff_of_file
from tests.plugins.crystals.potential_file_texts import CASES, FILES, setfl, state

STORED = json.loads(Path(__file__).with_name("potential_file_reference.json").read_text())
BAR = 1.6021765e6
"""eV per cubic angstrom in LAMMPS's bar, whose last digits are older than the SI's."""
UNITS = UnitSystem.of("angstrom", "u", "ps")
EV = UNITS.convert("1 eV", "J")


def parts_of(name: str, fields: Fields, kinds: np.ndarray) -> Compound:
    """The energies of a case over fields."""
    style, lines, elements, _ = CASES[name]
    names, numbers = tuple(dict.fromkeys(elements)), kinds.astype(np.int32)
    atoms = Species(names, numbers if len(names) > 1 else 0 * numbers)
    if style.startswith("eam"):
        files: Any = [line.split()[2] for line in lines]
        files = files[0] if len(files) == 1 else dict(zip(elements, files, strict=True))
        read = EamFiles.of(files, {file: text.encode() for file, text in FILES.items()})
        return eam(fields, read.tables(atoms.names), atoms, images=True, units=UNITS)
    make, file = (stillinger_weber, SW) if style == "sw" else (tersoff_of_file, TERSOFF)
    source = lines[0].split()[2]
    entries = Entries.of(source, FILES[source].encode(), file)
    return make(fields, entries, atoms, images=True, units=UNITS)


def potential_of(name: str, precision: str = "f64") -> Potential:
    x, box, kinds = state(name)
    fields = Fields({"x": x, "box": box[None]}, {"x": "m", "box": "m"}, precision)
    parts = parts_of(name, fields, kinds)
    return Potential(fields, parts.terms, parts.maps)


@pytest.mark.parametrize("name", CASES)
def test_energy_forces_and_pressure_are_those_of_lammps(name: str) -> None:
    (x, box, _), stored = state(name), STORED[name]
    one, forces = potential_of(name), np.array(stored["forces"])
    assert one.value() / EV == pytest.approx(stored["energy"], rel=1e-11)
    found = one.gradient("x") / EV
    np.testing.assert_allclose(found, -forces, rtol=0.0, atol=1e-11 * np.abs(forces).max())
    strain = x.T @ found + box.T @ one.gradient("box")[0] / EV
    pressure = -BAR * strain[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]] / abs(np.linalg.det(box))
    stress = np.array(stored["pressure"])
    np.testing.assert_allclose(pressure, stress, rtol=0.0, atol=1e-10 * np.abs(stress).max())
    single = potential_of(name, "f32")
    assert single.value() == pytest.approx(one.value(), rel=3e-6)
    close = single.gradient("x")
    np.testing.assert_allclose(close, one.gradient("x"), rtol=0.0, atol=1e-4 * EV * np.abs(forces).max())


def test_the_cases_are_hard_enough() -> None:
    """Densities beyond the table in one of them; elements with parameters, and with tables."""
    dense = potential_of("dense")
    dense.value()
    assert (dense.fields["eam_density"].values > 3.0).any()
    assert "tersoff_zeta.h" in potential_of("one element, tersoff").arguments
    assert "stillinger_weber_triple.stiffness" in potential_of("one element, sw").arguments
    assert not any("." in name for name in potential_of("tersoff").arguments)
