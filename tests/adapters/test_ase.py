"""`minusgrad.ase`: energies, forces, stress and Hessian for ASE, against ASE's own Lennard-Jones calculator.

Skipped, with the reason, where ASE is not installed; the extra `test` has it.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import minusgrad
from minusgrad import Fields, Motion, Node, Parameter, Potential, bind, local_energy
from minusgrad.errors import AtomsError, NonFiniteError
from minusgrad.plugin import SCHEMES, Integrator
from minusgrad.steppers.systems.system import System
from minusgrad_elastic.springs import spring
from minusgrad_molecular.lennard_jones import lennard_jones
from tests.support import clusters
from tests.support.clusters import EPSILON, SIGMA

ase = pytest.importorskip("ase", reason="ASE is not installed: pip install 'minusgrad[ase]'")
LennardJones = pytest.importorskip("ase.calculators.lj").LennardJones
Calculator = pytest.importorskip("minusgrad.ase").Calculator

CELL = np.array([[6.1, 0.0, 0.0], [0.7, 5.9, 0.0], [-0.4, 0.5, 6.3]])
CUT = 2.2


def atoms(x: np.ndarray, cell: np.ndarray | None = None) -> "ase.Atoms":
    return ase.Atoms(f"Ar{len(x)}", positions=x, cell=cell, pbc=cell is not None)


def reference(cutoff: float = 1e3) -> "LennardJones":
    return LennardJones(epsilon=EPSILON, sigma=SIGMA, rc=cutoff, smooth=False)


@pytest.mark.parametrize(("precision", "digits"), [("f64", 1e-13), ("f32", 1e-5)])
def test_energy_and_forces_of_a_cluster(precision: str, digits: float) -> None:
    x = clusters.block()
    ours, theirs = atoms(x + 0.01), atoms(x + 0.01)
    ours.calc, theirs.calc = Calculator(clusters.potential(x, precision=precision)), reference()
    for k in range(2):
        expected = theirs.get_forces()
        assert ours.get_potential_energy() == pytest.approx(theirs.get_potential_energy(), rel=10 * digits)
        assert np.abs(ours.get_forces() - expected).max() < digits * np.abs(expected).max()
        for one in (ours, theirs):
            one.positions[k] += 0.1


def test_the_hessian_of_a_cluster() -> None:
    """Against differences of ASE's forces; of the atoms that are given, dense and sparse."""
    x = clusters.block()
    ours, theirs = atoms(x), atoms(x)
    calculator = ours.calc = Calculator(clusters.potential(x))
    theirs.calc = reference()
    columns, h = [], 1e-5
    for place in np.ndindex(x.shape):
        sides = []
        for sign in (1.0, -1.0):
            theirs.positions = x
            theirs.positions[place] += sign * h
            sides.append(-theirs.get_forces().ravel())
        columns.append((sides[0] - sides[1]) / (2.0 * h))
    found = calculator.get_hessian(ours)
    assert found.shape == (24, 24)
    assert found == pytest.approx(np.array(columns), abs=1e-6 * np.abs(found).max())
    assert (calculator.get_hessian(ours, sparse=True).toarray() == found).all()


def test_a_crystal_in_a_skewed_cell_with_its_stress() -> None:
    """A sharp cutoff; then the cell is strained, and the atoms are wrapped."""
    x = clusters.lattice(CELL)
    ours, theirs = atoms(x, CELL), atoms(x, CELL)
    ours.calc, theirs.calc = Calculator(clusters.potential(x, CELL, CUT)), reference(CUT)
    shifted = 4.0 * EPSILON * ((SIGMA / CUT) ** 12 - (SIGMA / CUT) ** 6)
    pairs = sum((ours.get_all_distances(mic=True)[np.triu_indices(len(x), 1)] < CUT).tolist())
    assert ours.get_potential_energy() - theirs.get_potential_energy() == pytest.approx(pairs * shifted)
    for strain in (np.zeros((3, 3)), np.array([[0.01, 0.02, 0.0], [0.0, -0.01, 0.01], [0.01, 0.0, 0.02]])):
        for one in (ours, theirs):
            one.set_cell(CELL @ (np.eye(3) + strain), scale_atoms=True)
            one.wrap()
        expected, stress = theirs.get_forces(), theirs.get_stress()
        assert np.abs(ours.get_forces() - expected).max() < 1e-12 * np.abs(expected).max()
        assert ours.get_stress() == pytest.approx(stress, abs=1e-12 * np.abs(stress).max())


