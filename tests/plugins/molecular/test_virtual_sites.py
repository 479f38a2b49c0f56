"""Virtual sites of OpenMM Systems: closed forms, OpenMM's Reference platform, and what is refused."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad
from minusgrad import Fields
from minusgrad.assembly.contexts import StateContext
from minusgrad.errors import UserError
from minusgrad.plugin import State, UnitSystem
from minusgrad_molecular.states import Molecule
from minusgrad_molecular.virtual_sites import site_maps
from tests.support.site_waters import reference, scene_of, water_in_openmm

MOLECULAR = UnitSystem.of("nm", "u", "ps")
PLACES = ((0.11, 0.2, 0.3), (0.15, 0.23, 0.31), (0.1, 0.27, 0.35))
"""Three atoms [nm]."""
SITES = {
    "two": '<TwoParticleAverageSite p1="1" p2="3" w1="0.7" w2="0.3"/>',
    "three": '<ThreeParticleAverageSite p1="1" p2="3" p3="4" w1="0.5" w2="0.2" w3="0.3"/>',
    "off": '<OutOfPlaneSite p1="1" p2="3" p3="4" w12="0.1" w13="-0.4" wc="3"/>',
    "frame": '<LocalCoordinatesSite p1="1" p2="3" p3="4" wo1="0.4" wo2="0.3" wo3="0.3" wx1="-1" wx2="1"'
    ' wx3="0" wy1="-1" wy2="0" wy3="1" pos1="0.01" pos2="-0.02" pos3="0.03"/>',
}


def system_text(site: str, mass: float = 0.0, constraint: str = "", third: float = 3.0) -> str:
    """A site before its atoms and one behind the first of them: particles 0 and 2 of five."""
    masses = [f'<Particle mass="{mass}">{site}</Particle>', '<Particle mass="1"/>',
              f'<Particle mass="0">{SITES["two"]}</Particle>', '<Particle mass="2"/>',
              f'<Particle mass="{third}"/>']  # fmt: skip
    charges = "".join(f'<Particle eps="0" q="{0.1 * (k + 1)}" sig="1"/>' for k in range(5))
    return (
        '<System type="System"><PeriodicBoxVectors><A x="2" y="0" z="0"/><B x="0" y="2" z="0"/>'
        f'<C x="0" y="0" z="2"/></PeriodicBoxVectors><Particles>{"".join(masses)}</Particles><Constraints>'
        f'{constraint}</Constraints><Forces><Force type="HarmonicBondForce"><Bonds><Bond d="0.1" k="5" p1="4"'
        ' p2="1"/></Bonds></Force><Force type="NonbondedForce" method="0" cutoff="1" rfDielectric="78.3">'
        f"<GlobalParameters/><ParticleOffsets/><ExceptionOffsets/><Particles>{charges}</Particles><Exceptions>"
        '<Exception eps="0" p1="0" p2="4" q="0" sig="1"/></Exceptions></Force></Forces></System>'
    )


def made(folder: Path, text: str, remarks: int = 0) -> State:
    numbered = [(9.9, 9.9, 9.9), PLACES[0], (9.9, 9.9, 9.9), *PLACES[1:]]
    lines = [
        f"ATOM  {k + 1:5d}  O{k}  WAT A{1:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00"
        for k, (x, y, z) in enumerate(10.0 * np.array(numbered))
    ]
    (folder / "a.xml").write_text(text)
    (folder / "a.pdb").write_text("\n".join(lines))
    context = StateContext(MOLECULAR, 0, folder)
    state = Molecule(system="a.xml", positions="a.pdb", temperature="300 K").make(context)
    assert len(context.remarks) == remarks
    return state


def places_of(state: State) -> np.ndarray:
    fields = Fields({"x": state.fields["x"]}, {"x": "m"})
    maps = site_maps(fields, state, MOLECULAR)
    assert [one.name for one in maps] == ["virtual_sites", "local_frame_sites"][: len(maps)]
    return np.asarray(fields["places"].values)


def expected(site: str) -> np.ndarray:
    a, b, c = np.array(PLACES)
    if site == "two":
        return 0.7 * a + 0.3 * b
    if site == "three":
        return 0.5 * a + 0.2 * b + 0.3 * c
    if site == "off":
        return a + 0.1 * (b - a) - 0.4 * (c - a) + 3.0 * np.cross(b - a, c - a)
    first = (b - a) / np.linalg.norm(b - a)
    third = np.cross(b - a, c - a)
    third /= np.linalg.norm(third)
    return 0.4 * a + 0.3 * (b + c) + 0.01 * first - 0.02 * np.cross(third, first) + 0.03 * third


@pytest.mark.parametrize("site", SITES)
def test_places_have_their_closed_forms(tmp_path: Path, site: str) -> None:
    """Atoms come first, in the order of the file; of sites the file's places are not read."""
    found = places_of(made(tmp_path, system_text(SITES[site])))
    wanted = [*PLACES, expected(site), expected("two")]
    np.testing.assert_allclose(found, wanted, rtol=2e-15, atol=1e-16)


