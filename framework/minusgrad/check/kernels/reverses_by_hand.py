"""Reverses that a file runs by hand: `kernel.grad()` from adjoints that it seeded, watched as it is loaded.

    y.grad[i] = 1.0; z.grad[None] = 2.0         the seeds, of one array or of several
    second.grad(); first.grad()                  the reverses, in the order of the file

The loss is the sum of seed x value. The case runs the kernels forward from their values at the first launch
that is reversed, and its gradient is what these seeds and reverses give.

    forward 1 2 3 4; loss; loss.grad(); forward 3 4; 4.grad() 3.grad(); forward 1 2; 2.grad() 1.grad()

A file may run kernels forward again before it reverses them (checkpoints): while no kernel is reversed more
often than it first ran forward, these reverses belong together. What Python writes between them cannot be
run again at other values, so the gradient is the one that the file found, at its own values. Reverses that
follow otherwise (the next iteration) are not asked.

Decisions 0084.
"""

import inspect
import os
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import numpy as np

from ...interpreter.case import Case, CaseTable
from ...interpreter.program_arrays import FoundArrays, ProgramArray, alive
from ...interpreter.recorded_launches import around_kernels
from ...interpreter.weighted_sums import weighted_loss
from .tensor_reverses import TensorReverses

NAME = "the reverses by hand"
MOST_KEPT = 3e7
"""Numbers of arrays before launches that are kept, beside those before the first launch of each kernel."""
MANY = 4096
"""The most launches before the first reverse that are kept."""
MOST_READ = 3e8
"""Numbers of adjoints that are read after reverses, at most: about 2 s."""
Launch = tuple[Any, tuple[Any, ...]]
Numbers = dict[tuple[Hashable, ...], np.ndarray]
"""Adjoints by the memory of their arrays."""


