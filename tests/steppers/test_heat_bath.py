"""A heat bath: the numbers it draws, the temperatures that come out, and what it gives and takes."""

import numpy as np
import pytest

import minusgrad
from minusgrad import Datum, Fields, Hold, Motion, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.adjoint.rollout import Rollout
from minusgrad.assembly.observers import Temperatures, boltzmann
from minusgrad.engine import random as drawn
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError
from minusgrad.files.trajectory import Recorder
from minusgrad.scene.units import UnitSystem
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.heat_bath import Bath
from tests.support.command import SCENES

# Numbers --------------------------------------------------------------------------------------------

ALL = 0xFFFFFFFF
KNOWN = [
    ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ([ALL] * 4, [ALL] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]
"""Counter, key and what comes out: the known answers that Random123 is published with."""


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN, ids=["zeros", "ones", "pi"])
def test_philox_gives_the_known_answers(counter, key, words):
    assert " ".join(f"{int(word):08x}" for word in drawn.philox(counter, key)) == words


@ti.kernel
def filled(out: ti.types.ndarray(), seed: ti.i64, stream: ti.f64, step: ti.i64):
    for i in range(out.shape[0]):
        out[i, 0] = drawn.uniform(seed, stream, step, i)
        out[i, 1] = drawn.normal(seed, stream, step, i)


@pytest.mark.parametrize(("seed", "step"), [(0, 0), (5, 7), (2**40 + 3, 2**33 + 5), (2**63 - 1, 1)])
def test_kernels_draw_what_numpy_draws(seed, step):
    runtime.start()
    out, stream = np.zeros((1000, 2)), drawn.stream("a test")
    filled(out, seed, stream, step)
    assert np.array_equal(out[:, 0], drawn.uniforms(seed, stream, step, np.arange(1000)))
    normals = drawn.normals(seed, stream, step, np.arange(1000))
    np.testing.assert_allclose(out[:, 1], normals, rtol=1e-12, atol=1e-14)


def test_numbers_are_spread_as_they_should_be():
    """Moments, and correlations between neighbours in every argument, within four standard errors."""
    n = 200_000
    index = np.arange(n)
    u, x = drawn.uniforms(1, 2, 3, index), drawn.normals(1, 2, 3, index)
    assert 0.0 < u.min() < u.max() < 1.0
    moments = [(u.mean() - 0.5) * 12**0.5, ((x**2).mean() - 1) / 2**0.5, x.mean(), (x**3).mean() / 15**0.5]
    moments += [((x**4).mean() - 3) / 96**0.5]
    others = [drawn.normals(*at, index) for at in ((2, 2, 3), (1, 3, 3), (1, 2, 4), (1, 2, 3 + 2**32))]
    others += [drawn.normals(1, 2, 3, index + 1), drawn.normals(1 + 2**32, 2, 3, index)]
    moments += [(x * other).mean() for other in others]
    assert np.abs(moments).max() < 4.0 / n**0.5
    assert drawn.uniforms(1, 2, 3, 17) == u[17]


def test_streams_have_names():
    assert drawn.stream("bath/x") != drawn.stream("bath/y")
    assert 0 <= drawn.stream("") < 2**32


# A harmonic crystal ----------------------------------------------------------------------------------


@local_energy("bond", over=2, x=Node("m", ("d",)), apart=Datum("m", ("d",)), k=Parameter("N/m"))
def bond(x, apart, k):
    """Exactly quadratic."""
    return 0.5 * k * (x[1] - x[0] - apart).norm_sqr()


SIDE, K, M, KT, GAMMA = 6, 2.0, 1.5, 0.3, 0.7


def crystal(dt: float, precision: str = "f64", seed: int = 3, kT: float = KT, gamma: float = GAMMA):
    """A square lattice of bonds, its left column held."""
    places = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij"), -1).reshape(-1, 2) * 1.0
    pairs = [(i, j) for i in range(SIDE**2) for j in (i + 1, i + SIDE) if j < SIDE**2]
    pairs = np.array([p for p in pairs if np.abs(places[p[1]] - places[p[0]]).sum() == 1.0])
    apart = places[pairs[:, 1]] - places[pairs[:, 0]]
    state = {"x": places, "v": np.zeros_like(places), "m": np.full(SIDE**2, M)}
    fields = Fields(state, {"x": "m", "v": "m s^-1", "m": "kg"}, precision)
    bonds = bind(bond, fields, tuples=pairs, data={"apart": apart}, parameters={"k": K})
    potential = Potential(fields, [bonds])
    motions = (Motion("x", "v", "m"),)
    holds = Holds(fields, [Hold("left", "x", np.arange(SIDE))], motions)
    bath = Bath(gamma, kT, seed)
    return Integrator(System(potential, motions, holds=holds, bath=bath), SCHEMES["leapfrog"], dt)


