"""Energies of molecules: closed forms, limits, singular points, terms and forces against OpenMM."""

import json
from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad import Fields, Motion, Potential, bind
from minusgrad.check import term_check
from minusgrad.codegen.element_lanes import lane_loops
from minusgrad.elements.neighbours.pair_list import PairList
from minusgrad.energies.pairs.cutoff import Cutoff
from minusgrad.errors import NonFiniteError
from minusgrad.plugin import UnitSystem
from minusgrad.scene.document import load
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_elastic import angles, springs
from minusgrad_molecular import bonded, electrostatics, lennard_jones
from tests.support.command import SCENES

REFERENCE = Path(__file__).parent
KE = 138.93545764438198
"""OpenMM's Coulomb constant [kJ nm mol^-1 e^-2] (CODATA 2018)."""
NOT_FINITE = "its force on 'x' is not finite; a smaller dt or a softening may cure it"
IN_ONE_PLACE = NOT_FINITE.replace("finite;", "finite; node 2 is in the same place, move one of them;")


def test_bonds_angles_and_torsions_are_the_functions_of_springs() -> None:
    assert bonded.harmonic_bond.function is springs.spring.function
    assert bonded.harmonic_angle.function is angles.angle.function
    assert bonded.periodic_torsion.function is angles.dihedral.function


SCENE = SCENES / "peptide_in_water.toml"


def with_coulomb(kind: str, cutoff: str, **more) -> dict:
    """Changes of the scene of a peptide in water: Coulomb energies of pairs in place of the compounds."""
    energies = load(SCENE).data["energy"]
    (wells,) = (one for one in energies if one["kind"] == "lennard_jones_mixture")
    wells["cutoff"] = cutoff
    own = {"kind": kind, "name": "coulomb", "cutoff": cutoff, "switch": "none", "exclude": "exclusions"}
    return {"compound": [], "energy": [*energies, own | more]}


VARIANTS = {
    "dipeptide": with_coulomb("coulomb", "100 angstrom")
    | {"state.system": "data/dipeptide.xml", "state.positions": "data/dipeptide.pdb", "observe": []},
    "dipeptide_water": with_coulomb("coulomb_reaction_field", "8 angstrom", radius="8 angstrom"),
    "dipeptide_water_pme": {},
}
"""Of the scene, by the file of OpenMM's energies; in vacuum the cutoff is beyond every pair."""


