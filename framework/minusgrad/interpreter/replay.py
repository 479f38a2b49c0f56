"""Launches retraced: what kernels did, followed in plain Python, as a whole and one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..errors import TraceError
from ..lint.kernel_remarks import TOLD, Remark, begin_of
from ..symbolic.scalar import Scalar
from .array_memory import Cut, OutsideError
from .interpreter import Interpreter
from .recorded_launches import Arrays, Handle, RecordedLaunch
from .single_precision import in_single

WRONG = {"float64": 1e-8, "float32": 1e-3, "float16": 5e-2}
"""How near a gradient is to the exact one, in parts of its largest number, by precision."""


def off(found: np.ndarray, exact: np.ndarray) -> float:
    """How far a gradient is from the exact one, in parts of its largest number."""
    scale = float(np.abs(exact).max(initial=0.0)) or float(np.abs(found).max(initial=0.0)) or 1.0
    return float(np.abs(found - exact).max(initial=0.0)) / scale


class Wrote(NamedTuple):
    """An array that Python changed between two launches, and the line behind the first of them."""

    name: str
    where: str


@dataclass
class Retraced:
    """A run as plain Python saw it: what arrays hold, exact gradients, what was seen on the way.

    `python_wrote`: arrays that Python changed between two launches, and where; `numbers`: the lines that
    gave a kernel a real number.
    """

    follower: Interpreter
    leaves: dict[str, list[Scalar]]
    python_wrote: list[Wrote] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)

    def cells(self, handle: Handle) -> list[Any]:
        """What an array holds at the end."""
        return self.follower.memories[id(handle.array)].cells

    def value(self, *outputs: Handle) -> float:
        """The sum of what these arrays hold."""
        return float(sum(self.follower.number(cell) for one in outputs for cell in self.cells(one)))

    def gradient(self, name: str, *outputs: Handle) -> np.ndarray:
        """The exact derivative of that sum with respect to an input."""
        weighted = [(cell, 1.0) for one in outputs for cell in self.cells(one)]
        return self.follower.gradient(weighted, self.leaves[name])

    def magnitude(self, output: Handle) -> float:
        """The sum of |value x d(output)/d(value)| over operations: times eps, what rounding may do to it."""
        made = [node for node in self.follower.graph if node.args and not node.integer]
        with np.errstate(all="ignore"):
            slopes = self.follower.gradient([(cell, 1.0) for cell in self.cells(output)], made)
            parts = np.abs(slopes * [float(self.follower.number(node)) for node in made])
        return float(np.nan_to_num(parts, nan=0.0, posinf=0.0).sum())

    def is_read(self, name: str) -> bool:
        """Whether any kernel did anything with an input."""
        leaves = {leaf.serial for leaf in self.leaves[name]}
        return any(leaves.intersection(a.serial for a in node.args) for node in self.follower.graph) or any(
            cell.serial in leaves
            for memory in self.follower.memories.values()
            if memory.name != name
            for cell in memory.cells
            if isinstance(cell, Scalar)
        )

    def cuts(self, name: str) -> list[Cut]:
        """Where what depends on this input went on without a derivative."""
        found = list(self.follower.cuts.values())
        nodes = {node.serial: node for node in self.follower.graph}
        live = self.follower.depending(
            [nodes[c.serial] for c in found if c.serial in nodes], self.leaves[name]
        )
        return [c for c in found if c.serial in live]


def retrace(arrays: Arrays, ran: Sequence[RecordedLaunch], inputs: Sequence[Handle]) -> Retraced:
    """The run in plain Python. Raises `TraceError` where it cannot be followed."""
    follower = _holding(arrays, ran[0].before if ran else {id(h): h.start for h in arrays.handles})
    leaves = {h.name: follower.leaves(h.array) for h in inputs}
    wrote: list[Wrote] = []
    for k, launch in enumerate(ran):
        for handle in arrays.handles if k else ():
            before, after = ran[k - 1].after[id(handle)], launch.before[id(handle)]
            if follower.changed(handle.array, before, after):
                wrote.append(Wrote(handle.name or "an array", _between(ran[k - 1].where, launch.where)))
        _follow(follower, launch)
    for launch in ran:
        used = {*launch.function.__code__.co_names} & {*launch.moved}
        for name in used:
            where = begin_of(launch.function)
            told = Remark("constant", where, TOLD["constant"].format(name))
            follower.remarks.setdefault(("constant", name, where), told)
        if any(h.start.dtype == np.float64 for h in arrays.handles):
            follower.remarks |= {(r.kind, r.text, r.where): r for r in in_single(launch)}
    numbers = [launch.where for launch in ran if any(isinstance(a, float) for a in launch.arguments)]
    return Retraced(follower, leaves, wrote, numbers)


def _between(before: str, after: str) -> str:
    """The line behind the one where a kernel was launched, if the next was launched further down."""
    file, _, line = before.rpartition(":")
    further = file == after.rpartition(":")[0] and int(after.rpartition(":")[2] or 0) > int(line or 0)
    return f"{file}:{int(line) + 1}" if further else after


def _follow(follower: Interpreter, launch: RecordedLaunch) -> None:
    """One launch, with the file's numbers as they were then."""
    if launch.moved or follower.elsewhere:
        follower.rebinder.done.clear()
    follower.elsewhere = bool(launch.moved)
    with launch.as_it_was():
        follower.launch(launch.function, launch.arguments)


