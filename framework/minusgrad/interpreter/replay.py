"""Replay of recorded kernel launches in plain Python, with exact derivatives: a whole run, or one launch.

Decisions 0334.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..errors import TraceError
from ..lint.kernel_remarks import MESSAGES, Remark, begin_of
from ..symbolic.graph import reachable
from ..symbolic.scalar import Scalar
from .adjoints import adjoints
from .array_memory import Cut, IndexOutsideError, UnfollowedError
from .interpreter import Interpreter
from .program_arrays import ProgramArray
from .recorded_launches import Arrays, RecordedLaunch
from .single_precision import in_single

WRONG = {"float64": 1e-8, "float32": 1e-3, "float16": 5e-2}
"""Relative tolerance of a gradient (max norm), by precision."""


def relative_error(found: np.ndarray, exact: np.ndarray) -> float:
    """Relative error of a gradient (max norm)."""
    scale = float(np.abs(exact).max(initial=0.0)) or float(np.abs(found).max(initial=0.0)) or 1.0
    return float(np.abs(found - exact).max(initial=0.0)) / scale


class Wrote(NamedTuple):
    """An array that Python changed between two launches, and the line after the first of them."""

    name: str
    where: str


@dataclass
class Replay:
    """A replayed run: final values of arrays, exact gradients, and remarks.

    `python_wrote`: arrays that Python changed between two launches, and where; `numbers`: the lines that
    gave a kernel a real number.
    """

    interpreter: Interpreter
    leaves: dict[str, list[Scalar]]
    python_wrote: list[Wrote] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)

    def cells(self, handle: ProgramArray) -> list[Any]:
        """The values of an array at the end."""
        return self.interpreter.memories[id(handle.array)].cells

    def value(self, *outputs: ProgramArray) -> float:
        """The sum of the values of these arrays."""
        return float(sum(self.interpreter.number(cell) for one in outputs for cell in self.cells(one)))

    def gradient(self, name: str, *outputs: ProgramArray) -> np.ndarray:
        """The exact derivative of that sum with respect to an input."""
        weighted = [(cell, 1.0) for one in outputs for cell in self.cells(one)]
        return self.interpreter.gradient(weighted, self.leaves[name])

    def magnitude(self, output: ProgramArray) -> float:
        """The sum of |value x d(output)/d(value)| over operations; times eps, a bound of rounding."""
        number = self.interpreter.number
        ends = [(cell, 1.0) for cell in self.cells(output) if isinstance(cell, Scalar)]
        slopes = adjoints(ends, None, number)
        made = [node for node in self.interpreter.graph if node.args and not node.integer]
        with np.errstate(all="ignore"):
            parts = np.abs([slopes.get(node.serial, 0.0) * float(number(node)) for node in made])
        return float(np.nan_to_num(parts, nan=0.0, posinf=0.0).sum())

    def is_read(self, name: str) -> bool:
        """True if any kernel read the input."""
        leaves = {leaf.serial for leaf in self.leaves[name]}
        return any(
            leaves.intersection(a.serial for a in node.args) for node in self.interpreter.graph
        ) or any(
            cell.serial in leaves
            for memory in self.interpreter.memories.values()
            if memory.name != name
            for cell in memory.cells
            if isinstance(cell, Scalar)
        )

    def first_access(self, handle: ProgramArray) -> np.ndarray:
        """How each number of an array was accessed first: "read", "write", "add", "change", "" if never."""
        memory = self.interpreter.memories[id(handle.array)]
        how = [self.interpreter.first.get(address, "") for address in memory.addresses]
        return np.array(how).reshape(handle.start.shape)

    def reached_serials(self, output: ProgramArray) -> set[int]:
        """The serials of all nodes that an output depends on, also through casts, branches and indices."""
        nodes = {node.serial: node for node in self.interpreter.graph}
        ends = [cell for cell in self.cells(output) if isinstance(cell, Scalar)]
        ends += [nodes[c.serial] for c in self.interpreter.cuts.values() if c.serial in nodes]
        return {node.serial for node in reachable(ends)}

    def cuts(self, name: str) -> list[Cut]:
        """The places where values that depend on this input lose their derivative."""
        found = list(self.interpreter.cuts.values())
        nodes = {node.serial: node for node in self.interpreter.graph}
        live = self.interpreter.depending(
            [nodes[c.serial] for c in found if c.serial in nodes], self.leaves[name]
        )
        return [c for c in found if c.serial in live]


def replay(arrays: Arrays, ran: Sequence[RecordedLaunch], inputs: Sequence[ProgramArray]) -> Replay:
    """Replay a run in plain Python.

    Raises `TraceError` for statements that cannot be interpreted, and for more launches than were read.
    """
    if any(launch.unread for launch in ran):
        raise UnfollowedError(
            f"{len(ran):,} launches over {len(arrays.handles)} arrays, more than are compared; give it fewer"
            " steps, or smaller arrays"
        )
    interpreter = _interpreter_holding(arrays, ran[0].before if ran else {})
    leaves = {h.name: interpreter.leaves(h.array) for h in inputs}
    wrote: list[Wrote] = []
    for k, launch in enumerate(ran):
        for handle in arrays.handles if k else ():
            if id(handle) not in ran[k - 1].after:
                continue
            before, after = ran[k - 1].after[id(handle)], launch.before[id(handle)]
            if interpreter.copy_changed(handle.array, before, after):
                wrote.append(Wrote(handle.name or "an array", _line_between(ran[k - 1].where, launch.where)))
        _interpret_launch(arrays, interpreter, launch)
    for launch in ran:
        used = {*launch.function.__code__.co_names} & {*launch.changed_names}
        for name in used:
            where = begin_of(launch.function)
            remark = Remark("constant", where, MESSAGES["constant"].format(name))
            interpreter.remarks.setdefault(("constant", name, where), remark)
        if any(h.start.dtype == np.float64 for h in arrays.handles):
            interpreter.remarks |= {(r.kind, r.text, r.where): r for r in in_single(launch)}
    numbers = [launch.where for launch in ran if any(isinstance(a, float) for a in launch.arguments)]
    return Replay(interpreter, leaves, wrote, numbers)


def _line_between(before: str, after: str) -> str:
    """The line after a launch, if the next launch is further down in the file."""
    file, _, line = before.rpartition(":")
    further = file == after.rpartition(":")[0] and int(after.rpartition(":")[2] or 0) > int(line or 0)
    return f"{file}:{int(line) + 1}" if further else after


def _interpret_launch(arrays: Arrays, interpreter: Interpreter, launch: RecordedLaunch) -> None:
    """Interpret one launch, with the global numbers of the file and the active cells at that time."""
    for handle in (h for h in (*arrays.handles, *arrays.aliases) if h.sparse):
        memory = interpreter.memories[id(handle.array)]
        memory.active, memory.unsettled = launch.active[id(handle)], id(handle) in launch.activated
    if launch.changed_names or interpreter.elsewhere:
        interpreter.rebinder.done.clear()
    interpreter.elsewhere = bool(launch.changed_names)
    skipped = launch.inside in arrays.intended and launch.inside != ""
    before = list(interpreter.store) if skipped else []
    with launch.as_it_was():
        interpreter.launch(launch.function, launch.arguments)
    if skipped:
        interpreter.constants(before)


def _interpreter_holding(arrays: Arrays, values: Mapping[int, np.ndarray]) -> Interpreter:
    """An interpreter whose arrays hold these values, by handle; others those at the start."""
    interpreter = Interpreter()
    interpreter.intended = arrays.intended
    for handle in arrays.handles:
        interpreter.hold(handle, values.get(id(handle), handle.start))
    for alias in arrays.aliases:
        interpreter.alias(alias, alias.values)
    return interpreter


def stays_within_bounds(
    arrays: Arrays, ran: Sequence[RecordedLaunch], moved: Sequence[tuple[ProgramArray, np.ndarray]]
) -> bool:
    """True if the launches, started with other values in some arrays, stay within array bounds."""
    changed = {id(h): np.asarray(values, h.start.dtype) for h, values in moved}
    interpreter = _interpreter_holding(arrays, ran[0].before | changed)
    try:
        for launch in ran:
            _interpret_launch(arrays, interpreter, launch)
    except IndexOutsideError:
        return False
    except TraceError:
        return True
    return True


def wrong_launch(arrays: Arrays, ran: Sequence[RecordedLaunch]) -> RecordedLaunch | None:
    """The last launch whose own reverse is wrong; None if none is."""
    rng = np.random.default_rng(1)
    for launch in reversed(ran):
        if not right_alone(arrays, launch, rng):
            return launch
    return None


def right_alone(arrays: Arrays, launch: RecordedLaunch, rng: np.random.Generator) -> bool:
    """True if one kernel's reverse, from random adjoints of its outputs, equals the exact derivative."""
    real = [h for h in arrays.handles if h.is_real and h.adjoint is not None]
    written = [h for h in real if (launch.before[id(h)] != launch.after[id(h)]).any()]
    interpreter = _interpreter_holding(arrays, launch.before)
    leaves = {id(handle): interpreter.leaves(handle.array) for handle in real}
    try:
        _interpret_launch(arrays, interpreter, launch)
    except TraceError:
        return True
    weights = {id(h): rng.normal(size=h.start.shape) for h in written}
    outputs = [
        (cell, float(weight))
        for h in written
        for cell, weight in zip(interpreter.memories[id(h.array)].cells, weights[id(h)].ravel(), strict=True)
    ]
    arrays.run_alone(launch, weights)
    for handle in real:
        if handle in written:
            continue
        exact = interpreter.gradient(outputs, leaves[id(handle)])
        found = handle.gradient
        assert found is not None
        scale = float(np.abs(exact).max()) or 1.0
        if not np.abs(found.ravel() - exact).max() <= WRONG[handle.start.dtype.name] * scale:
            return False
    return True
