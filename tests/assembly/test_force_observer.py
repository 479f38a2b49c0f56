"""The observer `forces`: beside ASE's own Lennard-Jones, and exported with energies and stress."""

import ase.io
import numpy as np
import pytest
from ase import Atoms
from ase.calculators.lj import LennardJones

import minusgrad as mg
from minusgrad.errors import EnergyError, SceneError
from tests.support.atom_runs import BOXES, SKEWED

EPSILON, SIGMA, CUTOFF = 0.0103, 3.4, 4.9
"""eV, angstrom: the cutoff is less than half the distance of opposite faces of the box."""
KJ_PER_MOL = 96.48533212331
"""kJ/mol in an eV (CODATA 2022, exact constants)."""


def places(box: np.ndarray, side: int = 3) -> np.ndarray:
    cells = (np.array(np.meshgrid(*[np.arange(side)] * 3, indexing="ij")).reshape(3, -1).T + 0.5) / side
    return (cells + np.random.default_rng(4).uniform(-0.1, 0.1, size=cells.shape) / side) @ box


def argon(box: np.ndarray | None = SKEWED, stepper=None, **more) -> mg.Simulation:
    x = places(SKEWED if box is None else box)
    v = np.random.default_rng(3).normal(size=x.shape)
    every = [{"kind": kind, "every": 5} for kind in ("frames", "energies")]
    settings = {
        "fields": {"x": x, "v": v, "m": np.full(len(x), 39.948)},
        "bodies": {"Ar": np.arange(len(x))},
        "energies": [
            mg.energy(
                "lennard_jones", epsilon=f"{EPSILON} eV", sigma=SIGMA, cutoff=CUTOFF, switch="none", skin=0.0
            )
        ],
        "box": None if box is None else {"vectors": box.tolist()},
        "units": {"length": "angstrom", "mass": "u", "time": "ps"},
        "plugins": ["molecular"],
        "stepper": stepper or mg.Leapfrog(dt=0.002),
        "observe": [*every, {"kind": "forces", "every": 5, "stress": True}],
    }
    return mg.Simulation(**(settings | more))


def reference(atoms: Atoms) -> Atoms:
    """The same atoms with ASE's own energy, which is shifted to zero at the cutoff."""
    found = Atoms(atoms.get_chemical_symbols(), atoms.positions, cell=atoms.cell, pbc=True)
    found.calc = LennardJones(sigma=SIGMA, epsilon=EPSILON, rc=CUTOFF, smooth=False)
    return found


def shift(atoms: Atoms) -> float:
    """The energy that ASE's shift takes from all pairs within the cutoff."""
    pairs = atoms.get_all_distances(mic=True)[np.triu_indices(len(atoms), 1)]
    beyond = 4.0 * EPSILON * ((SIGMA / CUTOFF) ** 12 - (SIGMA / CUTOFF) ** 6)
    return beyond * np.count_nonzero(pairs < CUTOFF)


@pytest.mark.parametrize("kind", ["upright", "left-handed"])
def test_energy_forces_and_stress_are_those_of_ase(kind, tmp_path):
    run = argon(BOXES[kind]).run(steps=10, out=tmp_path / "run")
    file = run.export(tmp_path / "a.extxyz", "extxyz")
    frames = ase.io.read(file, index=":")
    assert [atoms.info["step"] for atoms in frames] == [0, 5, 10]
    for atoms in frames:
        theirs = reference(atoms)
        assert atoms.get_chemical_symbols() == ["Ar"] * 27
        np.testing.assert_allclose(atoms.get_forces(), theirs.get_forces(), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(atoms.get_stress(), theirs.get_stress(), rtol=1e-8, atol=1e-12)
        assert atoms.get_potential_energy() == pytest.approx(
            theirs.get_potential_energy() + shift(atoms), rel=1e-9
        )
        kinetic = np.interp(atoms.info["step"], run.series("kinetic").step, run["kinetic"])
        assert atoms.get_kinetic_energy() == pytest.approx(0.01 * kinetic / KJ_PER_MOL, rel=1e-6)


def test_single_precision_has_them_too(tmp_path):
    sim = argon(runtime={"precision": "f32"})
    sim.run(steps=10, out=tmp_path / "run")
    atoms = ase.io.read(mg.open(tmp_path / "run").export(tmp_path / "a", "extxyz"), format="extxyz", index=1)
    theirs = reference(atoms)
    np.testing.assert_allclose(atoms.get_forces(), theirs.get_forces(), atol=1e-5)
    np.testing.assert_allclose(atoms.get_stress(), theirs.get_stress(), atol=1e-6)


def test_of_a_minimiser_the_stress_is_that_of_the_pressure(tmp_path):
    pressure = {"kind": "pressure", "every": 1, "tensor": True}
    forces = {"kind": "forces", "every": 1, "stress": True}
    sim = argon(stepper={"kind": "lbfgs", "gradient": "1e-6 eV/angstrom"}, observe=[pressure, forces])
    run = sim.run(steps=3, out=tmp_path / "run")
    np.testing.assert_allclose(run["energy_stress"], run["stress"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run["force"][0].sum(axis=0), 0.0, atol=1e-6)


def test_a_stress_needs_a_box_and_forces_do_not(tmp_path):
    with pytest.raises((SceneError, EnergyError), match="box: there is none, so nothing has a pressure"):
        argon(box=None)
    sim = argon(box=None, observe=[{"kind": "forces", "every": 5}])
    run = sim.run(steps=5, out=tmp_path / "run")
    np.testing.assert_array_equal(run["force"][-1], -sim.potential.gradient("x"))