def error_of_mean(values: np.ndarray) -> float:
    """Of a correlated series: from the means of 32 blocks."""
    blocks = values[: len(values) // 32 * 32].reshape(32, -1).mean(axis=1)
    return float(blocks.std(ddof=1) / 32**0.5)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_equipartition_and_configurational_temperature(precision):
    """Of every mode k q^2 = kT, whatever the step, and m q'^2 = kT (1 - (w h)^2 / 4), within 3 errors."""
    h = 0.4
    one = crystal(h, precision)
    rest = one.potential.fields["x"].values[SIDE:].astype(float)
    laplacian = one.potential.hessian("x").toarray()
    free = slice(2 * SIDE, None)
    stiffness, modes = np.linalg.eigh(laplacian[free, free])
    one.advance(200)
    q, p, squares = [], [], []
    for _ in range(6400):
        one.advance(5)
        fields = one.potential.fields
        q.append(modes.T @ (fields["x"].values[SIDE:].astype(float) - rest).ravel())
        p.append(modes.T @ fields["v"].values[SIDE:].astype(float).ravel())
        squares.append((one.gradient["x"][SIDE:].astype(float) ** 2).sum())
    position = stiffness * np.array(q) ** 2 / KT
    momentum = M * np.array(p) ** 2 / KT / (1.0 - stiffness / M * h**2 / 4.0)
    for series in (position, momentum):
        whole = series.mean(axis=1)
        assert abs(whole.mean() - 1.0) < 3.0 * error_of_mean(whole) < 0.02
        each = [(column.mean() - 1.0) / error_of_mean(column) for column in series.T]
        assert 0.6 < np.mean(np.square(each)) < 1.5, "60 modes, each off by its own error"
    configurational = np.array(squares) / np.trace(laplacian[free, free]) / KT
    assert abs(configurational.mean() - 1.0) < 3.0 * error_of_mean(configurational) < 0.02


def test_the_observer_records_both_temperatures():
    one = crystal(0.1)
    one.advance(100)
    recorder = Recorder({}, ("s", 1.0))
    Temperatures(one, recorder, 1, 0.5, True).observe()
    seen = {n.split("/", 1)[1]: v[-1] for n, v in recorder.state().items() if n.endswith("value")}
    v, g = one.potential.fields["v"].values[SIDE:], one.gradient["x"][SIDE:]
    assert seen["temperature/kinetic/value"] == pytest.approx(M * (v**2).sum() / (0.5 * v.size), rel=1e-14)
    trace = one.potential.hessian("x").diagonal()[2 * SIDE :].sum()
    assert seen["laplacian/value"] == pytest.approx(trace, rel=1e-14)
    assert seen["force_squared/value"] == pytest.approx((g**2).sum(), rel=1e-14)
    assert seen["temperature/configurational/value"] == pytest.approx((g**2).sum() / trace / 0.5, rel=1e-14)


def test_boltzmann_is_that_of_the_units():
    assert boltzmann(UnitSystem.si()) == 1.380649e-23
    assert boltzmann(UnitSystem.dimensionless()) == 1.0
    assert boltzmann(UnitSystem.of("nm", "u", "ps")) == pytest.approx(0.00831446262, rel=1e-8)


def test_warm_crystal(tmp_path):
    """The claim of the scene."""
    run = minusgrad.run(SCENES / "warm_crystal.toml", out=tmp_path / "run")
    k = boltzmann(run.simulation.units)
    kinetic, squares, laplacian, heat, drift = (
        run.series(f"observables/{name}").value
        for name in ("temperature/kinetic", "force_squared", "laplacian", "heat", "drift")
    )
    assert len(kinetic) == 1001
    forces = squares[100:].mean() / laplacian[100:].mean() / k
    for mean, series in ((kinetic[100:].mean(), kinetic[100:]), (forces, (squares / laplacian)[100:] / k)):
        assert abs(mean - 100.0) < 3.0 * error_of_mean(series) < 3.0
    assert heat[-1] > 100.0
    assert 1e-4 < np.abs(drift[1:]).max() < 1e-2


# One step --------------------------------------------------------------------------------------------


def test_a_step_is_baoab(launches):
    """Against NumPy, step by step; what is held does not move, and the heat is what the bath gave."""
    h, one = 0.3, crystal(0.3, seed=2**40 + 11)
    assert one.fused == (launches == "fused")
    x, v = (one.potential.fields[n].values.copy() for n in "xv")
    heat, free = 0.0, slice(SIDE, None)

    def force():
        one.potential.fields["x"].set(x)
        return -one.potential.gradient("x")[free] / M

    for step in range(4):
        v[free] += h / 2 * force()
        x[free] += h / 2 * v[free]
        c = np.exp(-GAMMA * h)
        xi = drawn.normals(2**40 + 11, drawn.stream("bath/x"), step, np.arange(2 * SIDE**2)).reshape(-1, 2)
        new = c * v + np.sqrt((1 - c**2) * KT / M) * xi
        heat += 0.5 * M * (new[free] ** 2 - v[free] ** 2).sum()
        v[free] = new[free]
        x[free] += h / 2 * v[free]
        v[free] += h / 2 * force()
    other = crystal(0.3, seed=2**40 + 11)
    other.advance(4)
    np.testing.assert_allclose(other.potential.fields["x"].values, x, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(other.potential.fields["v"].values, v, rtol=1e-12, atol=1e-13)
    assert other.balance["heat"] == pytest.approx(heat, rel=1e-12)


def test_cuts_and_batches_change_no_bit(launches):
    """State and fields of one run, taken over by another in its midst."""
    one, other = crystal(0.2), crystal(0.2)
    one.advance(17)
    other.advance(3)
    state = other.state(), {n: f.values.copy() for n, f in other.potential.fields.items()}
    third = crystal(0.2)
    for name, values in state[1].items():
        third.potential.fields[name].set(values)
    third.restore(state[0])
    for _ in range(14):
        third.advance(1)
    for name in "xv":
        assert np.array_equal(one.potential.fields[name].values, third.potential.fields[name].values)
    assert one.balance == third.balance
    assert "heat" in state[0]


def test_without_friction_it_is_leapfrog(launches):
    one = crystal(0.2, gamma=0.0)
    kick = np.linspace(-1, 1, 2 * SIDE**2).reshape(-1, 2)
    kick[:SIDE] = 0.0
    one.potential.fields["v"].set(kick)
    plain = crystal(0.2)
    plain.potential.fields["v"].set(kick)
    plain = Integrator(System(plain.potential, plain.motions, holds=plain.holds), SCHEMES["leapfrog"], 0.2)
    for stepper in (one, plain):
        stepper.advance(20)
    for name in "xv":
        values = (s.potential.fields[name].values for s in (one, plain))
        np.testing.assert_allclose(*values, rtol=1e-12, atol=1e-13)
    assert abs(one.balance["heat"]) < 1e-12


def test_energy_less_heat_stays(launches):
    """At second order in the step."""
    left = []
    for h in (0.2, 0.1):
        one = crystal(h)
        start = one.potential.value()
        one.advance(round(8.0 / h))
        v = one.potential.fields["v"].values[SIDE:]
        left.append(abs(one.potential.value() + 0.5 * M * (v**2).sum() - start - one.balance["heat"]))
    assert left[0] < 0.05 * one.balance["heat"]
    assert left[1] < left[0]


def test_another_seed_is_another_run():
    runs = [crystal(0.2, seed=seed) for seed in (1, 2, 1, 1 + 2**32)]
    for one in runs:
        one.advance(5)
    x = [one.potential.fields["x"].values for one in runs]
    assert np.array_equal(x[0], x[2])
    assert not np.array_equal(x[0], x[1])
    assert not np.array_equal(x[0], x[3])


def test_no_derivative_goes_through_a_bath():
    with pytest.raises(EnergyError) as refused:
        Rollout(crystal(0.1), [], 5)
    assert str(refused.value) == "stepper 'Integrator': a run in a heat bath has no derivative; use leapfrog"
