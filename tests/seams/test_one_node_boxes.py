"""A periodic box with one node, which meets its own images: a primitive cell, an ion in its lattice."""

import itertools

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Fields, Node, Potential, bind, local_energy, local_map, ti
from minusgrad.plugin import Cutoff
from minusgrad_electrostatics.pme import particle_mesh_ewald

FCC = 0.5 * np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]) * 1.55
"""The primitive cell of a cubic close packing."""
CUTOFF = 2.5


@local_energy("lj", over="pairs", x=Node("m", ("d",)))
def lj(x):
    s = 1.0 / (x[0] - x[1]).norm_sqr()
    return 4.0 * (s**6 - s**3)


@local_map("density", gives="rho", over="pairs", x=Node("m", ("d",)))
def density(x):
    return ti.exp(-(x[0] - x[1]).norm_sqr())


@local_energy("embedding", over="nodes", rho=Node())
def embedding(rho):
    return -ti.sqrt(rho[0])


def shells(cell, reach):
    """The distances of a node from its images within reach."""
    n = np.array([*itertools.product(range(-6, 7), repeat=3)])
    r = np.linalg.norm(n @ cell, axis=1)
    return r[(r > 0.0) & (r < reach)]


def lattice_sum(cell):
    r = shells(cell, CUTOFF)
    return 2.0 * (r**-12 - r**-6).sum()


def primitive(energies, maps=(), cell=FCC, precision="f64"):
    fields = Fields({"x": np.full((1, 3), 0.3), "box": cell[None]}, {"x": "m", "box": "m"}, precision)
    cutoff = Cutoff(CUTOFF, skin=0.1, sharp=True, images=True)
    over = {"lj": cutoff, "density": cutoff}
    made = [bind(m, fields, cutoff=over[m.name]) for m in maps]
    return Potential(fields, [bind(e, fields, cutoff=over.get(e.name)) for e in energies], made)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_energy_and_stress_of_a_primitive_cell(precision):
    p = primitive([lj], precision=precision)
    eps = 1e-12 if precision == "f64" else 1e-5
    assert p.value() == pytest.approx(lattice_sum(FCC), rel=eps)
    assert np.abs(p.gradient("x")).max() <= 10 * eps
    slope = p.gradient("box")[0]
    for i, j in [(0, 1), (2, 2)]:
        step = np.zeros((3, 3))
        step[i, j] = 1e-5
        expected = (lattice_sum(FCC + step) - lattice_sum(FCC - step)) / 2e-5
        assert slope[i, j] == pytest.approx(expected, rel=1e-6 if precision == "f64" else 1e-3)


def test_a_map_over_images():
    p = primitive([embedding], [density])
    assert p.value() == pytest.approx(-np.sqrt(np.exp(-(shells(FCC, CUTOFF) ** 2)).sum()), rel=1e-12)
    assert np.abs(p.product({"x": np.ones((1, 3))}, "x")).max() < 1e-12


def test_a_cutoff_that_reaches_no_image():
    p = primitive([lj], cell=5.5 * np.eye(3))
    assert p.value() == 0.0
    assert not p.gradient("x").any()


def test_one_node_without_a_box():
    fields = Fields({"x": np.zeros((1, 3))}, {"x": "m"})
    with pytest.raises(mg.UserError, match="lj: a pair needs two nodes, got 1"):
        bind(lj, fields, cutoff=Cutoff(CUTOFF))


def test_the_madelung_energy_of_an_ion():
    """One charge in a neutral background: U = -2.837297 / 2 q^2 / L (Leslie & Gillan 1985)."""
    fields = Fields(
        {"x": np.full((1, 3), 0.2), "charge": np.ones(1), "box": np.eye(3)[None]},
        {"x": "m", "charge": "C", "box": "m"},
    )
    pme = particle_mesh_ewald(
        fields,
        cutoff=Cutoff(0.49, skin=0.01, sharp=True),
        alpha=8.0,
        mesh=(60, 60, 60),
        background=True,
        coulomb_constant=1.0,
    )
    p = Potential(fields, pme.terms, pme.maps)
    assert p.value() == pytest.approx(-0.5 * 2.837297479, rel=1e-5)


def cell_of_argon():
    return mg.Simulation(
        fields={"x": np.zeros((1, 3)), "m": np.ones(1), "v": np.full((1, 3), 0.1)},
        energies=[lj(cutoff=CUTOFF, switch="none", skin=0.1, images=True)],
        box={"vectors": FCC.tolist()},
        units="dimensionless",
        stepper=mg.Leapfrog(dt=0.01),
    )


def test_a_run_of_one_atom():
    s = cell_of_argon()
    s.step(10)
    assert s.fields["x"].values[0] == pytest.approx(0.01 * np.ones(3), rel=1e-12)
    pytest.importorskip("torch")
    import minusgrad.torch

    u = minusgrad.torch.energy(s)
    assert u(x=u.start("x")).item() == pytest.approx(lattice_sum(FCC), rel=1e-12)


def test_one_atom_of_ase():
    ase = pytest.importorskip("ase")
    from minusgrad.ase import Calculator

    atoms = ase.Atoms("Ar", positions=[[0.1, 0.2, 0.3]], cell=FCC, pbc=True)
    atoms.calc = Calculator(cell_of_argon())
    energy, forces = atoms.get_potential_energy(), atoms.get_forces()
    assert energy == pytest.approx(lattice_sum(FCC), rel=1e-9)
    assert np.abs(forces).max() < 1e-9
    assert np.isfinite(atoms.get_stress()).all()