def _holding(arrays: Arrays, values: Mapping[int, np.ndarray]) -> Interpreter:
    """A follower that stands in for all arrays, which hold these values, by handle."""
    follower = Interpreter()
    for handle in arrays.handles:
        name, has_gradient = handle.name or "an array", handle.adjoint is not None
        follower.hold(handle.array, name, values[id(handle)], handle.element, has_gradient)
    return follower


def within(arrays: Arrays, ran: Sequence[RecordedLaunch], moved: Sequence[tuple[Handle, np.ndarray]]) -> bool:
    """Whether the launches, with other numbers in some arrays at the start, stay inside of their arrays."""
    changed = {id(h): np.asarray(values, h.start.dtype) for h, values in moved}
    follower = _holding(arrays, ran[0].before | changed)
    try:
        for launch in ran:
            _follow(follower, launch)
    except OutsideError:
        return False
    except TraceError:
        return True
    return True


def wrong_launch(arrays: Arrays, ran: Sequence[RecordedLaunch]) -> RecordedLaunch | None:
    """The first, from the last one back, whose reverse is wrong by itself."""
    rng = np.random.default_rng(1)
    for launch in reversed(ran):
        if not right_alone(arrays, launch, rng):
            return launch
    return None


def right_alone(arrays: Arrays, launch: RecordedLaunch, rng: np.random.Generator) -> bool:
    """One kernel's reverse, from random adjoints of what it changed, against the exact derivative."""
    real = [h for h in arrays.handles if h.real and h.adjoint is not None]
    written = [h for h in real if (launch.before[id(h)] != launch.after[id(h)]).any()]
    follower = _holding(arrays, launch.before)
    leaves = {id(handle): follower.leaves(handle.array) for handle in real}
    try:
        _follow(follower, launch)
    except TraceError:
        return True
    weights = {id(h): rng.normal(size=h.start.shape) for h in written}
    outputs = [
        (cell, float(weight))
        for h in written
        for cell, weight in zip(follower.memories[id(h.array)].cells, weights[id(h)].ravel(), strict=True)
    ]
    arrays.alone(launch, weights)
    for handle in real:
        if handle in written:
            continue
        exact = follower.gradient(outputs, leaves[id(handle)])
        found = handle.gradient
        assert found is not None
        scale = float(np.abs(exact).max()) or 1.0
        if not np.abs(found.ravel() - exact).max() <= WRONG[handle.start.dtype.name] * scale:
            return False
    return True
