"""`minusgrad.openmm`: a scene as a force of OpenMM, against our own runs and OpenMM's own forces.

Skipped, with the reason, where OpenMM is not installed; the extra `test` has it.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minusgrad import Fields, Motion, Node, Parameter, Potential, bind, local_energy
from minusgrad.errors import AtomsError
from minusgrad.plugin import SCHEMES, Integrator
from minusgrad.steppers.systems.system import System
from minusgrad_molecular.lennard_jones import lennard_jones
from tests.support import clusters
from tests.support.clusters import EPSILON, SIGMA

mm = pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'")
force = pytest.importorskip("minusgrad.openmm").force

MASS, DT = 12.0, 0.005
CELL = np.array([[6.1, 0.0, 0.0], [0.7, 5.9, 0.0], [-0.4, 0.5, 6.3]])
CUT = 2.2
KJ, KJ_NM = mm.unit.kilojoules_per_mole, mm.unit.kilojoules_per_mole / mm.unit.nanometer


def context(x: np.ndarray, acting: "mm.Force", cell: np.ndarray | None = None) -> "mm.Context":
    """Particles of mass 12 Da with this force, and Verlet's integrator."""
    system = mm.System()
    for _ in x:
        system.addParticle(MASS)
    if cell is not None:
        system.setDefaultPeriodicBoxVectors(*cell)
    system.addForce(acting)
    made = mm.Context(system, mm.VerletIntegrator(DT), mm.Platform.getPlatform("Reference"))
    made.setPositions(x)
    return made


def seen(of: "mm.Context") -> tuple[float, np.ndarray, np.ndarray]:
    """Energy [kJ/mol], forces [kJ/mol/nm] and positions [nm]."""
    state = of.getState(getEnergy=True, getForces=True, getPositions=True)
    energy, forces = state.getPotentialEnergy(), state.getForces(asNumpy=True)
    return (
        energy.value_in_unit(KJ),
        forces.value_in_unit(KJ_NM),
        state.getPositions(asNumpy=True).value_in_unit(mm.unit.nanometer),
    )


def theirs(count: int, cutoff: float | None = None) -> "mm.NonbondedForce":
    acting = mm.NonbondedForce()
    for _ in range(count):
        acting.addParticle(0.0, SIGMA, EPSILON)
    acting.setNonbondedMethod(acting.CutoffPeriodic if cutoff else acting.NoCutoff)
    acting.setCutoffDistance(cutoff or 1.0)
    acting.setUseDispersionCorrection(False)
    return acting


@pytest.mark.parametrize("periodic", [False, True])
def test_energy_and_forces(periodic: bool) -> None:
    cell = CELL if periodic else None
    x = clusters.lattice(CELL) if periodic else clusters.block()
    cutoff = CUT if periodic else None
    energy, forces, _ = seen(context(x, force(clusters.potential(x, cell, cutoff)), cell))
    expected, there, _ = seen(context(x, theirs(len(x), cutoff), cell))
    assert energy == pytest.approx(expected, rel=1e-12)
    assert np.abs(forces - there).max() < 1e-12 * np.abs(there).max()


def test_steps_are_those_of_our_own_run() -> None:
    """OpenMM's Verlet kicks, then drifts, as symplectic Euler does: equal to rounding."""
    x, steps = clusters.block(), 50
    ours = context(x, force(clusters.potential(x)))
    ours.getIntegrator().step(steps)
    fields = Fields({"x": x, "v": np.zeros_like(x), "m": np.full(len(x), MASS)})
    u = Potential(fields, [bind(lennard_jones, fields, parameters={"epsilon": EPSILON, "sigma": SIGMA})])
    Integrator(System(u, (Motion("x", "v", "m"),)), SCHEMES["symplectic_euler"], DT).advance(steps)
    assert np.abs(fields["x"].values - x).max() > 0.005
    assert seen(ours)[2] == pytest.approx(fields["x"].values, abs=1e-12)


def test_a_box_that_the_context_changes() -> None:
    """As a barostat does: the scene follows the box."""
    x = clusters.lattice(CELL)
    ours = context(x, force(clusters.potential(x, CELL, CUT)), CELL)
    other = context(x, theirs(len(x), CUT), CELL)
    for one in (ours, other):
        one.setPeriodicBoxVectors(*(1.03 * CELL))
        one.setPositions(1.03 * x)
    energy, forces, _ = seen(ours)
    expected, there, _ = seen(other)
    assert energy == pytest.approx(expected, rel=1e-12)
    assert np.abs(forces - there).max() < 1e-12 * np.abs(there).max()


SCENE = """
plugins = ["elastic"]
[units]
length = "angstrom"
mass = "Da"
time = "fs"
[state]
kind = "network"
nodes = [[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [0.0, 1.0, 0.0]]
springs = [[0, 1], [1, 2]]
mass = 12.0
[[energy]]
kind = "spring"
stiffness = "1000 kJ/mol/nm^2"
[stepper]
kind = "leapfrog"
dt = "1 fs"
[run]
steps = 1
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "springs.toml").write_text(SCENE)
    return tmp_path / "springs.toml"


def test_units_some_particles_and_xml(scene: Path) -> None:
    """k = 1000 kJ/mol/nm^2 in a scene in angstrom; the nodes are particles 4, 0 and 2 of five."""
    x = np.zeros((5, 3))
    x[[4, 0, 2]] = [[0.0, 0.0, 0.0], [0.17, 0.0, 0.0], [0.0, 0.1, 0.0]]
    made = context(x, force(scene, particles=[4, 0, 2]))
    stretch = np.hypot(0.17, 0.1) - np.hypot(0.15, 0.1)
    expected = 500.0 * (0.02**2 + stretch**2)
    energy, forces, _ = seen(made)
    assert energy == pytest.approx(expected, rel=1e-12)
    assert (forces[[1, 3]] == 0.0).all()
    assert forces[4] == pytest.approx([20.0, 0.0, 0.0], rel=1e-10)
    xml = mm.XmlSerializer.serialize(made.getSystem())
    read = mm.XmlSerializer.deserialize(xml)
    again = mm.Context(read, mm.VerletIntegrator(DT), mm.Platform.getPlatform("Reference"))
    again.setPositions(x)
    assert seen(again)[0] == energy


@local_energy("pull", over="nodes", x=Node("m", ("d",)), k=Parameter("N"))
def pull(x, k):
    return k * x[0][0]


def half_periodic() -> Potential:
    fields = Fields({"x": np.eye(3), "box": 9.0 * np.eye(3)[None]}, periodic=(True, True, False))
    return Potential(fields, [bind(pull, fields, parameters={"k": 1.0})])


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (
            lambda: force(clusters.potential(clusters.block()), particles=[0, 1]),
            "particles: the scene has 8 nodes, got 2 numbers; give one for each",
        ),
        (
            lambda: force(half_periodic()),
            "scene: OpenMM repeats along all axes or none, got a box that repeats along some; change [box]"
            " periodic",
        ),
    ],
)
def test_mistakes(asked: Callable, text: str) -> None:
    with pytest.raises(AtomsError) as error:
        asked()
    assert str(error.value) == text


def test_a_mistake_at_a_step_is_raised_by_openmm() -> None:
    x = clusters.block()
    wrong = context(x[:5], force(clusters.potential(x)))
    with pytest.raises(mm.OpenMMException) as error:
        wrong.getIntegrator().step(1)
    assert str(error.value) == "atoms: the scene has 8, got 5; give the same atoms in the same order"
