"""Exchange of memory in x <- y: a field takes the array that its next state was written to, without a copy.

For programs whose steps are single launches. Within a call of n steps

    not on a tape     x and y exchange their arrays after each step
    on a tape         y is written to the row of the tape where the next state belongs, and x takes that row

The last step of a call copies, so that after it all fields are in their own memory, and outputs have the
numbers that they have with copies. To the same end the number of exchanges is even, but if all are on a tape.

Decisions 0114, 0356.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ...energies.fields import Fields
from ...engine import storage
from .state_tape import StateTape
from .step_reads import StepReads


class StateExchange:
    """The arrays of the updated fields, and of the outputs that they become, within a call."""

    def __init__(self, fields: Fields, updates: Mapping[str, str], tape: StateTape | None = None):
        self.states = [fields[x].array for x in updates]
        self.outputs = [fields[y].array for y in updates.values()]
        self._tape, self._fields = tape, fields
        self._taped = [(k, x) for k, x in enumerate(updates) if tape and x in tape.names]
        self._serves = self.serves(fields, updates)

    @staticmethod
    def serves(fields: Fields, updates: Mapping[str, str]) -> bool:
        """True if each field becomes an output that no other field becomes, in memory of the CPU."""
        sources = set(updates.values())
        own = len(sources) == len(updates) and sources <= fields.derived
        return own and all(fields[name].array.address is not None for name in (*updates, *sources))

    def exchanges(self, steps: int) -> range:
        """The steps of a call that exchange memory, by the number of steps that follow them."""
        if not self._serves:
            return range(0)
        all_taped = len(self._taped) == len(self.states)
        return range(1, steps if all_taped else (steps - 1) // 2 * 2 + 1)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """On leaving, all fields are in their memory of before; states elsewhere are copied to it."""
        self._homes = [slot.memory for slot in self.states]
        self._own = [slot.memory for slot in self.outputs]
        try:
            yield
        finally:
            for slot, (array, _) in zip(self.states, self._homes, strict=True):
                storage.store(array, slot)
            self.leave()

    def record(self, step: int) -> None:
        """Put the states before a step on the tape, unless they are there."""
        assert self._tape
        if any(self.states[k].address != self._tape.memory(x, step)[1] for k, x in self._taped):
            self._tape.record(step)

    def recall(self, step: int, reads: StepReads) -> None:
        """Read the states before a step, and the outputs of it, where the tape has them."""
        assert self._tape
        for x in reads.before:
            self._fields[x].array.lend(*self._tape.memory(x, step))
        for y, x in reads.after.items():
            self._fields[y].array.lend(*self._tape.memory(x, step + 1))

    def reach_ahead(self, step: int) -> None:
        """Let the outputs of a step be written to the next row of the tape."""
        for k, x in self._taped:
            assert self._tape
            self.outputs[k].lend(*self._tape.memory(x, step + 1))

    def take(self) -> None:
        """x <- y, by memory."""
        for x, y in zip(self.states, self.outputs, strict=True):
            x.exchange(y)
        for k, _ in self._taped:
            self.outputs[k].lend(*self._own[k])

    def leave(self) -> None:
        """Use the memory of before again, whatever it holds."""
        for slot, memory in zip([*self.states, *self.outputs], [*self._homes, *self._own], strict=True):
            if slot.at is not memory[0]:
                slot.lend(*memory)
