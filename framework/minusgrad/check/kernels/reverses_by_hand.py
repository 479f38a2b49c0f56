"""Reverses that a file runs by hand: `kernel.grad()` from adjoints that it seeded, watched as it is loaded.

    y.grad[i] = 1.0; z.grad[None] = 2.0         the seeds, of one array or of several
    second.grad(); first.grad()                  the reverses, in the order of the file

The loss is the sum of seed x value. The case runs the kernels forward from their values at the first launch
that is reversed, and its gradient is what these seeds and reverses give. It ends where kernels run forward
again; kernels that are reversed only later (checkpoints) are not asked.
"""

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from ...interpreter.case import Case, CaseTable
from ...interpreter.program_arrays import FoundArrays, ProgramArray, alive
from ...interpreter.recorded_launches import around_kernels
from ...interpreter.weighted_sums import weighted_sum

NAME = "the reverses by hand"
LONGEST = 32
"""The most launches before the first reverse that are kept."""
Launch = tuple[Any, tuple[Any, ...]]


@dataclass
class WatchedReverses:
    """The launches of a file around its first reverses: forward, with the arrays before each, and back."""

    module: ModuleType
    forward: list[tuple[Launch, FoundArrays]] = field(default_factory=list)
    back: list[Launch] = field(default_factory=list)
    seeds: list[tuple[ProgramArray, np.ndarray]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    """The lines of the file that reverse."""
    later: str = ""
    """Why a reverse is left out that follows after kernels ran forward again."""
    done: bool = False

    def launched(self, kernel: Any, run: Callable[[], Any], arguments: tuple[Any, ...]) -> Any:
        mode = kernel.autodiff_mode.name
        if self.done and mode == "REVERSE" and not self.later:
            function = inspect.unwrap(kernel.func)
            if function not in [inspect.unwrap(one.func) for one, _ in self.back]:
                self.later = (
                    f"{self._line()}: '{function.__name__}' is reversed after kernels ran forward again"
                )
        if self.done or mode not in ("NONE", "REVERSE"):
            return run()
        if mode == "NONE" and self.back:
            self.done = True
        elif mode == "NONE":
            self.forward.append(((kernel, arguments), self._here()))
            del self.forward[:-LONGEST]
        else:
            self.seeds = self.seeds if self.back else list(self._seeded())
            self.back.append((kernel, arguments))
            self.places.append(self._line())
        return run()

    def _line(self) -> str:
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

    def _seeded(self) -> Iterator[tuple[ProgramArray, np.ndarray]]:
        for one in self._here().owners:
            seeds = one.gradient
            if seeds is not None and seeds.any():
                yield one, seeds

    def cases(self) -> Iterator[Case]:
        """The case of these reverses, if the launches that they reverse were seen, and what it leaves out."""
        if self.later:
            cure = "declare the function that reverses as `gradient`"
            yield Case("later reverses by hand", CaseTable(), unasked=f"{self.later}; {cure}")
        functions = [inspect.unwrap(kernel.func) for kernel, _ in self.back]
        begins = [
            k for k, ((kernel, _), _) in enumerate(self.forward) if inspect.unwrap(kernel.func) in functions
        ]
        if not begins or not self.seeds:
            return
        chain = self.forward[_first(begins, len(functions)) :]
        found = chain[0][1]
        outputs = _of_numbers(found, self.seeds)
        if outputs is None:
            return
        add, new = weighted_sum(outputs)
        for k, array in enumerate(new):
            made = ProgramArray(f"weights {k}" if k else "the weighted sum of outputs", array)
            made.settle()
            found.owners.append(made)
        calls = [launch for launch, _ in chain]

        def forward() -> None:
            for kernel, arguments in calls:
                kernel(*arguments)
            add()

        gradient = ReversesByHand(found, calls, self.seeds, self.back, self.places)
        yield Case(NAME, CaseTable(), forward, guessed=True, loss=new[0], found=found, own=gradient)


@dataclass(frozen=True)
class ReversesByHand:
    """The gradient of a file without a function for it: launches forward, seeds, and launches back."""

    found: FoundArrays
    forward: list[Launch]
    seeds: list[tuple[ProgramArray, np.ndarray]]
    back: list[Launch]
    places: list[str]

    def __call__(self) -> None:
        for one in self.found.owners:
            if one.adjoint is not None:
                one.seed(0.0)
        for kernel, arguments in self.forward:
            kernel(*arguments)
        for one, seeds in self.seeds:
            one.seed(seeds)
        for kernel, arguments in self.back:
            kernel(*arguments)


def _first(begins: list[int], count: int) -> int:
    """The launch that the first of so many reversed launches is."""
    return begins[-count] if len(begins) >= count else begins[0]


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
        members = one._members(one.array)
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
