"""A recorded Gauss-Radau substep: code for its fields and accelerations at the nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from ....energies.fields import Motion
from ....engine import storage
from ....engine.kernels import Code
from ....steppers.timed.gauss_radau.quadrature import NODES, STAGES
from ....steppers.timed.gauss_radau.radau_code import RadauCode


class PlacedSubstep(RadauCode):
    """The pieces of code for some motions, at node `at` of the substep that `put_substep` gives.

    forces, friction: arrays by field for products with second derivatives of U and of R.
    """

    def __init__(
        self,
        fields: Mapping[str, Any],
        motions: Sequence[Motion],
        forces: Mapping[str, Any],
        friction: Mapping[str, Any],
    ):
        super().__init__(fields, motions, dict(forces), dict(friction), works=False)
        self.arrays["nodes"] = storage.allocate(NODES)

    def placed(self) -> Code:
        """The fields, and the time."""
        start = [self._scattered("x", "position", "at == 0"), self._scattered("v", "velocity", "at == 0")]
        return Code.joined([*start, self.place()])

    def accelerated(self) -> Code:
        """a, by the polynomial of the substep."""
        power = f"ivalue = (ivalue + b[{STAGES - 1} - k, i]) * nodes[at]"
        return self._each(
            f"ivalue = ti.f64(0.0)\nfor k in range({STAGES}):\n    {power}\na[i] = a0[i] + ivalue\n"
        )

    def added(self, motion: Motion, into: Any, weights: Any) -> Code:
        """Add a times the weights (N,) of components to an array of one motion's shape."""
        line = "into[{at}] = into[{at}] + a[{i}] * weights_of[{i}]"
        arrays = {"into": into, "weights_of": weights}
        return self._of_motion(list(self.motions).index(motion), "into", into, [line], arrays)
