"""Repeated requests: kernels are kept from call to call; numbers, arrays and memory of callers are not."""

import gc
import weakref

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError
from minusgrad_gravity.gravity import gravity
from tests.support import energies

CHAIN = np.stack([np.arange(29), np.arange(1, 30)], axis=1)


def potential_of(x: np.ndarray, precision: str = "f64") -> Potential:
    """Springs in a trap, and gravity."""
    fields = Fields({"x": x, "m": np.linspace(0.5, 1.5, len(x))}, precision=precision)
    rest = np.linspace(0.5, 1.5, len(CHAIN))
    return Potential(
        fields,
        [
            bind(energies.spring, fields, tuples=CHAIN, data={"rest": rest}),
            bind(energies.trap, fields, parameters={"w": 1.3}),
            bind(gravity, fields, parameters={"G": 2.0, "softening": 0.1}),
        ],
    )


def positions(seed: int, n: int = 30) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 3))


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_every_array_gets_the_gradient_of_the_present_fields(precision: str) -> None:
    potential = potential_of(positions(0), precision)
    arrays = [np.full((30, 3), np.nan, potential.fields.dtype) for _ in range(3)]
    expected = []
    for seed in range(6):
        x = positions(seed)
        potential.fields["x"].set(x)
        new, array, first = potential_of(x, precision), arrays[seed % 3], np.zeros_like(arrays[0])
        before = [one.copy() for one in arrays]
        assert potential.evaluate_into({"x": array}) == new.evaluate_into({"x": first})
        assert np.array_equal(array, first)
        array[...] = np.nan
        potential.gradient_into({"x": array})
        expected.append(new.gradient("x"))
        assert np.array_equal(array, expected[-1])
        for k, other in enumerate(arrays):
            assert k == seed % 3 or np.array_equal(other, before[k], equal_nan=True)
    assert not np.array_equal(expected[0], expected[1])


def test_a_new_array_at_the_place_of_a_freed_one_gets_its_gradient() -> None:
    potential, seen = potential_of(positions(0)), set()
    for seed in range(20):
        x = positions(seed)
        potential.fields["x"].set(x)
        array = np.full((30, 3), np.nan)
        seen.add(id(array))
        potential.gradient_into({"x": array})
        assert np.array_equal(array, potential_of(x).gradient("x"))
        del array
    assert len(seen) < 20, "no place was used twice: the test shows nothing"


def test_neither_arrays_nor_kernels_for_them_are_kept() -> None:
    potential, arrays = potential_of(positions(0)), []
    for _ in range(20):
        array = np.zeros((30, 3))
        potential.gradient_into({"x": array})
        potential.evaluate_into({"x": array})
        arrays.append(weakref.ref(array))
        del array
    gc.collect()
    assert all(ref() is None for ref in arrays)
    assert [len(kernels._sweeps) for kernels in potential.kernels.values()] == [2, 2, 2]


def test_an_error_leaves_no_array_behind(monkeypatch) -> None:
    potential = potential_of(positions(0))
    array = np.zeros((30, 3))
    potential.gradient_into({"x": array})

    def fails(t: float) -> None:
        raise ValueError("stopped")

    monkeypatch.setattr(potential, "refresh", fails)
    with pytest.raises(ValueError, match="stopped"):
        potential.gradient_into({"x": array})
    monkeypatch.undo()
    kept = weakref.ref(array)
    del array
    gc.collect()
    assert kept() is None
    other = np.full((30, 3), np.nan)
    potential.gradient_into({"x": other})
    assert np.array_equal(other, potential_of(positions(0)).gradient("x"))


def test_memory_that_a_field_borrows_is_read_at_every_call() -> None:
    """Written in place between two calls, and exchanged for other memory of the same shape."""
    potential, out = potential_of(positions(0)), np.zeros((30, 3))
    one, other = positions(1), positions(2)
    slot = potential.fields["x"].array
    for array in (one, other, one):
        slot.lend(array)
        for shift in (0.0, 0.25):
            array += shift
            potential.gradient_into({"x": out})
            assert np.array_equal(out, potential_of(array).gradient("x"))
    slot.leave()
    potential.gradient_into({"x": out})
    assert np.array_equal(out, potential_of(positions(0)).gradient("x"))


@pytest.mark.parametrize("n", [30, 1100])
def test_the_energy_of_a_repeated_sweep_is_that_of_the_present_fields(n: int) -> None:
    """Of few nodes its sums are read in place; in lanes they are copied from blocks."""
    potential = potential_of(positions(0, n))
    out, found = np.zeros((n, 3)), set()
    for seed in range(3):
        x = positions(seed, n)
        potential.fields["x"].set(x)
        found.add(energy := potential.evaluate_into({"x": out}))
        assert energy == potential_of(x).evaluate_into({"x": np.zeros((n, 3))})
        assert energy == pytest.approx(potential_of(x).value(), rel=1e-13)
    assert len(found) == 3


def test_parameters_are_read_at_every_call() -> None:
    potential, out = potential_of(positions(0)), np.zeros((30, 3))
    for k in (1.0, 2.0):
        potential.set_parameter("trap.k", k)
        new = potential_of(positions(0))
        new.set_parameter("trap.k", k)
        expected = np.zeros((30, 3))
        assert potential.evaluate_into({"x": out}) == new.evaluate_into({"x": expected})
        assert np.array_equal(out, expected)


def test_one_array_for_two_fields_is_refused_at_every_call() -> None:
    fields = Fields({"x": positions(0), "y": positions(1)})
    terms = [
        bind(energies.trap, fields, parameters={"w": 1.0}, name=f"on_{n}", renamed={"x": n}) for n in "xy"
    ]
    potential, one, other = Potential(fields, terms), np.zeros((30, 3)), np.zeros((30, 3))
    potential.gradient_into({"x": one, "y": other})
    with pytest.raises(EnergyError, match="one array is given for two derivatives"):
        potential.gradient_into({"x": one, "y": one})
    with pytest.raises(EnergyError, match="has shape"):
        potential.gradient_into({"x": one, "y": np.zeros((3, 3))})


def test_small_systems_stay_on_one_thread_and_keep_their_bits() -> None:
    """Their loops do not wake the pool; more threads, and another start of the engine, change no bit."""
    before = runtime._Running.options
    found = []
    try:
        for threads in (1, 2, 1):
            runtime.start(runtime.Options(threads=threads))
            potential = potential_of(positions(0))
            found.append(potential.gradient("x"))
            for kernels in potential.kernels.values():
                for sweep in kernels._sweeps.values():
                    lines = sweep.code.text.splitlines()
                    loops = [k for k, line in enumerate(lines) if line.startswith("for ")]
                    assert loops
                    assert all("serialize=True" in lines[k - 1] for k in loops)
    finally:
        runtime.start(before)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_a_product_is_verified_along_the_tangent_of_its_own_call() -> None:
    """A kernel is verified again in another range of a parameter: along the tangents of now, not of then."""
    potential = potential_of(positions(0))
    first = potential.product({"trap.w": 1.0}, "trap.w", 0.7)
    assert potential.product({"trap.w": -0.3}, "trap.w", 0.7) == pytest.approx(-0.3 * first)
    potential.set_parameter("trap.w", 1000.0)
    new = potential_of(positions(0))
    new.set_parameter("trap.w", 1000.0)
    expected = new.product({"trap.w": 2.0}, "trap.w", 0.7)
    assert potential.product({"trap.w": 2.0}, "trap.w", 0.7) == pytest.approx(expected)
