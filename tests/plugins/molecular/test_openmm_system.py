"""OpenMM Systems as files: lists and units, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.assembly.contexts import StateContext
from minusgrad.errors import UserError
from minusgrad.plugin import State, UnitSystem
from minusgrad_molecular.states import Molecule
from tests.support.command import SCENES
from tests.support.propanone import PLACES, PROPANONE, pdb

pytestmark = pytest.mark.unit

MOLECULAR = UnitSystem.of("nm", "u", "ps")


def made(folder: Path, system: str = PROPANONE, positions: str = "", units=MOLECULAR, **keys) -> State:
    (folder / "a.xml").write_text(system)
    (folder / "a.pdb").write_text(positions or pdb())
    context = StateContext(units, 0, folder)
    state = Molecule(system="a.xml", positions="a.pdb", **keys).make(context)
    assert context.remarks == []
    return state


def test_the_lists_of_a_system(tmp_path: Path) -> None:
    state = made(tmp_path)
    assert {name: rows.tolist() for name, rows in state.tuples.items()} == {
        "bonds": [[1, 0], [1, 2], [1, 3]],
        "urey_bradley": [[2, 3]],
        "angles": [[2, 1, 3]],
        "torsions": [[0, 1, 2, 1]],
        "impropers": [[2, 3, 1, 0]],
        "pairs14": [[0, 2]],
        "exclusions": [[0, 1], [0, 2]],
    }
    assert state.data["impropers"]["multiplicity"].tolist() == [2]
    assert state.data["impropers"]["multiplicity"].dtype == np.int32
    np.testing.assert_allclose(state.fields["x"], np.array(PLACES) / 10.0, rtol=1e-15)
    np.testing.assert_allclose(state.fields["box"], [[[3, 0, 0], [0.5, 4, 0], [0, 0.25, 5]]], rtol=1e-15)
    assert {body.name: body.nodes.tolist() for body in state.bodies} == {
        "PRO": [0, 1, 2, 3],
        "chain_A": [0, 1, 2, 3],
        "lennard_jones": [0, 2, 3],
    }


def test_the_units_of_a_system(tmp_path: Path) -> None:
    """In SI, by constants written here."""
    state, mole, e, u = (
        made(tmp_path, units=UnitSystem.si()),
        6.02214076e23,
        1.602176634e-19,
        1.66053906892e-27,
    )
    one = {name: {a: v[0] for a, v in data.items()} for name, data in state.data.items()}
    assert one["bonds"] == pytest.approx({"rest": 1.2e-10, "stiffness": 4e5 * 1e3 / mole * 1e18})
    assert one["urey_bradley"] == pytest.approx({"rest": 2.6e-10, "stiffness": 5e3 * 1e3 / mole * 1e18})
    assert one["angles"] == pytest.approx({"rest": 2.0, "stiffness": 3e5 / mole}, rel=1e-12)
    assert one["impropers"] == pytest.approx({"stiffness": 4e3 / mole, "phase": 3.0, "multiplicity": 2})
    assert one["pairs14"]["charge_product"] == pytest.approx(-0.1 * e * e, rel=1e-12)
    assert one["pairs14"]["sigma"] == pytest.approx(3.3e-10, rel=1e-12)
    assert one["pairs14"]["epsilon"] == pytest.approx(200.0 / mole, rel=1e-12)
    np.testing.assert_allclose(state.fields["charge"], np.array([-0.5, 0.5, 0.0, 0.0]) * e, rtol=1e-14)
    np.testing.assert_allclose(state.fields["epsilon"], np.array([500, 0, 400, 400]) / mole, rtol=1e-14)
    np.testing.assert_allclose(state.fields["m"], np.array([16, 12, 15, 15]) * u, rtol=1e-14)
    np.testing.assert_allclose(state.fields["box"][0, 2], [0, 0.25e-9, 5e-9], rtol=1e-14)


def test_a_ring_of_three_has_bonds_alone(tmp_path: Path) -> None:
    ring = PROPANONE.replace(
        "</Angles>",
        '<Angle a="1" k="1" p1="1" p2="2" p3="3"/><Angle a="1" k="1" p1="1" p2="3" p3="2"/></Angles>',
    )
    state = made(tmp_path, ring)
    assert len(state.tuples["bonds"]) == 4
    assert "urey_bradley" not in state.tuples


def test_constraints_are_a_list_of_lengths_and_bonds_of_torsions(tmp_path: Path) -> None:
    """A bond that is constrained in place of a spring still makes a chain of its torsion."""
    rigid = PROPANONE.replace(
        "<Constraints/>", '<Constraints><Constraint d=".12" p1="0" p2="1"/></Constraints>'
    ).replace('<Bond d=".12" k="400000" p1="1" p2="0"/>', "")
    state = made(tmp_path, rigid)
    assert state.tuples["constraints"].tolist() == [[0, 1]]
    assert state.data["constraints"]["length"] == pytest.approx([0.12])
    assert state.tuples["torsions"].tolist() == [[0, 1, 2, 1]]
    assert state.shown == ("bonds", "constraints")


def test_a_system_in_vacuum_has_no_box(tmp_path: Path) -> None:
    assert "box" not in made(tmp_path, PROPANONE.replace('method="2"', 'method="0"')).fields


def test_velocities_of_a_temperature() -> None:
    context = StateContext(MOLECULAR, 3, SCENES / "data")
    keys = {"system": "dipeptide_water.xml", "positions": "dipeptide_water.pdb"}
    state = Molecule(**keys, temperature="300 K").make(context)
    v, m = state.fields["v"], state.fields["m"]
    assert np.abs(m @ v).max() < 1e-10
    n = len(m)
    found = (m @ v**2).sum() / (3 * n - 3) / 8.31446261815324e-3
    assert abs(found - 300.0) < 4.0 * 300.0 * np.sqrt(2.0 / (3 * n))
    assert not Molecule(**keys).make(context).fields["v"].any()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<System ", "<Systems ", "'a.xml': is no XML (mismatched tag: line 26, column 2); write it with"
         " openmm.XmlSerializer"),
        (PROPANONE, "<Force/>", "'a.xml': must be an OpenMM System, got <Force>; write"
         " openmm.XmlSerializer.serialize(system)"),
        (PROPANONE, "<!DOCTYPE a><System/>",
         "'a.xml': must have no document type declaration, got one; remove it"),
        (PROPANONE, "<System/>", "'a.xml': has no particles; write a System with some"),
        ("<Constraints/>", '<Constraints><Constraint d="0.1" p1="1" p2="1"/></Constraints>',
         "'a.xml': Constraint must keep two atoms at a distance above 0, got atoms 1 and 1 at 0.1 nm;"
         " correct it"),
        ("<Constraints/>", '<Constraints><Constraint d="0" p1="0" p2="1"/></Constraints>',
         "'a.xml': Constraint must keep two atoms at a distance above 0, got atoms 0 and 1 at 0 nm;"
         " correct it"),
        ("<Constraints/>", '<Constraints><Constraint d=".1" p1="0" p2="1"/><Constraint d=".1" p1="1" p2="0"/>'
         "</Constraints>",
         "'a.xml': Constraint of atoms 1 and 0 must be there once, got two; leave one out"),
        ("<Constraints/>", '<Constraints><Constraint d=".1" p1="0" p2="1"/><Constraint d=".1" p1="2" p2="0"/>'
         '<Constraint d=".21" p1="1" p2="2"/></Constraints>',
         "'a.xml': Constraints of atoms 0, 1 and 2 must be the sides of a triangle, got 0.1, 0.1, 0.21 nm, of"
         " which one is longer than the others together; correct them"),
        ("<Forces>", '<Forces><Force type="CMAPTorsionForce"><Maps><Map size="2"><Energy e="1"/></Map></Maps>'
         "</Force>",
         "'a.xml': CMAPTorsionForce: a map must have `size` times `size` energies, got 1 and size 2; write"
         " the file again"),
        ("<Forces>", '<Forces><Force type="CMAPTorsionForce"><Maps><Map size="1"><Energy e="1"/></Map></Maps>'
         '<Torsions><Torsion map="0" a1="0" a2="1" a3="2" a4="3" b1="0" b2="1" b3="2" b4="3"/></Torsions>'
         "</Force>",
         "'a.xml': CMAPTorsionForce: the torsions of a map must be those of a chain of five atoms, got"
         " [0, 1, 2, 3] and [0, 1, 2, 3]; leave torsion 0 out"),
        ("<Forces>", '<Forces><Force type="DrudeForce"/>',
         "'a.xml': DrudeForce is not supported; take a force field with fixed charges"),
        ('<Particle mass="12"/>', '<Particle mass="-1"/>',
         "'a.xml': particle 1 must have a mass of at least 0, got -1; correct it"),
        ("<ParticleOffsets/>", '<ParticleOffsets><Offset parameter="a" particle="0"/></ParticleOffsets>',
         "'a.xml': NonbondedForce: offsets must be of a global parameter and of one of the 4 particles, got"
         " 'a' and 0; write the file again"),
        ('p1="2" p2="1" p3="3"', 'p1="2" p2="4" p3="3"',
         "'a.xml': HarmonicAngleForce: atoms must be whole numbers from 0 to 3, got 2, 4, 3; correct number"
         " 0"),
        ('d=".12"', 'd="nan"',
         "'a.xml': HarmonicBondForce needs a finite number `d` everywhere; write the file again"),
        ('<Particle eps="0.5" q="-.5" sig=".3"/>', "",
         "'a.xml': NonbondedForce must have 4 particles, as the System has, got 3; write the file again"),
        ("</Forces>", '<Force type="NonbondedForce"/></Forces>',
         "'a.xml': must have at most one NonbondedForce, got 2; put them together"),
        ('<C x="0" y="0.25" z="5"/>', "",
         "'a.xml': PeriodicBoxVectors need A, B and C; write them"),
        ('periodicity="2"', 'periodicity="2.5"',
         "'a.xml': PeriodicTorsionForce: periodicity must be a whole number, got 2.5; correct it"),
    ],
)  # fmt: skip
def test_files_that_are_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in PROPANONE
    with pytest.raises(UserError) as refusal:
        made(tmp_path, PROPANONE.replace(old, new))
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (pdb(PLACES[:3]), "positions: must have the atoms of the System, 4, got 3; give the PDB file that the"
         " System was made of"),
        ("HEADER\n", "'a.pdb': has no ATOM or HETATM records, got 7 bytes; give a PDB file"),
        (pdb().replace("   1.200", "   1.2x0"), "'a.pdb': line 1: columns 31 to 54 must be three numbers, got"
         " '0.000   0.000   1.2x0'; correct them"),
    ],
)  # fmt: skip
def test_places_that_are_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refusal:
        made(tmp_path, positions=text)
    assert str(refusal.value) == message


def test_models_and_alternate_locations_of_a_pdb_file(tmp_path: Path) -> None:
    """The first model; of each atom the location A."""
    lines = pdb().splitlines(keepends=True)
    other = lines[1][:16] + "B" + lines[1][17:]
    text = "".join([lines[0], lines[1][:16] + "A" + lines[1][17:], other, *lines[2:], "ENDMDL\n", *lines])
    assert np.array_equal(made(tmp_path, positions=text).fields["x"], made(tmp_path).fields["x"])


def test_the_motion_of_the_centre_is_left_out_with_a_remark(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(PROPANONE.replace("<Forces>", '<Forces><Force type="CMMotionRemover"/>'))
    (tmp_path / "a.pdb").write_text(pdb())
    context = StateContext(MOLECULAR, 0, tmp_path)
    Molecule(system="a.xml", positions="a.pdb").make(context)
    assert context.remarks == ["'a.xml': CMMotionRemover is left out: steppers here keep the momentum"]
