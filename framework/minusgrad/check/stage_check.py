"""Gradient check of a staged energy, stage by stage, against plain Python.

Its kernels are replayed in plain Python, with exact derivatives. Where the energy's own gradient differs,
each stage is checked alone, from random adjoints of its outputs.

Decisions 0315.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..errors import TraceError
from ..interpreter.program_arrays import ProgramArray
from ..interpreter.recorded_launches import Arrays, RecordedLaunch, launch_log
from ..interpreter.replay import WRONG, relative_error, replay, wrong_launch
from ..lint.kernel_remarks import Remark, begin_of, of_function, readings
from ..potential.staged.staged_term import StagedTerm
from .questions import Finding


def stages(term: StagedTerm, t: float, where: str) -> Iterator[Finding]:
    """The gradient of every argument against the exact one; failures name the stage and its remarks."""
    handles = [ProgramArray(name, array) for name, array in term.arrays.items()]
    arrays = Arrays(handles)
    with launch_log(arrays) as ran:
        term.value(t)
    forward = [term.energy.stages[k] for act, k in term.energy.schedule.forward if act == "run"]
    if len(ran) != len(forward):
        return  # a stage is a Python function, which is not replayed
    own = [None if stage.backward is None else partial(term.run_back, stage) for stage in forward]
    ran = [replace(launch, own_reverse=one) for launch, one in zip(ran, own, strict=True)]
    for handle in handles:
        handle.settle()
    remarks = [r for stage in term.energy.stages for r in readings(stage.kernel)]
    inputs = [h for h in handles if h.name in term.energy.differentiable]
    try:
        retraced = replay(arrays, ran, inputs)
    except TraceError as error:
        made = Finding(term.name, "", "reverse", True, None, f"not replayed in plain Python: {error}")
        yield replace(made, warning=True)
        return
    outputs = [h for h in handles if h.name in term.energy.outputs]
    remarks += retraced.interpreter.remarks.values()
    for handle in inputs:
        exact = retraced.gradient(handle.name, *outputs).reshape(handle.start.shape)
        found = term.gradient(handle.name, t).reshape(handle.start.shape)
        yield _judge_gradient(
            term, handle, exact, found, where, partial(_explain_wrong_gradient, arrays, ran, remarks)
        )


def _explain_wrong_gradient(
    arrays: Arrays, ran: Sequence[RecordedLaunch], remarks: Sequence[Remark]
) -> tuple[str, str]:
    """Where a gradient is wrong: the line, and the stage with its first remark."""
    wrong = wrong_launch(arrays, ran)
    if wrong is None:
        return "", ": each stage alone is right, so one may overwrite an array that another needs"
    stage, place = wrong.function, f": stage '{wrong.name}'"
    if wrong.own_reverse is not None:
        return begin_of(stage), f"{place}: its `backward` is not its adjoint"
    if mine := of_function(remarks, stage):
        return mine[0].where, f"{place}: {mine[0].text}"
    return begin_of(stage), place


def _judge_gradient(
    term: StagedTerm,
    handle: ProgramArray,
    exact: np.ndarray,
    found: np.ndarray,
    where: str,
    why: Callable[[], tuple[str, str]],
) -> Finding:
    error = relative_error(found, exact)
    if error <= WRONG[handle.start.dtype.name] or not np.isfinite(exact).all():
        return Finding(term.name, handle.name, "reverse", True, error, f"off by {error:.1e} {where}")
    line, text = why()
    said = f"the reverse is off by {error:.1e} of the largest component {where}{text}"
    return Finding(term.name, handle.name, "reverse", False, error, said, line)
