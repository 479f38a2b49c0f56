"""What must be true of everything that moves. The tests hold it of the code, `test_damage` of its mutants.

Each law is an assertion about a stepper, or about errors at several step sizes.
"""

from collections.abc import Callable, Sequence

import numpy as np

from minusgrad.assembly.observers import momentum
from minusgrad.engine import storage
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.stability.energy_balance import kinetic_energy


def fitted_order(errors: Sequence[float], steps: Sequence[int]) -> float:
    """p in error ~ steps^-p, by least squares."""
    return -float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


def assert_order(error: Callable[[int], float], order: int, steps: Sequence[int]) -> None:
    """The error at a fixed time falls as steps^-order, to 0.1 in the exponent."""
    errors = [error(n) for n in steps]
    assert abs(fitted_order(errors, steps) - order) < 0.1, (
        f"order {fitted_order(errors, steps):.2f}: {errors}"
    )


def assert_momentum(stepper: Integrator, steps: int) -> None:
    """Every component of the total momentum stays, to 1e-13 of the momenta's sum."""
    (motion,) = stepper.motions
    fields, inertia = stepper.potential.fields, storage.host(stepper.inertia[motion.position])
    before = momentum(fields, motion, inertia)
    stepper.advance(steps)
    after, v = momentum(fields, motion, inertia), fields[motion.velocity].values
    assert np.abs(after - before).max() < 1e-13 * np.abs(v.T * inertia).sum()


def assert_reversible(stepper: Integrator, steps: int) -> None:
    """Forward, velocities turned round, forward again: back at the start, to 1e-12."""
    (motion,) = stepper.motions
    x, v = (stepper.potential.fields[n] for n in (motion.position, motion.velocity))
    start = x.values.copy(), v.values.copy()
    stepper.advance(steps)
    moved = np.abs(x.values - start[0]).max()
    v.set(-v.values)
    stepper.advance(steps)
    assert moved > 0.1
    assert np.abs(x.values - start[0]).max() < 1e-12
    assert np.abs(v.values + start[1]).max() < 1e-12


def assert_splits(build: Callable[[], Integrator], steps: int = 1000) -> None:
    """1000 steps = 500 + 500 = 1000 x 1 = sevens and six, in every bit of everything that is kept."""
    whole = kept(build(), [steps])
    for cuts in ([steps // 2] * 2, [1] * steps, [7] * (steps // 7) + [steps % 7]):
        assert kept(build(), cuts) == whole, f"cut into {len(cuts)} the bits differ"


def kept(stepper: Integrator, cuts: Sequence[int]) -> dict[str, bytes]:
    """The bytes of the fields and of the stepper's own state, after so many steps at a time."""
    for n in cuts:
        stepper.advance(n)
    return bits(stepper)


def bits(stepper: Integrator) -> dict[str, bytes]:
    """Fields and the stepper's own state, as bytes."""
    fields = {name: f.values.tobytes() for name, f in stepper.potential.fields.items()}
    return fields | {name: array.tobytes() for name, array in stepper.state().items()}


def assert_clock(stepper: Integrator, steps: int) -> None:
    """The time is t0 + step dt, to the last bit."""
    for k in range(1, steps + 1):
        stepper.advance(1)
        assert stepper.time == stepper.t0 + k * stepper.dt


def energy(stepper: Integrator) -> float:
    """Kinetic and potential energy at the stepper's time."""
    kinetic = sum(
        kinetic_energy(stepper.potential.fields, m, storage.host(stepper.inertia[m.position]))
        for m in stepper.motions
    )
    return kinetic + stepper.potential.value(stepper.time)


def energy_error(stepper: Integrator, steps: int) -> float:
    """How far energy minus work has gone from its start after so many steps, relative."""
    start = energy(stepper)
    stepper.advance(steps)
    return abs(energy(stepper) - stepper.work - start) / abs(start)
