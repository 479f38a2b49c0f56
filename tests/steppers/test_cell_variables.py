"""Minimisers that seek positions and the periodic box together."""

import numpy as np
import pytest

from minusgrad import Fields, Node, Potential, bind, local_energy
from minusgrad.errors import EnergyError
from minusgrad.plugin import Cutoff, Tolerances, Unknown
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad_crystals.lattices import LATTICES


@local_energy("argon_pair", over="pairs", x=Node("m", ("d",)))
def argon_pair(x):
    r = x[0] - x[1]
    s = 1.0 / r.dot(r)
    return 4.0 * (s**6 - s**3)


def crystal(a, disorder=0.0, cells=(3, 2)):
    """A triangular lattice with interactions of nearest neighbours: r = 2^(1/6) at rest."""
    x, box = LATTICES["triangular"].crystal(a, cells)
    rng = np.random.default_rng(6)
    box = box + disorder * rng.normal(size=box.shape)
    fields = Fields({"x": x + disorder * rng.normal(size=x.shape), "box": box[None]})
    return Potential(fields, [bind(argon_pair, fields, cutoff=Cutoff(1.6, skin=0.2, images=True))])


def search(potential):
    return LBFGS(potential, [Unknown("x", scale=0.1), Unknown("box", scale=0.2)], Tolerances(1e-9))


def test_the_slope_is_that_of_the_scaled_variables():
    found = search(crystal(1.2, 0.05))
    coordinates, potential = found.coordinates, found.potential
    z = coordinates.scaled(coordinates.read())
    slope = coordinates.slope({name: potential.gradient(name) for name in ("x", "box")})
    along, values = np.random.default_rng(1).normal(size=z.shape), []
    for step in (1e-6, -1e-6):
        coordinates.write(z + step * along)
        values.append(potential.value())
        np.testing.assert_allclose(coordinates.scaled(coordinates.read()), z + step * along, atol=1e-12)
    assert (values[0] - values[1]) / 2e-6 == pytest.approx(slope @ along, rel=1e-7)


def test_a_change_of_the_box_strains_the_crystal():
    potential = crystal(1.2)
    found, before = search(potential), potential.fields["x"].values.copy()
    box = potential.fields["box"].values[0].copy()
    z = found.coordinates.scaled(found.coordinates.read())
    z[-4:] *= 1.1
    found.coordinates.write(z)
    np.testing.assert_allclose(potential.fields["box"].values[0], 1.1 * box, rtol=1e-14)
    np.testing.assert_allclose(potential.fields["x"].values, 1.1 * before, rtol=1e-13)


def test_the_lattice_constant_and_the_shape_are_found():
    potential = crystal(1.2, 0.04)
    found = search(potential)
    found.advance(300)
    assert found.outcome == "converged", found.verdict
    box, n = potential.fields["box"].values[0], len(potential.fields["x"].values)
    a = np.sqrt(abs(np.linalg.det(box)) / n * 2.0 / 3.0**0.5)
    assert a == pytest.approx(2.0 ** (1.0 / 6.0), rel=1e-9)
    assert found.energy == pytest.approx(-3.0 * n, rel=1e-12)
    np.testing.assert_allclose(np.linalg.norm(box, axis=1), [3.0 * a, 2.0 * 3.0**0.5 * a], rtol=1e-8)


def test_a_resumed_search_has_the_bits_of_one_that_was_not_interrupted():
    whole, first = search(crystal(1.2, 0.04)), search(crystal(1.2, 0.04))
    whole.advance(12)
    first.advance(5)
    later = search(crystal(1.3))
    for name in ("x", "box"):
        later.potential.fields[name].set(first.potential.fields[name].values)
    state = first.state()
    np.testing.assert_array_equal(state["reference_box"], crystal(1.2, 0.04).fields["box"].values[0])
    later.restore(state)
    later.advance(7)
    for name in ("x", "box"):
        expected = whole.potential.fields[name].values
        np.testing.assert_array_equal(later.potential.fields[name].values, expected)


def test_the_box_may_have_bounds_and_components_that_are_held():
    """Without shear, which could turn the crystal, the longer edge stays at its bound."""
    potential = crystal(1.2)
    free = {"x": np.ones(potential.fields["x"].shape, bool), "box": np.eye(2, dtype=bool)[None]}
    unknowns = [Unknown("x", scale=0.1), Unknown("box", scale=0.2, upper=3.8)]
    found = LBFGS(potential, unknowns, Tolerances(1e-9), free=free)
    found.advance(300)
    box = potential.fields["box"].values[0]
    assert found.outcome == "converged", found.verdict
    assert box[1, 1] == 3.8
    assert box[0, 1] == box[1, 0] == 0.0
    assert 3.0 * 2.0 ** (1.0 / 6.0) < box[0, 0] < 3.5
    assert potential.gradient("box")[0, 1, 1] < -0.1


def test_positions_that_cannot_follow_the_box_are_refused():
    potential = crystal(1.2)
    free = {"x": np.ones(potential.fields["x"].shape, bool), "box": np.ones((1, 2, 2), bool)}
    free["x"][0] = False
    with pytest.raises(EnergyError) as refusal:
        LBFGS(potential, [Unknown("x"), Unknown("box")], free=free)
    assert str(refusal.value) == (
        "'box': is sought with positions of which some are held, got a hold of 'x'; hold no position, or"
        " leave 'box' out of the unknowns"
    )
    with pytest.raises(EnergyError) as refusal:
        LBFGS(potential, [Unknown("x", upper=9.0), Unknown("box")])
    assert str(refusal.value) == (
        "'box': is sought with bounded positions, got bounds of 'x'; leave them out, because positions"
        " move with the box"
    )
