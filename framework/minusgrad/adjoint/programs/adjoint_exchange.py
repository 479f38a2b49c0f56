"""Exchange of memory on the way back through x <- y: adjoints are passed on without a copy.

The adjoint of x after a step is that of y: the sweep through the maps reads it where it is. What the sweep
finds is the adjoint of x before the step: both arrays are exchanged.

Decisions 0356.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ...engine.kernels import BoundKernel, Code, add_loops, at_each
from ...engine.storage import ArraySlot
from ...steppers.programs.evolution import Evolution

Slots = Mapping[str, ArraySlot]


class AdjointExchange:
    """The adjoints of a program's fields, before and after a step.

    adjoints: those of the state that the way back has reached, by field. found: what a sweep overwrites with
    its derivatives, by field. seeds: the adjoints of outputs with which a sweep begins. Each field becomes an
    output that no other field becomes (`StateExchange.serves`).
    """

    def __init__(self, stepper: Evolution, adjoints: Slots, found: Slots, seeds: Slots):
        self._updates, chain = stepper.updates, stepper.potential.chain
        self._adjoints, self._found = adjoints, found
        self._readers = {x: (seeds[y], chain.adjoints[y].array) for x, y in self._updates.items()}
        placed = stepper.holds.placed
        self._clear = [BoundKernel(_freed(adjoints[x], placed[x])) for x in self._updates if x in placed]
        others = [n for n in found if n not in self._updates]
        self._add = [BoundKernel(add_loops(adjoints[n], found[n])) for n in others]

    def arrive(self) -> None:
        """The adjoints of the state after a step, zero at held components, become those of the outputs."""
        for kernel in self._clear:
            kernel()
        for x, readers in self._readers.items():
            for slot in readers:
                slot.lend(*self._adjoints[x].memory)

    def depart(self) -> None:
        """Results of the sweep become the adjoints of the state before the step."""
        for x in self._updates:
            if x in self._found:
                self._adjoints[x].exchange(self._found[x])
            else:
                self._adjoints[x].fill(0)
        for kernel in self._add:
            kernel()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """On leaving, the adjoints of outputs are in their own memory."""
        try:
            yield
        finally:
            for readers in self._readers.values():
                for slot in readers:
                    slot.leave()


def _freed(adjoint: ArraySlot, free: object) -> Code:
    """Loops that set an adjoint to zero at held components."""
    text = at_each("adjoint", adjoint, "adjoint[{at}] *= free[{at}]")
    return Code(text, {"adjoint": adjoint, "free": free})