@pytest.mark.unit
def test_atoms_come_first_in_all_lists(tmp_path: Path) -> None:
    state = made(tmp_path, system_text(SITES["three"]))
    assert state.fields["m"].tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(state.fields["charge"] / state.fields["charge"][0], [1.0, 2.0, 2.5, 0.5, 1.5])
    assert state.fields["x"].shape == state.fields["v"].shape == (3, 3)
    assert {n: rows.tolist() for n, rows in state.tuples.items()} == {
        "bonds": [[2, 0]],
        "exclusions": [[3, 2]],
        "sites": [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 0, 1, 2], [4, 0, 1, 0]],
    }
    assert state.sizes == {"place": 5}
    assert {one.name: one.nodes.tolist() for one in state.bodies}["WAT"] == [0, 1, 2, 3, 4]


@pytest.mark.unit
def test_a_particle_without_mass_is_held(tmp_path: Path) -> None:
    state = made(tmp_path, system_text(SITES["two"], third=0.0), remarks=1)
    (hold,) = state.holds
    assert (hold.field, hold.nodes.tolist(), state.fields["m"].tolist()) == ("x", [2], [1.0, 2.0, 1.0])
    assert not state.fields["v"][2].any()
    np.testing.assert_allclose(state.fields["m"][:2] @ state.fields["v"][:2], 0.0, atol=1e-12)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("site", "options", "message"),
    [
        (SITES["two"].replace("3", "2", 1), {},
         "TwoParticleAverageSite of particle 0: must follow atoms, got particle 2, which is a site;"
         " define it by the atoms of that site"),
        (SITES["two"].replace("0.7", "0.6"), {},
         "TwoParticleAverageSite of particle 0: weights w must sum to 1, so that the site moves with its"
         " atoms, got 0.9; correct them"),
        (SITES["frame"].replace('wx1="-1"', 'wx1="1"'), {},
         "LocalCoordinatesSite of particle 0: weights wx must sum to 0, so that the site moves with its"
         " atoms, got 2; correct them"),
        (SITES["three"].replace('p2="3"', 'p2="7"'), {},
         "ThreeParticleAverageSite of particle 0: atoms must be whole numbers from 0 to 4, got 1, 7, 4;"
         " correct them"),
        (SITES["three"], {"mass": 2.0},
         "ThreeParticleAverageSite of particle 0: must have the mass 0, got 2; set it to 0"),
        ('<SymmetrySite p="1"/>', {},
         "SymmetrySite of particle 0: is not supported; use one of TwoParticleAverageSite,"
         " ThreeParticleAverageSite, OutOfPlaneSite, LocalCoordinatesSite, or leave the site out"),
        (SITES["off"].replace('wc="3"', ""), {},
         "OutOfPlaneSite of particle 0: needs a finite number `wc`; write the file again"),
        (SITES["frame"].replace('p3="4"', 'p3="4" p4="1"'), {},
         "LocalCoordinatesSite of particle 0: must follow two or three atoms, got 4; define its frame by"
         " three of them"),
        (SITES["two"], {"constraint": '<Constraint d="0.1" p1="1" p2="0"/>'},
         "Constraint of atoms 1 and 0 must be of particles with a mass, got one without; leave it out"),
        (SITES["two"], {"third": -1.0}, "particle 4 must have a mass of at least 0, got -1; correct it"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, site: str, options: dict, message: str) -> None:
    with pytest.raises(UserError, match=f"^'a.xml': {re.escape(message)}$"):
        made(tmp_path, system_text(site, **options))


MODELS = [
    ("tip4pew", "vacuum", False),
    ("tip5p", "reaction field", True),
    pytest.param("tip5p", "reaction field", False, marks=pytest.mark.long),
    pytest.param("tip4pew", "reaction field", True, marks=pytest.mark.long),
    pytest.param("tip4pew", "pme", False, marks=pytest.mark.long),
    pytest.param("tip4pew", "pme", True, marks=pytest.mark.long),
    pytest.param("tip5p", "pme", True, marks=pytest.mark.long),
]


@pytest.mark.parametrize(("model", "method", "compound"), MODELS)
def test_energies_and_forces_are_those_of_openmm(
    tmp_path: Path, model: str, method: str, compound: bool
) -> None:
    """Places of sites, U and the forces on atoms; boxes have molecules across their faces.

    Of energies that the scene has one by one, and of `force_field`.
    """
    pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'")
    system = water_in_openmm(tmp_path, model, method)
    potential = minusgrad.build(scene_of(tmp_path, method, compound=compound)).stepper.potential
    energy, forces, places = reference(system, potential.fields["places"].values)
    np.testing.assert_allclose(potential.fields["places"].values, places, atol=1e-13)
    error = 1e-9 if compound else 1e-11  # force_field has a Coulomb constant of its own
    assert potential.value() == pytest.approx(energy, rel=error)
    np.testing.assert_allclose(-potential.gradient("x"), forces, atol=error * np.abs(forces).max())


def add_forces(system: Any, sites: list[int]) -> None:
    """Forces of other classes on sites and atoms: listed, centroids, pairs, external; an offset charge."""
    import openmm as mm

    bond = mm.HarmonicBondForce()
    bond.addBond(sites[0], sites[1] + 1, 0.3, 200.0)
    outside = mm.CustomExternalForce("k*(x-a)^2+z*y^2")
    for name in "ka":
        outside.addPerParticleParameter(name)
    outside.addGlobalParameter("z", 3.0)
    for k, particle in enumerate((sites[1], 0, sites[0], 5)):
        outside.addParticle(particle, [10.0 + k, 0.1 * k])
    centroid = mm.CustomCentroidBondForce(2, "k*distance(g1,g2)")
    centroid.addPerBondParameter("k")
    centroid.addGroup([sites[0] - 3, sites[0] - 2, sites[0]])
    centroid.addGroup([sites[1], sites[1] - 1], [0.7, 0.3])
    centroid.addBond([0, 1], [25.0])
    pairs = mm.CustomNonbondedForce("a1*a2/(r+0.1)")
    pairs.addPerParticleParameter("a")
    for k in range(system.getNumParticles()):
        pairs.addParticle([0.01 * (k % 7)])
    pairs.addExclusion(0, 1)
    for force in (bond, outside, centroid, pairs):
        system.addForce(force)
    for force in system.getForces():
        if isinstance(force, mm.NonbondedForce):
            force.addGlobalParameter("more", 0.5)
            force.addParticleParameterOffset("more", sites[1], 0.2, 0.0, 0.0)


@pytest.mark.long
def test_forces_of_all_classes_act_on_sites(tmp_path: Path) -> None:
    """Numbers of particles in forces are those of the file, whatever names the particles there."""
    mm = pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'")
    system = water_in_openmm(tmp_path, "tip4pew", "vacuum")
    sites = [k for k in range(system.getNumParticles()) if system.isVirtualSite(k)]
    add_forces(system, sites)
    (tmp_path / "water.xml").write_text(mm.XmlSerializer.serialize(system))
    potential = minusgrad.build(scene_of(tmp_path, "vacuum", compound=True)).stepper.potential
    energy, forces, _ = reference(system, potential.fields["places"].values)
    assert potential.value() == pytest.approx(energy, rel=1e-8)
    np.testing.assert_allclose(-potential.gradient("x"), forces, atol=1e-8 * np.abs(forces).max())
