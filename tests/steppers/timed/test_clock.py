"""The clock of integrators: a time step that was changed, and steps that are counted from a later one."""

from minusgrad import Fields, Motion, Potential
from minusgrad.plugin import SCHEMES, Integrator
from minusgrad.steppers.systems.system import System


def test_steps_are_counted_from_the_present_one() -> None:
    fields = Fields({"x": [[0.0, 0.0]], "v": [[1.0, 0.0]]})
    one = Integrator(System(Potential(fields, []), [Motion("x", "v")]), SCHEMES["leapfrog"], 0.25, 3.0)
    one.advance(2)
    one.dt = 0.5
    one.advance(1)
    assert one.time == 4.0
    begun = one.clock
    one.count_from_here()
    assert (one.time, one.step) == (4.0, 0)
    one.advance(2)
    assert (one.time, one.step) == (5.0, 2)
    one.clock = begun
    assert (one.time, one.step) == (4.0, 3)