@dataclass
class WatchedReverses:
    """The launches of a file around its reverses: forward, with the arrays before some, and back."""

    module: ModuleType
    forward: dict[int, Launch] = field(default_factory=dict)
    """The launches before the first reverse, by number: the last `MANY`."""
    states: dict[int, FoundArrays] = field(default_factory=dict)
    """The arrays before a launch forward, by its number."""
    back: list[Launch] = field(default_factory=list)
    seeds: list[tuple[ProgramArray, np.ndarray]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    """The lines of the file that reverse."""
    ran: Counter[Callable] = field(default_factory=Counter)
    reversed: Counter[Callable] = field(default_factory=Counter)
    """How often each function ran forward before the first reverse, and was reversed."""
    before_again: list[int] = field(default_factory=list)
    """The number of reverses before each time that kernels ran forward again."""
    found: Numbers | None = None
    """The adjoints after the last reverse; None where reading them takes long."""
    changed: set[tuple[Hashable, ...]] = field(default_factory=set)
    """Arrays, by their memory, whose adjoints the file set to other numbers between its reverses."""
    later: str = ""
    """Why a reverse is left out that follows after kernels ran forward again."""
    done: bool = False
    tensors: TensorReverses = field(init=False)
    """The reverses of kernels with tensors, asked one by one."""
    _first: dict[Callable, int] = field(default_factory=dict)
    """The number of the first launch of each function."""
    _numbers: float = 0.0
    _owners: list[ProgramArray] = field(default_factory=list)
    _read: float = 0.0

    def __post_init__(self) -> None:
        self.tensors = TensorReverses(self.module)

    def launched(self, kernel: Any, run: Callable[[], Any], arguments: tuple[Any, ...]) -> Any:
        mode, launch = kernel.autodiff_mode.name, (kernel, arguments)
        if mode == "NONE":
            self.tensors.forward(function_of(launch), kernel, arguments)
        elif mode == "REVERSE" and self.tensors.reverse(function_of(launch), arguments):
            return run()
        if mode == "NONE" and not self.done:
            self._note_forward(launch)
        elif mode == "REVERSE" and not self.later and self._takes_reverse(launch):
            found = run()
            self.found = self._adjoints()
            return found
        return run()

    def _note_forward(self, launch: Launch) -> None:
        function = function_of(launch)
        if self.back:
            if self.ran[function] and self.before_again[-1:] != [len(self.back)]:
                self.before_again.append(len(self.back))
            return
        number = sum(self.ran.values())
        self.forward[number], self.states[number] = launch, self._here()
        self._first.setdefault(function, number)
        self.ran[function] += 1
        self.forward.pop(number - MANY, None)
        self._numbers += sum(one.start.size for one in self.states[number].owners)
        firsts = set(self._first.values())
        for old in [k for k in self.states if k not in firsts and k != number]:
            if self._numbers <= MOST_KEPT:
                break
            self._numbers -= sum(one.start.size for one in self.states.pop(old).owners)

    def _takes_reverse(self, launch: Launch) -> bool:
        """Note a reverse; False if it does not belong to those before."""
        function = function_of(launch)
        if not self.back:
            self._owners = self._here().owners
            given = [(one, one.gradient) for one in self._owners]
            self.seeds = [(one, seeds) for one, seeds in given if seeds is not None and seeds.any()]
        elif self.done or not self._belongs_to_case(function):
            self.done = True
            if not self.reversed[function]:
                self.later = (
                    f"{self._running_line()}: '{function.__name__}' is reversed after kernels ran forward "
                    "again"
                )
            return False
        elif self.found is not None and (now := self._adjoints()) is not None:
            before = self.found
            self.changed |= {k for k in now if not np.array_equal(now[k], before[k], equal_nan=True)}
        self.back.append(launch)
        self.reversed[function] += 1
        self.places.append(self._running_line())
        return True

    def _belongs_to_case(self, function: Callable) -> bool:
        """True if it ran forward more often before the first reverse than it was reversed, or never."""
        if self.before_again and self.found is None:
            return False
        return self.ran[function] > self.reversed[function] or not self.ran[function]

    def _running_line(self) -> str:
        """The line of the file that runs."""
        file, frame = str(self.module.__file__), sys._getframe(1)
        while frame is not None and os.path.realpath(frame.f_code.co_filename) != os.path.realpath(file):
            frame = frame.f_back  # type: ignore[assignment]
        return f"{file}:{frame.f_lineno}" if frame is not None else ""

    def _here(self) -> FoundArrays:
        found = alive(vars(self.module))
        for one in found.owners:
            one.settle()
        return found

    def _adjoints(self) -> Numbers | None:
        if self._read > MOST_READ:
            return None
        found = {one.places: g for one in self._owners if (g := one.gradient) is not None}
        self._read += sum(g.size for g in found.values())
        return found

    # The cases

    def cases(self) -> Iterator[Case]:
        """The case of these reverses, if the launches that they reverse were seen, and what it leaves out.

        To be called once, when the file has run.
        """
        yield from self.tensors.cases()
        if self.before_again[-1:] == [len(self.back)]:
            self.before_again.pop()  # it ran forward, and reversed nothing more
        apart = self._incomplete_kernel()
        self.later = self.later or apart
        if self.before_again and apart:
            count = self.before_again[0]
            self.back, self.places, self.before_again = self.back[:count], self.places[:count], []
        if self.later:
            cure = "declare the function that reverses as `gradient`"
            yield Case("later reverses by hand", CaseTable(), unasked=f"{self.later}; {cure}")
        begin = self._first_launch()
        if begin is None or not self.seeds:
            if self.back and self.seeds:
                yield Case(
                    NAME, CaseTable(), unasked="the launches that they reverse were not seen, or not kept"
                )
            return
        found, calls = self.states[begin], [one for number, one in self.forward.items() if number >= begin]
        outputs = _of_numbers(found, self.seeds)
        if outputs is None:
            return
        add, loss = weighted_loss(found, outputs)

        def forward() -> None:
            for kernel, arguments in calls:
                kernel(*arguments)
            add()

        known = self.found if self.before_again or self.changed else None
        own = ReversesByHand(found, calls, self.seeds, self.back, self.places, known)
        case = Case(NAME, CaseTable(), forward, guessed=True, loss=loss, found=found, own=own)
        here = "its gradient is known at the file's own values only"
        changed = self.changed if self.before_again else {one.places for one in found.owners}
        yield case if known is None else replace(case, only_here=here, changed=frozenset(changed))

    def _incomplete_kernel(self) -> str:
        """A kernel that is not reversed as often as it first ran; "" if there is none.

        Without checkpoints, a program may run forward several times before it reverses the last run.
        """
        for function, back in self.reversed.items():
            ran = self.ran[function]
            if ran != back and (self.before_again or back < ran < 2 * back):
                return f"'{function.__name__}' ran forward {ran} times, and is reversed {back} times"
        return ""

    def _first_launch(self) -> int | None:
        """The number of the first launch of the case; None if its arrays were not kept."""
        functions = [function_of(one) for one in self.back]
        begins = [k for k, one in self.forward.items() if function_of(one) in functions]
        if not begins:
            return None
        first = begins[-len(functions)] if len(begins) >= len(functions) else begins[0]
        return first if first in self.states else None


def function_of(launch: Launch) -> Callable:
    """The Python function of a launched kernel."""
    return inspect.unwrap(launch[0].func)


@dataclass(frozen=True)
class ReversesByHand:
    """The gradient of a file without a function for it: launches forward, seeds, and launches back.

    known: the adjoints that the file itself found, where its reverses cannot be run again.
    """

    found: FoundArrays
    forward: list[Launch]
    seeds: list[tuple[ProgramArray, np.ndarray]]
    back: list[Launch]
    places: list[str]
    known: Numbers | None = None

    def __call__(self) -> None:
        for one in self.found.owners:
            if one.adjoint is not None:
                one.seed(0.0 if self.known is None else self.known.get(one.places, 0.0))
        if self.known is not None:
            return
        for kernel, arguments in self.forward:
            kernel(*arguments)
        for one, seeds in self.seeds:
            one.seed(seeds)
        for kernel, arguments in self.back:
            kernel(*arguments)


def _of_numbers(
    found: FoundArrays, seeds: list[tuple[ProgramArray, np.ndarray]]
) -> list[tuple[Any, np.ndarray, tuple[int, ...]]] | None:
    """Scalar fields and ndarrays with their weights; None for ndarrays of vectors."""
    outputs: list[tuple[Any, np.ndarray, tuple[int, ...]]] = []
    for one, weights in seeds:
        if one.snode is None:
            if weights.shape != one.axes:
                return None
            outputs.append((one.array, weights, one.offset))
            continue
        members = one._member_fields(one.array)
        flat = weights.reshape(*one.axes, len(members))
        for k, member in enumerate(members):
            if member is not one.array:
                found.aliases.append(ProgramArray("", member))
            outputs.append((member, flat[..., k], one.offset))
    return outputs


@contextmanager
def watched_reverses(module: ModuleType, text: str) -> Iterator[WatchedReverses]:
    """Watch the launches within the block, if the text of the file reverses kernels and has no tape."""
    watched = WatchedReverses(module)
    if ".grad(" not in text or "Tape(" in text or "FwdMode(" in text:
        yield watched
        return
    with around_kernels(watched.launched):
        yield watched
