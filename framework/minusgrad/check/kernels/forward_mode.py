"""Forward mode: the duals of a `with ti.ad.FwdMode(loss, param, seed)` block against the exact tangent.

    dual    loss.dual = sum over j of d loss / d param_j seed_j, of the replayed run; by symmetric steps along
            the seed where the run cannot be replayed

The block runs once, as the file has it; its launches, and the arrays before them, are kept.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ...engine import runtime
from ...errors import TraceError
from ...interpreter.program_arrays import alive
from ...interpreter.recorded_launches import Arrays, RecordedLaunch, launch_log, unobserved
from ...interpreter.replay import WRONG, relative_error, replay
from ...lint.kernel_remarks import in_words
from ..kernel_subject import Announce
from ..outcomes import not_asked
from ..questions import Finding, field_spread

ONE_BY_ONE = 64
"""The most outputs whose tangents are computed one by one; of more, random sums are compared."""
SUMS = 4
STEP = 1e-3
CLOSE = 1e-5
"""The step along the seed, in parts of the spread, and the tolerance of symmetric steps."""


@dataclass
class ForwardRun:
    """One block of forward mode: its arrays at its entry, its launches, and the duals at its exit."""

    name: str
    where: str
    arrays: Arrays
    param: Any
    seed: np.ndarray
    losses: list[Any]
    ran: list[RecordedLaunch] = field(default_factory=list)
    duals: list[np.ndarray] = field(default_factory=list)

    def findings(self, announce: Announce) -> Iterator[Finding]:
        """The question `dual` for each loss."""
        param = self.arrays.of(self.param)
        if param is None or not self.ran:
            yield not_asked(self.name, "", "dual", "no array or no launch of this block was seen", self.where)
            return
        param.name = param.name or "the parameter"
        announce("the exact tangent")
        try:
            followed = replay(self.arrays, self.ran, [param])
        except TraceError as error:
            yield not_asked(self.name, "", "value", f"not compared with plain Python: {error}")
            followed = None
        for loss, dual in zip(self.losses, self.duals, strict=True):
            output = self.arrays.of(loss)
            if output is None:
                continue
            if followed is None:
                yield self._by_steps(param, output, dual)
                continue
            cells = followed.cells(output)
            weights = np.eye(len(cells)) if len(cells) <= ONE_BY_ONE else _random_weights(len(cells))
            leaves = followed.leaves[param.name]
            tangents = []
            for row in weights:
                ends = [(cell, float(w)) for cell, w in zip(cells, row, strict=True) if w]
                tangents.append(float(followed.interpreter.gradient(ends, leaves) @ self.seed.ravel()))
            yield self._judge_output(output, weights @ dual.ravel().astype(float), np.array(tangents))

    def _judge_output(self, output: Any, found: np.ndarray, exact: np.ndarray) -> Finding:
        error, worst = relative_error(found, exact), int(np.argmax(np.abs(found - exact)))
        name = output.name or "the loss"
        if error <= WRONG[output.start.dtype.name]:
            return Finding(self.name, name, "dual", True, error, f"off by {error:.1e}")
        kernels = ", ".join(dict.fromkeys(f"'{launch.name}'" for launch in self.ran))
        text = (
            f"the tangent is {exact[worst]:.6g}, forward mode gives {found[worst]:.6g}, of kernel {kernels}"
        )
        return Finding(self.name, name, "dual", False, error, text, self.where)

    def _by_steps(self, param: Any, output: Any, dual: np.ndarray) -> Finding:
        h, start = STEP * field_spread(param.start), param.start
        values = []
        for side in (1.0, -1.0):
            param.start = (start + side * h * self.seed.reshape(start.shape)).astype(start.dtype)
            self.arrays.reset()
            for launch in self.ran:
                launch.kernel(*launch.arguments)
            values.append(output.values.astype(float))
        param.start = start
        slope = (values[0] - values[1]) / (2.0 * h)
        error, name = relative_error(dual.astype(float), slope), output.name or "the loss"
        text = f"off by {error:.1e} of symmetric steps along the seed"
        close = max(CLOSE, 100.0 * WRONG[output.start.dtype.name])
        return Finding(
            self.name, name, "dual", error <= close, error, text, "" if error <= close else self.where
        )


def _random_weights(count: int) -> np.ndarray:
    """Random weights of so many outputs, (sums, outputs)."""
    return np.random.default_rng(0).normal(size=(SUMS, count))


@contextmanager
def watched_forward_mode(module: ModuleType, file: Path) -> Iterator[list[ForwardRun]]:
    """The first run of each block of forward mode of a file that is entered within the block."""
    mode = runtime.part("ad._ad").FwdMode
    entered, left = mode.__enter__, mode.__exit__
    seen: dict[str, ForwardRun] = {}
    open_runs: dict[int, tuple[ForwardRun, ExitStack]] = {}

    def enter(self: Any) -> Any:
        frame = sys._getframe(1)
        where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        result = entered(self)
        if where not in seen and Path(frame.f_code.co_filename).resolve() == file.resolve():
            with unobserved():
                found = alive(vars(module), frame.f_locals)
                for one in found.owners:
                    one.settle()
            arrays = Arrays(found.owners, found.aliases)
            seed, name = np.array(self.seed, float), f"forward mode at {in_words(where)}"
            made = ForwardRun(name, where, arrays, self.param, seed, list(self.loss))
            seen[where] = made
            stack = ExitStack()
            made.ran = stack.enter_context(launch_log(arrays, ("NONE", "FORWARD")))
            open_runs[id(self)] = (made, stack)
        return result

    def leave(self: Any, *error: Any) -> Any:
        made, stack = open_runs.pop(id(self), (None, None))
        if made is not None and stack is not None:
            stack.close()
            with unobserved():
                made.duals = [np.array(loss.dual.to_numpy()) for loss in made.losses]
        return left(self, *error)

    mode.__enter__, mode.__exit__ = enter, leave
    runs: list[ForwardRun] = []
    try:
        yield runs
    finally:
        mode.__enter__, mode.__exit__ = entered, left
        runs.extend(run for run in seen.values() if run.duals)
