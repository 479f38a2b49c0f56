"""Stress and elastic constants against closed sums, closed forms and published values."""

import numpy as np
import pytest

from minusgrad import Fields, Node, Potential, bind, local_energy
from minusgrad.errors import EnergyError
from minusgrad.plugin import Cutoff
from minusgrad.steppers.pressure.elasticity import elastic_constants, voigt
from minusgrad_crystals.lattices import LATTICES
from minusgrad_crystals.stillinger_weber import stillinger_weber_pair, stillinger_weber_triple
from minusgrad_crystals.sutton_chen import sutton_chen_density, sutton_chen_embedding, sutton_chen_repulsion
from tests.support import lattice_sums
from tests.support.lattice_sums import FCC, born, dynamical, neighbours

A6, A12 = 14.45392, 12.13188
"""Sums over fcc of (nearest distance / r)^6 and ^12 (Ashcroft & Mermin 1976, Solid State Physics, ch. 20)."""
SILICON = {"C11": 151.41787, "C12": 76.41875, "C44": 56.44687, "unrelaxed C44": 109.75169}
"""GPa, of epsilon = 50 kcal/mol, sigma = 2.0951 angstrom: differences of `lattice_sums.silicon_strained`, in
`test_the_stored_constants_of_silicon`."""
GPA = 50.0 * 4184.0 / 6.02214076e23 / 2.0951e-10**3 / 1e9
"""epsilon / sigma^3 of silicon."""
EV = 160.2176634
"""1 eV / angstrom^3 in GPa."""


@local_energy("lennard_jones_pair", over="pairs", x=Node("m", ("d",)))
def lennard_jones_pair(x):
    r = x[0] - x[1]
    s = 1.0 / r.dot(r)
    return 4.0 * (s**6 - s**3)


def slope(r):
    return 4.0 * (-12.0 * r**-13.0 + 6.0 * r**-7.0)


def curvature(r):
    return 4.0 * (156.0 * r**-14.0 - 42.0 * r**-8.0)


def crystal(lattice, a, cells, displacement=0.0, precision="f64"):
    x, box = LATTICES[lattice].crystal(a, cells)
    x = x + displacement * np.random.default_rng(5).normal(size=x.shape)
    return Fields({"x": x, "box": box[None]}, precision=precision)


def argon(a, reach, cells=(1, 1, 1), lattice="fcc", **options):
    fields = crystal(lattice, a, cells, **options)
    cutoff = Cutoff(reach, sharp=True, skin=0.05, images=True)
    return Potential(fields, [bind(lennard_jones_pair, fields, cutoff=cutoff)])


def silicon(cells=(1, 1, 1), a=4.0 / 3.0**0.5 * 2.0 ** (1.0 / 6.0), **options):
    fields = crystal("diamond", a, cells, **options)
    cutoff = Cutoff(1.8, sharp=True, skin=0.05, images=True)
    units = {"epsilon": 1.0, "sigma": 1.0}
    parts = (stillinger_weber_pair, stillinger_weber_triple)
    return Potential(fields, [bind(part, fields, parameters=units, cutoff=cutoff) for part in parts])


def cubic(constants):
    return constants[0, 0], constants[0, 1], constants[3, 3]


@pytest.mark.parametrize(("a", "reach"), [(1.5, 2.9), (1.6, 4.2)])
def test_lennard_jones_under_stress_is_that_of_closed_sums(a, reach):
    """Second Piola constants by Born's sums; Birch's by differences of the stress of a strained lattice."""
    found = elastic_constants(argon(a, reach))
    stress, constants = born(neighbours(a * FCC, reach), slope, curvature, a**3 / 4.0)
    np.testing.assert_allclose(found.stress, stress, atol=1e-12 * np.abs(constants).max())
    np.testing.assert_allclose(
        found.brugger(found.relaxed), voigt(constants), atol=1e-11 * np.abs(constants).max()
    )
    assert found.pressure == pytest.approx(-np.trace(stress) / 3.0, rel=1e-11)

    def strained(e):
        F = np.eye(3) + e
        return born(neighbours(a * FCC, reach) @ F.T, slope, curvature, np.linalg.det(F) * a**3 / 4.0)[0]

    for e, column in ((np.diag([1.0, 0.0, 0.0]), 0), (np.array([[0.0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]]), 5)):
        change = (strained(1e-5 * e) - strained(-1e-5 * e)) / 2e-5
        rows = [change[pair] for pair in ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))]
        np.testing.assert_allclose(found.relaxed[:, column], rows, atol=1e-7 * np.abs(constants).max())


def test_lennard_jones_of_nearest_neighbours_is_in_closed_form():
    """k = 72 epsilon / r^2 at the minimum r: C11 = 2 k / a = 72, C12 = C44 = k / a = 36, without stress."""
    found = elastic_constants(argon(2.0 ** (2.0 / 3.0), 1.3))
    np.testing.assert_allclose(cubic(found.relaxed), [72.0, 36.0, 36.0], rtol=1e-12)
    assert np.abs(found.stress).max() < 1e-12