@pytest.mark.parametrize(
    ("name", "lanes"), [*((name, False) for name in VARIANTS), ("dipeptide_water_pme", True)]
)
def test_each_term_and_the_forces_are_those_of_openmm(
    name: str, lanes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Energies to 1e-8, forces to 1e-6 of the largest: in vacuum, with a reaction field, with PME.

    Lanes: as in larger boxes.
    """
    monkeypatch.setattr(lane_loops, "LEAST_TARGETS", 1 if lanes else np.inf)
    potential = minusgrad.build(SCENE, VARIANTS[name]).potential
    assert {"lennard_jones", "pme_direct"} <= {*potential.in_lanes} or not lanes
    found = potential.by_term()
    reference = json.loads((REFERENCE / f"{name}.json").read_text())
    expected = reference["energies"]
    assert found["bonds"] == pytest.approx(expected["HarmonicBondForce"], rel=1e-8)
    assert found["angles"] == pytest.approx(expected["HarmonicAngleForce"], rel=1e-8)
    torsions = found["torsions"] + found["impropers"]
    assert torsions == pytest.approx(expected["PeriodicTorsionForce"], rel=1e-8)
    charges = sum(u for term, u in found.items() if term == "coulomb" or term.startswith("pme_"))
    assert charges == pytest.approx(expected["coulomb"], rel=1e-8)
    dispersion = found["lennard_jones"] + found.get("dispersion_correction", 0.0)
    assert dispersion == pytest.approx(expected["lennard_jones"], rel=1e-8)
    for term in ("lennard_jones_14", "coulomb_14"):
        assert found[term] == pytest.approx(expected[term], rel=1e-8), term
    whole, size = sum(expected.values()), sum(map(abs, expected.values()))
    assert abs(potential.value() - whole) < 1e-8 * size
    forces = np.array(reference["forces"]) / 10.0  # of kJ/mol/nm
    assert np.abs(-potential.gradient("x") - forces).max() < 1e-6 * np.abs(forces).max()


def pair(energy, r: float, **given) -> Potential:
    nodal = {n: v for n, v in given.items() if n in ("epsilon", "sigma", "charge") and np.ndim(v)}
    fields = Fields({"x": [[0.0, 0.0, 0.0], [r, 0.0, 0.0]]} | nodal)
    parameters = {n: v for n, v in given.items() if n not in nodal}
    return Potential(fields, [bind(energy, fields, parameters=parameters)])


def test_the_well_of_lennard_jones() -> None:
    """Depth, place, curvature 72 epsilon / r_m^2 and zero of the well, on paper."""
    epsilon, sigma = 0.3, 1.1
    least = 2.0 ** (1.0 / 6.0) * sigma
    potential = pair(lennard_jones.lennard_jones, least, epsilon=epsilon, sigma=sigma)
    assert potential.value() == pytest.approx(-epsilon, rel=1e-14)
    assert np.abs(potential.gradient("x")).max() < 1e-14
    hessian = potential.hessian("x").toarray()
    assert hessian[0, 0] == pytest.approx(72.0 * epsilon / least**2, rel=1e-12)
    assert pair(lennard_jones.lennard_jones, sigma, epsilon=epsilon, sigma=sigma).value() == 0.0


def test_binding_lists_no_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists are made where kernels need them: those of large Systems in blocks alone."""
    listed: list[str] = []
    monkeypatch.setattr(PairList, "_build_lists", lambda self: listed.append(self.what))
    fields = Fields({"x": np.eye(3), "epsilon": np.ones(3), "sigma": np.ones(3)})
    bind(lennard_jones.lennard_jones_mixture, fields, cutoff=Cutoff(2.0))
    assert listed == []


def test_mixtures_follow_the_rules_of_lorentz_and_berthelot() -> None:
    mixed = pair(lennard_jones.lennard_jones_mixture, 1.3, epsilon=[0.2, 0.8], sigma=[0.9, 1.5])
    alone = pair(lennard_jones.lennard_jones, 1.3, epsilon=0.4, sigma=1.2)
    assert mixed.value() == pytest.approx(alone.value(), rel=1e-14)
    np.testing.assert_allclose(mixed.gradient("x"), alone.gradient("x"), rtol=1e-14)


def test_atoms_without_depth_have_no_energy_and_finite_derivatives() -> None:
    potential = pair(lennard_jones.lennard_jones_mixture, 1.3, epsilon=[0.0, 0.8], sigma=[1.0, 1.5])
    assert potential.value() == 0.0
    for name in ("x", "epsilon", "sigma"):
        assert not potential.gradient(name).any()
    assert not potential.hessian("x").toarray().any()


def test_the_reaction_field_ends_at_its_radius() -> None:
    """u(R) = 0; with a conductor outside u'(R) = 0; with a vacuum outside the shifted Coulomb energy."""
    given = {"charge": [1.0, -2.0], "coulomb_constant": 1.0, "radius": 1.7}
    energy = electrostatics.coulomb_reaction_field
    for eps in (1.0, 78.3, 1e9):
        assert abs(pair(energy, 1.7, eps_rf=eps, **given).value()) < 1e-15
    assert np.abs(pair(energy, 1.7, eps_rf=1e9, **given).gradient("x")).max() < 1e-8
    shifted = -2.0 * (1.0 / 0.9 - 1.0 / 1.7)
    assert pair(energy, 0.9, eps_rf=1.0, **given).value() == pytest.approx(shifted, rel=1e-14)
    eps, r, R = 4.0, 0.9, 1.7
    krf, crf = (eps - 1) / (2 * eps + 1) / R**3, 3 * eps / (2 * eps + 1) / R
    expected = -2.0 * (1.0 / r + krf * r * r - crf)
    assert pair(energy, r, eps_rf=eps, **given).value() == pytest.approx(expected, rel=1e-14)


def test_the_coulomb_constant_is_that_of_openmm() -> None:
    """To the changes of eps0 (7e-10) and of u times Avogadro's number (1e-9) from CODATA 2018 to 2022."""
    units = UnitSystem.of("nm", "u", "ps")
    e = units.convert("1.602176634e-19 C", "C")
    fields = Fields({"x": [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], "charge": [e, e]}, {"charge": "C"})
    potential = Potential(fields, [bind(electrostatics.coulomb, fields, units=units)])
    assert potential.value() == pytest.approx(KE, rel=2e-9)


@pytest.mark.parametrize("theta", [0.0, 1e-9, np.pi - 1e-9, np.pi])
def test_flat_angles_have_finite_forces_and_hessians(theta: float) -> None:
    x = [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.3 * np.cos(theta), 1.3 * np.sin(theta), 0.0]]
    fields = Fields({"x": x})
    data = {"stiffness": 2.0, "rest": 1.9}
    potential = Potential(fields, [bind(bonded.harmonic_angle, fields, tuples=[[0, 1, 2]], data=data)])
    assert potential.value() == pytest.approx((theta - 1.9) ** 2, rel=1e-12)
    assert np.isfinite(potential.gradient("x")).all()
    assert np.isfinite(potential.hessian("x").toarray()).all()


