"""The pieces of a `FusedSweep` side by side in one kernel, whose numbers are verified after its launch.

A kernel of many steps keeps no number that lies between its pieces, so these are verified where they are
launched for one time. As kernels of their own they would be compiled each once more, which takes 50 ms of CPU
for the smallest; as one kernel they are compiled once in all.

Decisions 0118.
"""

from collections import Counter
from dataclasses import replace
from typing import cast

from ..engine import runtime
from ..engine.joined.coalescing import stored_arrays
from ..engine.joined.flat_loops import flattened
from ..engine.joined.shared_arrays import SharedArrays
from ..engine.kernels import MOST_ARRAYS, BoundKernel, Code
from .fused_code import FusedSweep, is_constant
from .potential import Potential
from .slope import SlopeKernels
from .term_kernels import MapKernels, TermKernels

HEADER = "ti.loop_config(serialize=True)\nfor serial_turn in range(1):"


class JoinedLaunch:
    """Maps and slopes of a potential in one kernel of the scalar t, on one thread of the CPU.

    `serves`: whether there is such a kernel. A call raises `MiscompiledError` and `RangeError`.
    """

    def __init__(self, potential: Potential):
        sweep = FusedSweep(potential, SharedArrays(is_constant, lambda name: False))
        pieces = [piece for piece in sweep.refresh() if piece.text] if sweep.possible else []
        merged = Code.merged(map(flattened, pieces))
        writers = Counter(array for piece in pieces if not _clears(piece) for array in stored_arrays(piece))
        shared = {array for array, count in writers.items() if count > 1}
        own = {id(array) for one in sweep.emitted for array in one.loops.arrays.values()}
        fits = len(merged.arrays) <= MOST_ARRAYS and own.isdisjoint(shared)
        self.serves = runtime.arch() == "cpu" and sweep.possible and bool(pieces) and fits
        self._launch = BoundKernel(merged.inside(HEADER), "t") if self.serves else None
        self._kernels = _kernels_of(potential) if self.serves else []
        self._verified = [
            (one, frozenset(name for name, array in one.code.arrays.items() if writers[id(array)] == 1))
            for one in sweep.emitted
        ]

    @property
    def defined(self) -> bool:
        """True if no kernel has to give NaN in place of its numbers."""
        return not any(kernels.is_undefined() for kernels in self._kernels)

    def __call__(self, t: float) -> None:
        assert self._launch
        self._launch(t)
        for one, alone in self._verified:
            one.verify(replace(one.code, alone=alone), t)


def _kernels_of(potential: Potential) -> list[TermKernels | MapKernels]:
    """All kernels that a `FusedSweep` joins: those of the potential and of the energies of its slopes."""
    found: list[TermKernels | MapKernels] = []
    for kernels in (*potential.kernels.values(), *potential.chain.kernels.values()):
        if isinstance(kernels, SlopeKernels):
            found += _kernels_of(cast(Potential, kernels.slope.energy))
        elif isinstance(kernels, TermKernels | MapKernels):
            found.append(kernels)
    return found


def _clears(piece: Code) -> bool:
    """True for loops that set an array to zero, before others add to it."""
    return [*piece.arrays] == ["zeros"]
