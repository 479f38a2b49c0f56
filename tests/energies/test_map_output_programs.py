"""Programs of maps with several outputs: steps of NumPy, gradients through particles and a grid."""

import pytest

from minusgrad import (
    Fields,
    Node,
    Output,
    Parameter,
    Potential,
    Rollout,
    bind,
    local_energy,
    local_map,
)
from minusgrad.adjoint.losses import Loss
from minusgrad.engine import runtime
from minusgrad.potential.slope import Slope
from minusgrad.steppers.programs.evolution import Evolution
from minusgrad.steppers.programs.serial_steps import SerialSteps
from minusgrad.steppers.systems.system import System
from tests.support.map_outputs import (
    GRIDS,
    V,
    X,
    balls,
    differences,
    error,
    impact,
    impulses,
    particles,
    scatter,
    setter_of,
    values_of,
)

runtime.start()


@local_map("kick", gives="v_next", unit="m/s", shape=("d",), over="nodes", v=V, dv=V)
def kick(v, dv):
    """v + dv."""
    return v[0] + dv[0]


@local_map(
    "drift",
    gives="x_next",
    unit="m",
    shape=("d",),
    over="nodes",
    x=X,
    v=V,
    dx=X,
    h=Parameter("s", default=0.1),
)
def drift(x, v, dx, h):
    """x + h v + dx."""
    return x[0] + h * v[0] + dx[0]


@local_energy("goal", over="nodes", x=X)
def goal(x):
    """|x|^4 / 4."""
    return 0.25 * x[0].norm_sqr() ** 2


def program() -> Evolution:
    fields = balls(2, n=4)
    maps = [bind(impact, fields), bind(kick, fields), bind(drift, fields, renamed={"v": "v_next"})]
    return Evolution(System(Potential(fields, [], maps)), {"x": "x_next", "v": "v_next"})


def test_a_program_takes_the_steps_of_numpy() -> None:
    one = program()
    x, v = (one.potential.fields[n].values.copy() for n in "xv")
    one.advance(6)
    for _ in range(6):
        dv, dx, _ = impulses(x, v)
        v = v + dv
        x = x + 0.1 * v + dx
    assert error(one.potential.fields["x"].values, x) < 1e-13
    assert error(one.potential.fields["v"].values, v) < 1e-13


def test_the_gradient_of_a_program() -> None:
    one = program()
    rollout = Rollout(
        one, [Loss(Potential(one.potential.fields, [bind(goal, one.potential.fields)]), (3, 6))], 6
    )
    names = ("x", "v", "impact.e", "impact.size", "drift.h")
    _, found = rollout.evaluate(names)
    for n in names:
        expected = differences(rollout.value, values_of(one.potential, n), setter_of(one.potential, n))
        assert error(found[n], expected) < 1e-8, n


@local_map(
    "velocity", gives="V", unit="m/s", shape=("d",), over="nodes", p=Node("kg m/s", ("d",)), mass=Node("kg")
)
def velocity(p, mass):
    """The velocity of a cell."""
    return p[0] / (mass[0] + 0.1)


@local_map(
    "carried",
    over="nodes",
    gives={"v1": Output("m/s", ("d",)), "C1": Output("s^-1", ("d", "d")), "x1": Output("m", ("d",))},
    x=X,
    of_v=Node("kg m/s", ("d",)),
    of_C=Node("kg m^2 s^-1", ("d", "d")),
    m=Node("kg"),
    h=Parameter("s", default=0.02),
)
def carried(x, of_v, of_C, m, h):
    """Velocity, its gradient and place after a step."""
    v = of_v[0] / m[0]
    return v, 4.0 / 0.5625 * of_C[0] / m[0], x[0] + h * v


@pytest.mark.parametrize("serial", [True, False], ids=["one kernel", "launches"])
def test_the_gradient_of_particles_and_a_grid(serial: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two APIC steps: scatter, velocities of the cells, the gather as the transpose of the scatter."""
    if not serial:
        monkeypatch.setattr(SerialSteps, "serve", lambda statements: False)
    whole = particles(2)
    start = {n: f.values for n, f in whole.items() if n not in ("V", "W")}
    fields = Fields(start, {n: whole[n].unit for n in start})
    given = bind(scatter, fields, grid=GRIDS[2], outside="cut")
    velocities = bind(velocity, fields)
    transposed = Potential(fields, [], [given], frozen=True)
    gather = Slope("gather", transposed, {"v": "of_v", "C": "of_C"}, paired={"p": "V"})
    maps = [given, velocities, gather, bind(carried, fields)]
    one = Evolution(System(Potential(fields, [], maps)), {"x": "x1", "v": "v1", "C": "C1"})
    rollout = Rollout(one, [Loss(Potential(fields, [bind(goal, fields)]), (2,))], 2)
    names = ("x", "v", "C", "m", "carried.h")
    _, found = rollout.evaluate(names)
    for n in names:
        expected = differences(rollout.value, values_of(one.potential, n), setter_of(one.potential, n))
        assert error(found[n], expected) < 1e-8, n