@pytest.mark.parametrize("phi", [0.0, 1e-9, np.pi / 2, np.pi - 1e-9, np.pi])
def test_flat_torsions_have_the_forces_of_the_formula(phi: float) -> None:
    """k (1 + cos(n phi - delta)); the force turns the outer atom: -n k sin(n phi - delta) / (its arm)."""
    k, n, delta, arm = 2.0, 3, 0.4, 0.8
    x = [[1.1, 0.0, -0.4], [0.0, 0.0, 0.0], [0.0, 0.0, 1.5], [arm * np.cos(phi), arm * np.sin(phi), 1.9]]
    fields = Fields({"x": x})
    data = {"stiffness": k, "multiplicity": n, "phase": delta}
    potential = Potential(fields, [bind(bonded.periodic_torsion, fields, tuples=[[0, 1, 2, 3]], data=data)])
    assert potential.value() == pytest.approx(k * (1.0 + np.cos(n * phi - delta)), rel=1e-12)
    around = np.array([-np.sin(phi), np.cos(phi), 0.0])
    slope = -n * k * np.sin(n * phi - delta) / arm
    np.testing.assert_allclose(potential.gradient("x")[3], slope * around, atol=1e-8)
    curvature = around @ potential.hessian("x").toarray()[9:, 9:] @ around
    assert curvature == pytest.approx(-(n**2) * k * np.cos(n * phi - delta) / arm**2, rel=1e-7)


def test_a_torsion_of_atoms_on_a_line_has_no_force() -> None:
    """The angle is not defined there; a run says which term and atom it is."""
    fields = Fields({"x": [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.5, 1.0, 0.0]],
                     "v": np.zeros((4, 3)), "m": np.ones(4)})  # fmt: skip
    data = {"stiffness": 1.0, "multiplicity": 2, "phase": 0.0}
    term = bind(bonded.periodic_torsion, fields, tuples=[[0, 1, 2, 3]], data=data)
    with pytest.raises(NonFiniteError) as refusal:
        run(fields, [term])
    assert str(refusal.value) == (
        "step 1: term 'periodic_torsion', node 0: its force on 'x' is not finite; its element 0 has an angle"
        " of vectors without length, as a torsion of nodes on a line: leave it out, or displace a node"
    )


def run(fields: Fields, terms: list) -> None:
    Integrator(System(Potential(fields, terms), [Motion("x", "v", "m")]), SCHEMES["leapfrog"], 0.01).advance(
        1
    )


@pytest.mark.parametrize("name", ["lennard_jones_mixture", "coulomb", "harmonic_bond"])
def test_atoms_at_one_place_are_named(name: str) -> None:
    x = [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
    fields = Fields({"x": x, "v": np.zeros((3, 3)), "m": np.ones(3), "charge": np.ones(3)}
                    | {"epsilon": np.ones(3), "sigma": np.ones(3)})  # fmt: skip
    made = {
        "lennard_jones_mixture": lambda: bind(lennard_jones.lennard_jones_mixture, fields),
        "coulomb": lambda: bind(electrostatics.coulomb, fields, parameters={"coulomb_constant": 1.0}),
        "harmonic_bond": lambda: bind(
            bonded.harmonic_bond, fields, tuples=[[0, 1], [1, 2]], data={"stiffness": 1.0, "rest": 1.0}
        ),
    }
    with pytest.raises(NonFiniteError) as refusal:
        run(fields, [made[name]()])
    assert str(refusal.value) == f"step 1: term '{name}', node 1: {IN_ONE_PLACE}"


@pytest.mark.parametrize("jumps", [True, False])
def test_check_asks_no_path_across_a_jump(jumps: bool) -> None:
    """Steps of physical size move pairs across a sharp cutoff; the reaction field is zero there."""
    rng = np.random.default_rng(5)
    places = np.stack(np.unravel_index(np.arange(27), (3, 3, 3)), axis=1)
    fields = Fields({"x": places + rng.uniform(-0.2, 0.2, (27, 3)), "charge": np.ones(27)})
    energy = electrostatics.coulomb if jumps else electrostatics.coulomb_reaction_field
    given = {"coulomb_constant": 1.0} | ({} if jumps else {"radius": 1.5})
    term = bind(energy, fields, parameters=given, cutoff=Cutoff(1.5, sharp=True, skin=0.2))
    found = list(term_check.of_potential(Potential(fields, [term])))
    assert [f for f in found if not f.passed] == []
    asked = {f.question for f in found if f.argument == "x"}
    assert {"taylor", "product"} <= asked
    assert ("path" in asked) is not jumps


def test_check_turns_the_box_with_the_atoms() -> None:
    """U of a periodic mixture is invariant only if the edges of the box turn, too; torques include theirs."""
    rng = np.random.default_rng(3)
    places = np.stack(np.unravel_index(np.arange(27), (3, 3, 3)), axis=1)
    x = 1.1 * (places + rng.uniform(-0.1, 0.1, (27, 3)))
    box = np.array([[[3.3, 0.0, 0.0], [0.2, 3.3, 0.0], [0.0, 0.1, 3.3]]])
    wells = {"epsilon": rng.uniform(0.5, 1.5, 27), "sigma": rng.uniform(0.9, 1.1, 27)}
    fields = Fields({"x": x, "box": box} | wells)
    term = bind(lennard_jones.lennard_jones_mixture, fields, cutoff=Cutoff(1.4, skin=0.1))
    found = list(term_check.of_potential(Potential(fields, [term])))
    assert [f for f in found if not f.passed] == []
    assert {"translation", "rotation"} <= {f.question for f in found}
