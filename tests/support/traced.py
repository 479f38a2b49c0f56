"""Energies that are traced and compared with plain Python and with Taichi."""

import inspect
from collections.abc import Callable

import numpy as np

from minusgrad import Datum, Fields, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.exam import references

taichi = ti  # as a file has it that imports the engine itself, whichever
limited, fraction, is_nothing, vec3 = ti.math.clamp, ti.math.fract, ti.math.isnan, ti.math.vec3
X, K, KIND = Node(shape=(3,)), Parameter(shape=(2,), default=1.0), Datum(integer=True)
SEEDS = (2, 4, 6)
WEIGHTS = ti.Matrix([[1.0, 0.5], [0.25, 2.0]])


def energy_of(function: Callable):
    """An energy over pairs of nodes of a list, with two parameters and an integer for each."""
    roles = {"x": X, "k": K, "level": KIND}
    return local_energy(
        function.__name__, over=2, **{a: roles[a] for a in inspect.signature(function).parameters}
    )(function)


def potential_of(function: Callable, seed: int) -> Potential:
    """The energy of a function over four pairs of four nodes of any sign."""
    rng = np.random.default_rng(seed)
    energy = energy_of(function)
    fields = Fields({"x": rng.uniform(0.3, 1.5, (4, 3)) * rng.choice([-1.0, 1.0], (4, 3))})
    data = {"level": [0, 1, 2, 49]} if "level" in energy.roles else {}
    parameters = {"k": rng.uniform(0.5, 1.5, 2)} if "k" in energy.roles else {}
    return Potential(
        fields,
        [bind(energy, fields, tuples=[[0, 1], [1, 2], [3, 0], [2, 3]], data=data, parameters=parameters)],
    )


def assert_understood(function: Callable, compiles: bool = True) -> None:
    """Value and gradient as in plain Python and, where it compiles, as in Taichi."""
    for seed in SEEDS:
        potential = potential_of(function, seed)
        (term,) = potential.terms.values()
        scale = max(references.magnitude(term), 1.0)
        assert abs(potential.value() - references.plain_energy(term)) < 1e-12 * scale
        found, expected = potential.gradient("x"), references.differences(term)["x"]
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * scale)
        if compiles:
            value, reverse = references.taichi(term)
            assert abs(potential.value() - value) < 1e-12 * scale
            np.testing.assert_allclose(found, reverse["x"], rtol=1e-11, atol=1e-11 * scale)
