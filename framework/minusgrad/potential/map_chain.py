"""The maps of a potential, run in order: their output fields, with adjoints and tangents.

y_1 = f_1(fields),  y_2 = f_2(fields, y_1),  ...        adjoint of y: dU/dy, the shape of y
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..energies.fields import Field
from ..energies.term import Term
from ..errors import EnergyError
from .term_kernels import MapKernels, loops_of
from .term_request import tangents_of


class MapChain:
    """Maps in the order in which they run, and the fields that they write.

    `outputs`, `adjoints` (dU/dy) and `adjoint_tangents` (the tangents of dU/dy) are by field.
    Raises `EnergyError` for a map that writes a field which an earlier map has read.
    """

    def __init__(self, maps: Sequence[Term]):
        _check_order(maps)
        self.maps = {term.name: term for term in maps}
        self.outputs = {term.gives.name: term.gives for term in maps if term.gives}
        # a name that no field of a state can have
        self.adjoints = {
            n: Field.of(f"0_{n}", np.zeros(f.shape), dtype=f.dtype) for n, f in self.outputs.items()
        }
        self.adjoint_tangents = {n: f.twin() for n, f in self.adjoints.items()}
        self._tangents = {n: f.twin() for n, f in self.adjoints.items()}
        self.compile()

    def compile(self) -> None:
        """Make the kernels of all maps, for their present elements."""
        maps = self.maps.values()
        self.loops = {m.name: loops_of(m, self.adjoints[m.gives.name]) for m in maps if m.gives}
        outputs = [loops.given for loops in self.loops.values()]
        self._kernels = [
            MapKernels(loops, loops.given not in outputs[:k]) for k, loops in enumerate(self.loops.values())
        ]

    def refresh(self, t: float) -> None:
        """Recompute the outputs from the present fields."""
        for kernels in self._kernels:
            kernels(t)

    def seconds(self, t: float) -> float:
        """The time that `refresh` takes, from some slices of long kernels."""
        return sum(kernels.seconds(t) for kernels in self._kernels)

    def with_outputs(self, tangents: Mapping[str, Any], t: float) -> dict[str, Any]:
        """The tangents, and those of the outputs that change along them; after `refresh`."""
        known = dict(tangents)
        for (name, part), kernels in zip(self.maps.items(), self._kernels, strict=True):
            if known and part.gives:
                into = self._tangents[part.gives.name].array
                if part.gives.name not in known:
                    into.fill(0)
                if along := tangents_of(name, part, known):
                    kernels.along(along, into, t)
                known[part.gives.name] = into
        return known

    def adjoint_tangent(self, part: Term) -> Any:
        """The array of the tangent of the adjoint of a map's output."""
        assert part.gives
        return self.adjoint_tangents[part.gives.name].array


def _check_order(maps: Sequence[Term]) -> None:
    """Refuse maps that write a field after another map has read it."""
    for k, early in enumerate(maps):
        for late in maps[k:]:
            if late.gives in early.fields.values():
                name = late.gives.name if late.gives else ""
                wrong = f"map '{late.name}' writes '{name}' after map '{early.name}' has read it"
                raise EnergyError(f"{wrong}; list it before")
