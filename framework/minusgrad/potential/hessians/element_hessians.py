"""Element Hessians: the second derivatives of one term's element energies, small dense matrices.

The rows of an element go by argument, slot (which of its nodes) and component.

Where an energy depends on the fields through linear forms F alone, H = W^T (d2u/dF2) W, the middle matrix
is projected in place of H: 9 rows of a solid, however many nodes its cells have. H is then semi-definite too,
but not the nearest such matrix to the original.

Decisions 0032, 0277.
"""

from collections.abc import Callable, Sequence
from math import nan, prod

import numpy as np

from ...codegen.element_lanes.lane_loops import Lanes
from ...codegen.hessians.hessian_loops import MOST_MODULI, HessianLoops, LaneHessians
from ...codegen.hessians.semidefinite import projection
from ...codegen.term_loops import Emitter
from ...engine import lane_blocks as blocks
from ...engine import memory, storage
from ...engine.kernels import BoundKernel
from ...errors import EnergyError
from ..watches.hidden_inputs import HiddenInputs
from ..watches.verified_ranges import VerifiedRanges

MOST = 2**31 - 1
"""Numbers in one array: kernels count in 32 bits."""
FEW = 1 << 24
"""Bytes that are there in any process."""


class ElementHessians:
    """The Hessians of one term's elements over some of its arguments, m rows each: see the head of this file.

    `nodes` are the nodes of each element by argument, (E, slots), `packed` the lower halves of the matrices,
    row by row.
    """

    def __init__(self, emitter: Emitter, arguments: Sequence[str]):
        self.term, self.arguments = emitter.term, tuple(arguments)
        self.fields = [self.term.fields[a] for a in arguments]
        self.widths = [prod(f.shape[1:]) for f in self.fields]
        self._require_memory()
        self._loops = HessianLoops(emitter, arguments)
        if isinstance(emitter, Lanes) and self._loops.moduli_rows <= MOST_MODULI:
            self._loops = LaneHessians(emitter, arguments)
        self.rows = self._loops.size()
        self._take_nodes()
        self.packed = self._loops.buffer()
        self._hidden = HiddenInputs(self.term)
        self._kernels: dict[str, BoundKernel] = {}
        self._verified: set[tuple[bool, int]] = set()
        self._ranges = VerifiedRanges(emitter.term)

    def _take_nodes(self) -> None:
        nodes = self._loops.term.elements.nodes
        self.version = self.term.elements.version
        self.nodes = {a: nodes[:, list(self.term.slots(a))] for a in self.arguments}
        self.count = len(nodes)

    def follow(self) -> bool:
        """Take the present elements, where these are rebuilt in place. False if that cannot be."""
        if self.version != self.term.elements.version:
            if self._loops.term is not self.term:
                return False  # targets were listed pair by pair
            self._take_nodes()
        return True

    def fill(self, t: float, project: str | None) -> None:
        """Compute the lower halves into `packed`, (E, m (m + 1) / 2) in rows or in blocks of lanes.

        `project`: None, "clamp" or "abs" (`semidefinite`).
        """
        if not self.term.elements.defined or self._hidden.any(value=False):
            self.packed.fill(nan)
            return
        if project is not None and self._loops.moduli_rows:
            self._fill_by_moduli(t, project)
            return
        self._kept_kernel("hessians", lambda: BoundKernel(self._loops.hessians(), "t"))(t)
        self._verify_output(False, t)
        if project is not None:
            self._kept_kernel(project, lambda: projection(self.packed, self.rows, project))()

    def _fill_by_moduli(self, t: float, project: str) -> None:
        """Second derivatives in the linear forms, projected, and then the matrices of these."""
        loops = self._loops
        contract = self._kept_kernel("contraction", lambda: BoundKernel(loops.contraction(), "t"))
        self._kept_kernel("moduli", lambda: BoundKernel(loops.moduli(), "t"))(t)
        if (True, self._ranges.number(t)) not in self._verified:
            contract(t)
            self._verify_output(True, t)
        self._kept_kernel(project, lambda: projection(loops.moduli_buffer(), loops.moduli_rows, project))()
        contract(t)

    def _kept_kernel(self, name: str, make: Callable[[], BoundKernel]) -> BoundKernel:
        if name not in self._kernels:
            self._kernels[name] = make()
        return self._kernels[name]

    def _verify_output(self, by_moduli: bool, t: float) -> None:
        """Verify the output of kernels after their first launch in a range of the arguments."""
        proof = by_moduli, self._ranges.number(t)
        if proof not in self._verified and self.count:
            self._loops.verify_hessians(t)
            self._verified.add(proof)

    def full_matrices(self, t: float, project: str | None) -> np.ndarray:
        """The full matrices, (E, m, m) in f64."""
        self.fill(t, project)
        packed = blocks.rows(storage.host(self.packed), self.count)[: self.count]
        found = np.zeros((len(packed), self.rows, self.rows))
        low, high = np.tril_indices(self.rows)
        found[:, low, high] = found[:, high, low] = packed
        return found

    @property
    def begins(self) -> list[int]:
        """The first row of each (argument, slot)."""
        sizes = np.repeat(self.widths, [len(self.term.slots(a)) for a in self.arguments])
        return [0, *np.cumsum(sizes)[:-1].tolist()]

    def _require_memory(self) -> None:
        """Memory for the elements; of unordered pairs also for the matrix, 20 bytes a number.

        Each pair has a block of the matrix to itself; other elements share theirs.
        """
        term, slots = self.term, [len(self.term.slots(a)) for a in self.arguments]
        blocks, count = sum(slots), term.elements.count
        m = sum(width * many for width, many in zip(self.widths, slots, strict=True))
        each = m * (m + 1) // 2 * term.dtype.itemsize + 16 * blocks * (blocks + 1)
        if term.elements.unordered:
            each += 20 * m * m // 2
        many = f"its {count} {'pairs' if term.elements.unordered else 'elements'}"
        require_room(count * m * (m + 1) // 2, count * each, f"'{term.name}': the Hessian of {many}")


def require_room(numbers: int, size: int, what: str) -> None:
    """Raise `EnergyError` for more numbers than an index can count, and for more bytes than are free.

    Few bytes are not compared: to read what is free takes a millisecond.
    """
    cure = "use potential.product, which is the Hessian times a tangent"
    if numbers > MOST:
        raise EnergyError(f"{what}: needs at most {MOST} numbers, got {numbers}; {cure}")
    if size > FEW:
        memory.require(size, what, cure, EnergyError)