def test_a_bond_across_a_face_is_the_same_however_atoms_are_wrapped() -> None:
    x = np.array([[0.2, 1.0, 1.0], [-0.4, 1.0, 1.0]])
    fields = Fields({"x": x, "box": np.diag([6.0, 6.0, 6.0])[None]})
    bond = bind(spring, fields, tuples=[[0, 1]], data={"rest": 0.5}, parameters={"stiffness": 3.0})
    one = atoms(x, np.diag([6.0, 6.0, 6.0]))
    one.calc = Calculator(Potential(fields, [bond]))
    for shift in ((0, 0), (6, 0), (0, 6), (-12, 18)):
        one.positions = x + np.array(shift)[:, None]
        assert one.get_potential_energy() == pytest.approx(0.5 * 3.0 * 0.1**2, rel=1e-12)


SCENE = """
plugins = ["elastic"]
[units]
length = "nm"
mass = "Da"
time = "ps"
[state]
kind = "network"
nodes = [["0 nm", "0 nm", "0 nm"], ["4 angstrom", "1 angstrom", "0 nm"], ["0 nm", "4 angstrom", "1 angstrom"]]
springs = [[0, 1]]
mass = "39.948 Da"
[[energy]]
kind = "argon"
epsilon = "0.996 kJ/mol"
sigma = "3.405 angstrom"
[stepper]
kind = "leapfrog"
dt = "1 fs"
[run]
steps = 1
"""


@local_energy("argon", over="pairs", x=Node("m", ("d",)), epsilon=Parameter("J"), sigma=Parameter("m"))
def argon(x, epsilon, sigma):
    s = (sigma * sigma / (x[0] - x[1]).norm_sqr()) ** 3
    return 4.0 * epsilon * (s * s - s)


def test_a_scene_with_units(tmp_path: Path) -> None:
    """kJ/mol and nm become eV and angstrom; 1 eV = 96.48533212331 kJ/mol."""
    (tmp_path / "argon.toml").write_text(SCENE)
    x = np.array([[0.0, 0.0, 0.0], [3.9, 1.0, 0.2], [0.1, 4.0, 1.0]])
    ours, theirs = atoms(x), atoms(x)
    ours.calc = Calculator(tmp_path / "argon.toml", plugins=[argon])
    theirs.calc = LennardJones(epsilon=0.996 / 96.48533212331, sigma=3.405, rc=1e4, smooth=False)
    assert ours.get_potential_energy() == pytest.approx(theirs.get_potential_energy(), rel=1e-11)
    assert ours.get_forces() == pytest.approx(theirs.get_forces(), rel=1e-9)
    h = 1e-4
    ours.positions[1, 0] += h
    there = ours.get_forces()
    ours.positions[1, 0] -= 2.0 * h
    difference = (ours.get_forces() - there) / (2.0 * h)
    ours.positions[1, 0] += h
    assert ours.calc.get_hessian(ours)[3] == pytest.approx(difference.ravel(), rel=1e-4, abs=1e-8)
    half = {"energy.0.epsilon": "0.498 kJ/mol"}
    softer = Calculator(minusgrad.build(tmp_path / "argon.toml", half, [argon]))
    assert softer.get_potential_energy(ours) == pytest.approx(0.5 * ours.get_potential_energy(), rel=1e-12)


def well(r: float) -> float:
    return 4.0 * EPSILON * ((SIGMA / r) ** 12 - (SIGMA / r) ** 6)


def test_the_stress_of_a_scene_with_units(tmp_path: Path) -> None:
    """Its trace is three times the derivative of the energy by the volume [eV/angstrom^3]."""
    boxed = SCENE.replace("[state]", '[box]\nedges = ["12 angstrom", "12 angstrom", "12 angstrom"]\n[state]')
    (tmp_path / "argon.toml").write_text(boxed.replace("sigma =", 'cutoff = "5 angstrom"\nsigma ='))
    x = np.array([[0.0, 0.0, 0.0], [3.9, 1.0, 0.2], [0.1, -4.0, 1.0]])
    one, h = atoms(x, 12.0 * np.eye(3)), 1e-5
    one.calc = Calculator(tmp_path / "argon.toml", plugins=[argon])
    stress, energies = one.get_stress(), []
    for edge in (12.0 * (1.0 + h), 12.0 * (1.0 - h)):
        one.set_cell(edge * np.eye(3), scale_atoms=True)
        energies.append(one.get_potential_energy())
    slope = (energies[0] - energies[1]) / (12.0**3 * 6.0 * h)
    assert np.sum(stress[:3]) == pytest.approx(3.0 * slope, rel=1e-6)
    assert abs(slope) > 1e-6


