"""The clock of integrators: a time step that was changed, and the way back to the start."""

from minusgrad import Fields, Motion, Potential
from minusgrad.plugin import SCHEMES, Integrator


def test_a_changed_time_step_leaves_the_time_of_the_start() -> None:
    fields = Fields({"x": [[0.0, 0.0]], "v": [[1.0, 0.0]]})
    one = Integrator(Potential(fields, []), [Motion("x", "v")], SCHEMES["leapfrog"], 0.25, 3.0)
    one.advance(2)
    one.dt = 0.5
    one.advance(1)
    assert one.time == 4.0
    one.rewind()
    assert (one.time, one.step) == (3.0, 0)
