"""Products with second derivatives of U or R at a node of a substep, along z: as code, or by launches.

They give pulls of moving fields, and, where asked, derivatives by fields that do not move and by parameters.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....codegen.derivative_request import DerivativeRequest
from ....energies.fields import Fields
from ....engine import storage
from ....engine.kernels import Code, at_each
from ....potential.fused_code import FusedCode
from ....potential.potential import Potential
from ....steppers.timed.move_pieces import zeros


class NodeProducts:
    """Of one potential. along: z by field. moving, others: the fields by which products are taken.

    parameters: arrays of derivatives by "term.argument", in rows, from which changes are subtracted; places:
    their names in kernels. prefix: of the names of the potential's own arrays.
    """

    def __init__(
        self,
        potential: Potential,
        along: Mapping[str, Any],
        moving: Sequence[str],
        others: Sequence[str],
        parameters: Mapping[str, Any],
        prefix: str,
    ):
        self.potential, self.parameters, self._prefix = potential, parameters, prefix
        self.moving, self._others = (_arrays(potential, some) for some in (moving, others))
        along = {n: array for n, array in along.items() if n in potential.reads}
        self._few = DerivativeRequest(product=self.moving, tangents=along)
        self._all = DerivativeRequest(
            product=self.moving | self._others, changes=list(parameters), tangents=along
        )

    @property
    def asked(self) -> bool:
        """True if there are derivatives besides those of moving fields."""
        return bool(self._others or self.parameters)

    def launch(self, t: float, everything: bool) -> None:
        """Compute products; if `everything`, subtract changes from derivatives by parameters."""
        found = self.potential.sweep(self._all if everything else self._few, t)
        for name, values in found.changes.items():
            array = self.parameters[name]
            storage.store(array, storage.host(array) - values.reshape(tuple(array.shape)))

    def verify(self, t: float) -> None:
        """Compute all products by kernels of their own, which are verified."""
        self.potential.sweep(self._all, t)

    def code(self, everything: bool) -> list[Code]:
        """`launch` at time `t`, as code."""
        request, fused = self._all if everything else self._few, FusedCode(self.potential, self._prefix)
        swept = fused.sweep(request)  # first, because it makes the buffers that `changes` reads
        taken = [fused.changes(n, f"p{k}", a) for k, (n, a) in enumerate(self.parameters.items())]
        return [*zeros(request), swept, *(taken if everything else [])]

    def subtracted(self, adjoints: Mapping[str, Any]) -> list[Code]:
        """Subtract the products by fields that do not move from their adjoints."""
        pieces = []
        for name, product in self._others.items():
            line = f"l_{name}[{{at}}] = l_{name}[{{at}}] - h_{name}[{{at}}]"
            arrays = {f"l_{name}": adjoints[name], f"h_{name}": product}
            pieces.append(Code(at_each(f"l_{name}", adjoints[name], line), arrays))
        return pieces


def _arrays(potential: Potential, names: Sequence[str]) -> dict[str, Any]:
    fields: Fields = potential.fields
    return {n: storage.allocate(np.zeros_like(fields[n].values)) for n in names if n in potential.reads}