def test_a_nudged_elastic_band_finds_the_barrier() -> None:
    """Four atoms turn their tetrahedron inside out over a flat rhombus, the lowest of them all."""
    from ase.mep import NEB
    from ase.optimize import FIRE

    bond, high = 2.0 ** (1.0 / 6.0) * SIGMA, np.arcsin(np.sqrt(2.0 / 3.0))
    hinge = np.array([[0.0, 0.5, 0.0], [0.0, -0.5, 0.0]])
    images = []
    for angle in np.linspace(high, -high, 5):
        wing = np.sqrt(0.75) * np.array([np.cos(angle), 0.0, np.sin(angle)])
        images.append(atoms(bond * np.array([*hinge, wing, wing * [-1.0, 1.0, 1.0]])))
        images[-1].calc = Calculator(clusters.potential(images[-1].positions))
    band = NEB(images, climb=True, k=2.0, method="improvedtangent")
    assert FIRE(band, logfile=None).run(fmax=1e-3, steps=300)
    energies = [image.get_potential_energy() for image in images]
    assert energies[0] == pytest.approx(-6.0 * EPSILON, rel=1e-12)

    def rhombus(half: np.ndarray) -> float:
        return well(2.0 * half[0]) + well(2.0 * half[1]) + 4.0 * well(float(np.hypot(*half)))

    flat = minimize(rhombus, bond * np.array([0.5, 0.9]), tol=1e-12)
    assert np.argmax(energies) == 2
    assert energies[2] == pytest.approx(flat.fun, rel=1e-7)
    assert energies[2] == pytest.approx(-5.073420 * EPSILON, rel=1e-6)  # Tsai and Jordan 1993
    values = np.linalg.eigvalsh(images[2].calc.get_hessian(images[2]))
    assert values[0] < -0.1
    assert np.abs(values[1:7]).max() < 1e-3
    assert values[7] > 0.1


def test_velocity_verlet_of_ase_is_our_leapfrog() -> None:
    """The same forces, the same steps, to rounding."""
    from ase.md.verlet import VelocityVerlet

    x, dt, mass = clusters.block(), 0.01, 39.9
    ours = atoms(x)
    ours.set_masses(np.full(len(x), mass))
    ours.calc = Calculator(clusters.potential(x))
    VelocityVerlet(ours, timestep=dt).run(20)
    fields = Fields({"x": x, "v": np.zeros_like(x), "m": np.full(len(x), mass)})
    u = Potential(fields, [bind(lennard_jones, fields, parameters={"epsilon": EPSILON, "sigma": SIGMA})])
    Integrator(System(u, (Motion("x", "v", "m"),)), SCHEMES["leapfrog"], dt).advance(20)
    assert ours.positions == pytest.approx(fields["x"].values, abs=1e-12)
    assert np.abs(ours.positions - x).max() > 1e-3


def test_what_a_calculator_says_it_computes() -> None:
    x = clusters.block()
    one = atoms(x)
    one.calc = Calculator(clusters.potential(x))
    with pytest.raises(ase.calculators.calculator.PropertyNotImplementedError):
        one.get_stress()
    assert "stress" in Calculator(clusters.potential(x, CELL, CUT)).implemented_properties


def test_the_scene_of_the_caller_stays_as_it_is() -> None:
    x = clusters.block()
    given = clusters.potential(x)
    one = atoms(x + 0.3)
    one.positions[0] += 0.1
    one.calc = Calculator(given)
    one.get_forces()
    assert (given.fields["x"].values == x).all()


def flat() -> Potential:
    fields = Fields({"x": np.eye(2)})
    given = {"epsilon": 1.0, "sigma": 1.0}
    return Potential(fields, [bind(lennard_jones, fields, parameters=given)])


def at(position: float) -> np.ndarray:
    x = clusters.block()
    x[3, 1] = position
    return x


def on_top() -> np.ndarray:
    x = clusters.block()
    x[1] = x[0]
    return x


@pytest.mark.parametrize(
    ("asked", "kind", "text"),
    [
        (
            lambda: Calculator(flat()),
            AtomsError,
            "scene: needs a field 'x' of positions in space, shape [n, 3], got [2, 2]; use a scene in three"
            " dimensions",
        ),
        (
            lambda: forces(clusters.block(side=3)),
            AtomsError,
            "atoms: the scene has 8, got 27; give the same atoms in the same order",
        ),
        (
            lambda: forces(at(np.inf)),
            AtomsError,
            f"atoms: need finite positions, got {at(np.inf)[3].tolist()} for atom 3; correct them",
        ),
        (
            lambda: forces(on_top()),
            NonFiniteError,
            "U = inf, and its gradient at atom 0 is not finite; are atoms on top of each other?",
        ),
        (
            lambda: forces(clusters.block(), CELL),
            AtomsError,
            "atoms: the scene is periodic along no axis, got atoms that are along x, y, z; set atoms.pbc, or"
            " [box] of the scene",
        ),
    ],
)
def test_mistakes(asked: Callable, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as error:
        asked()
    assert str(error.value) == text


def forces(x: np.ndarray, cell: np.ndarray | None = None) -> np.ndarray:
    one = atoms(x, cell)
    one.calc = Calculator(clusters.potential(clusters.block()))
    return one.get_forces()