def test_the_bulk_modulus_of_lennard_jones_is_the_published_one():
    """75 epsilon / sigma^3 (Ashcroft & Mermin 1976, eq. 20.18), C12 = C44 (Cauchy)."""
    a = 2.0**0.5 * (2.0 * A12 / A6) ** (1.0 / 6.0)
    c11, c12, c44 = cubic(elastic_constants(argon(a, 6.0)).relaxed)
    assert (c11 + 2.0 * c12) / 3.0 == pytest.approx(4.0 * A12 * (A6 / A12) ** 2.5, rel=0.01)
    assert (c11 + 2.0 * c12) / 3.0 == pytest.approx(75.0, rel=0.01)
    assert c12 == pytest.approx(c44, rel=0.01)


ALL_NEIGHBOURS = 105.18207, 60.18667, 60.18667
"""C11, C12 and C44 in epsilon / sigma^3 of fcc Lennard-Jones at zero pressure, a = 1.5417374 sigma: sums of
Born and Huang (1954, ch. 3) over neighbours to 30 nearest distances, and the integral over those beyond."""


def test_the_elastic_constants_of_lennard_jones_one_by_one():
    """What is beyond the reach of 6 sigma is an integral over a uniform density, with mean x^4 = r^4 / 5."""
    a, reach = 1.5417374, 6.0
    found = elastic_constants(argon(a, reach))
    beyond = 2.0 * np.pi / 5.0 * 4.0 / a**3 * 4.0 * (168.0 / 9.0 * reach**-9 - 48.0 / 3.0 * reach**-3)
    constants = np.array(cubic(found.brugger(found.relaxed))) + beyond * np.array([1.0, 1.0 / 3.0, 1.0 / 3.0])
    np.testing.assert_allclose(constants, ALL_NEIGHBOURS, rtol=1e-3)


def test_the_published_elastic_constants_of_256_atoms_of_lennard_jones():
    """C44 = 57.2 and a bulk modulus of 71.2 epsilon / sigma^3 (Quesnel, Rimai & DeMejo 1993, Phys. Rev. B 48,
    6795), by molecular dynamics of 4^3 cells. Here the reach is 3 sigma, all shells within half their edge;
    the reach of the paper is not in its abstract. With all neighbours they are 60.2 and 75.2.
    """
    near = neighbours(FCC, 3.0 / 1.5464)
    sixth, twelfth = ((np.linalg.norm(near, axis=1) ** -p).sum() for p in (6.0, 12.0))
    found = elastic_constants(argon((2.0 * twelfth / sixth) ** (1.0 / 6.0), 3.0))
    assert abs(found.pressure) < 1e-10
    c11, c12, c44 = cubic(found.relaxed)
    assert c44 == pytest.approx(57.2, rel=0.01)
    assert c12 == pytest.approx(c44, rel=1e-10)
    assert (c11 + 2.0 * c12) / 3.0 == pytest.approx(71.2, rel=0.01)


def test_a_plane_of_springs_is_isotropic():
    """Nearest neighbours of the triangular lattice: C11 = 3 C12 = 3 C66, C11 = (3 sqrt(3) / 4) k."""
    found = elastic_constants(argon(2.0 ** (1.0 / 6.0), 1.3, (2, 2), "triangular"))
    k = curvature(2.0 ** (1.0 / 6.0))
    expected = 3.0**0.5 * k / 4.0 * np.array([[3.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(found.relaxed, expected, atol=1e-12 * k)


@pytest.mark.parametrize("cells", [(1, 1, 1), (2, 1, 1)])
def test_silicon_with_relaxation_and_without(cells):
    """The published 151, 76, 56 GPa to 1 % (Cowley 1988, Phys. Rev. Lett. 60, 2379); differences to 1e-6."""
    potential = silicon(cells)
    atoms = len(potential.fields["x"].values)
    assert potential.value() == pytest.approx(-2.0 * atoms, rel=1e-10)
    found = elastic_constants(potential)
    relaxed, unrelaxed = GPA * np.array(cubic(found.relaxed)), GPA * np.array(cubic(found.unrelaxed))
    np.testing.assert_allclose(relaxed, [SILICON[n] for n in ("C11", "C12", "C44")], rtol=1e-6)
    np.testing.assert_allclose(unrelaxed, [SILICON[n] for n in ("C11", "C12", "unrelaxed C44")], rtol=1e-6)
    np.testing.assert_allclose(relaxed, [151.0, 76.0, 56.0], rtol=0.01)


@pytest.mark.long
@pytest.mark.parametrize("relaxed", [False, True])
def test_the_stored_constants_of_silicon(relaxed):
    a = 4.0 / 3.0**0.5 * 2.0 ** (1.0 / 6.0)

    def energy(e):
        return lattice_sums.silicon_strained(a, e, relaxed)

    found = GPA * np.array(cubic(lattice_sums.constants_by_differences(energy, a**3 / 4.0, 2e-3)))
    names = ("C11", "C12", "C44" if relaxed else "unrelaxed C44")
    np.testing.assert_allclose(found, [SILICON[n] for n in names], rtol=1e-6)


def copper(a, reach):
    fields = crystal("fcc", a, (1, 1, 1))
    cutoff = Cutoff(reach, images=True, skin=0.1)
    density = bind(sutton_chen_density, fields, parameters={"a": 3.61, "m": 6.0}, cutoff=cutoff)
    pairs = {"epsilon": 1.2382e-2, "a": 3.61, "n": 9.0}
    repulsion = bind(sutton_chen_repulsion, fields, parameters=pairs, cutoff=cutoff)
    cohesion = bind(sutton_chen_embedding, fields, parameters={"epsilon": 1.2382e-2, "c": 39.432})
    return Potential(fields, [repulsion, cohesion], [density])


def test_copper_through_its_map_is_that_of_differences():
    """Of the energy of an atom in a strained lattice, summed in NumPy with the switch of OpenMM."""
    a, reach = 3.6128, 8.0

    def energy(e):
        r = np.linalg.norm(neighbours(a * FCC @ (np.eye(3) + e).T, reach), axis=1)
        s = np.clip((r / reach - 0.9) / 0.1, 0.0, 1.0)
        switch = 1.0 - 10.0 * s**3 + 15.0 * s**4 - 6.0 * s**5
        density = (switch * (3.61 / r) ** 6).sum()
        return 1.2382e-2 * (0.5 * (switch * (3.61 / r) ** 9).sum() - 39.432 * np.sqrt(density))

    potential = copper(a, reach)
    assert potential.value() == pytest.approx(4.0 * energy(np.zeros((3, 3))), rel=1e-13)
    found = elastic_constants(potential)
    by_strain = lattice_sums.constants_by_differences(energy, a**3 / 4.0, 2e-4)
    half = 0.25 * np.einsum("ak,bl->abkl", np.eye(3), found.stress)
    turned = half + half.transpose(0, 1, 3, 2)
    along_strain = found.brugger(found.unrelaxed) + voigt(turned + turned.transpose(1, 0, 2, 3))
    np.testing.assert_allclose(EV * along_strain, EV * by_strain, atol=2e-4)


def test_phonons_of_lennard_jones_are_those_of_the_dynamical_matrix():
    """D(q) of the sparse Hessian of 32 atoms and of a direct sum, at waves that fit into the box."""
    a, reach = 1.55, 2.9
    potential = argon(a, reach, (2, 2, 2))
    x = potential.fields["x"].values
    rows = potential.hessian("x").toarray()[:3].reshape(3, len(x), 3)
    r = neighbours(a * FCC, reach)
    for wave in ((0, 0, 0), (1, 0, 0), (2, 0, 0), (1, 1, 0), (3, 1, 2), (2, 2, 2)):
        q = np.pi / a * np.array(wave)
        found = np.einsum("anb,n->ab", rows, np.cos((x - x[0]) @ q))
        expected = dynamical(r, slope, curvature, q)
        np.testing.assert_allclose(
            found, expected, atol=1e-8 * np.abs(dynamical(r, slope, curvature, q + 1.0)).max()
        )


def test_phonons_of_nearest_neighbours_are_in_closed_form():
    """Along [100] the squared frequencies are 8 k sin^2(q a / 4) and, twice, 4 k sin^2(q a / 4)."""
    a = 2.0 ** (2.0 / 3.0)
    potential = argon(a, 1.3, (4, 1, 1))
    x, k = potential.fields["x"].values, 72.0 / 2.0 ** (1.0 / 3.0)
    rows = potential.hessian("x").toarray()[:3].reshape(3, len(x), 3)
    for wave in range(5):
        q = 2.0 * np.pi * wave / (4.0 * a)
        found = np.einsum("anb,n->ab", rows, np.cos(q * (x - x[0])[:, 0]))
        sine = np.sin(q * a / 4.0) ** 2
        np.testing.assert_allclose(found, k * sine * np.diag([8.0, 4.0, 4.0]), atol=1e-11)


def test_single_precision():
    found = elastic_constants(silicon((2, 2, 2), precision="f32"))
    np.testing.assert_allclose(GPA * np.array(cubic(found.relaxed)), [151.4, 76.4, 56.4], rtol=2e-3)


def test_atoms_at_no_minimum_are_refused():
    potential = argon(1.9, 2.2, (2, 2, 2), displacement=0.2)
    with pytest.raises(
        EnergyError, match=r"the atoms are at no minimum, got the curvature -.* minimise the energy"
    ):
        elastic_constants(potential)
    found = elastic_constants(potential, relax=False)
    assert np.isnan(found.relaxed).all()
    assert np.isfinite(found.unrelaxed).all()
    assert found.largest_force > 0.1


def test_a_potential_without_a_box_is_refused():
    fields = Fields({"x": np.random.default_rng(0).normal(size=(4, 3))})
    potential = Potential(fields, [bind(lennard_jones_pair, fields)])
    with pytest.raises(EnergyError) as refusal:
        elastic_constants(potential)
    assert str(refusal.value) == (
        "elastic constants: no energy depends on 'box', got fields x; give the scene a periodic [box]"
    )
