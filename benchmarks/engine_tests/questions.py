"""One reverse of a test put to the check of kernels."""

import sys
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np

from minusgrad.check.kernel_file import ask
from minusgrad.check.outcomes import NOT_ASKED, RIGHT, WRONG, exit_code
from minusgrad.errors import MinusgradError, TraceError
from minusgrad.interpreter.case import Case, CaseTable

from .differences import judged
from .reverses import Reverse, foreign, numbers, put

VERDICTS = {RIGHT: "right", WRONG: "finding", NOT_ASKED: "not asked"}


def answers(engine: Any, name: str, reverse: Reverse, progress: Callable[[str], None]) -> dict[str, Any]:
    """What the check says of a reverse, and what central differences say."""
    record: dict[str, Any] = {"kind": reverse.kind, "launches": len(reverse.calls)}
    if not reverse.outputs:
        return record | {"verdict": "no seed", "text": "no output has an adjoint", "truth": "unknown"}
    begun = perf_counter()
    module = ModuleType(f"reverse_of_{name.partition('[')[0]}")
    module.__file__ = __file__
    loss, body = _loss(engine, module, reverse)
    for array in reverse.arrays:
        if id(array) in reverse.start:
            put(array, reverse.start[id(array)])
    progress("the check")
    record |= _asked(Case(name, CaseTable(loss=loss), body, guessed=True), module)
    record["seconds"] = round(perf_counter() - begun, 2)
    progress("central differences")
    try:
        truth, why = judged(reverse, lambda: _run(reverse), np.random.default_rng(0))
    except Exception as error:
        truth, why = "unknown", f"{type(error).__name__}: {error}"[:200]
    return record | {"truth": truth, "why": why}


def _asked(case: Case, module: ModuleType) -> dict[str, Any]:
    try:
        found = list(ask(case, module, lambda *_: None))
    except MinusgradError as error:
        return {"verdict": "crash" if isinstance(error, TraceError) else "refused", "text": str(error)}
    except Exception as error:
        import traceback

        last = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        return {"verdict": "crash", "text": f"{type(error).__name__} at {at}: {error}"}
    wrong, open_ = [f for f in found if not f.passed], [f for f in found if f.unasked]
    texts = [f"{f.where.rpartition('/')[2]} {f.argument}: {f.question}: {f.text}" for f in wrong or open_]
    verdict = VERDICTS[exit_code(found)]
    if any("the check itself failed" in f.text for f in open_):
        verdict = "crash"
    return {"verdict": verdict, "questions": len(found), "text": " | ".join(texts)[:600]}


def _run(reverse: Reverse) -> None:
    for call in reverse.calls:
        for array, where, values in call.written:
            now = numbers(array)
            now[where] = values[where]
            put(array, now)
        call.function(*call.arguments)


def _loss(engine: Any, module: ModuleType, reverse: Reverse) -> tuple[str, Callable[[], None]]:
    """The name of the loss, and the function that computes it.

    Several outputs, or one of several numbers, are summed, weighted with their adjoints.
    """
    for k, array in enumerate(reverse.arrays):
        setattr(module, reverse.names.get(id(array)) or f"array_{k}", array)
    array, seed = reverse.outputs[0]
    if len(reverse.outputs) == 1 and seed.size == 1 and float(seed.ravel()[0]) == 1.0:
        return _name(module, array), lambda: _run(reverse)
    loss = engine.field(engine.f64, (), needs_grad=True)
    module.weighted_sum = loss
    sums = [_sum(engine, module, k, a, s, loss) for k, (a, s) in enumerate(reverse.outputs)]

    def body() -> None:
        _run(reverse)
        for add in sums:
            add()

    return "weighted_sum", body


def _name(module: ModuleType, array: Any) -> str:
    return next(n for n, v in vars(module).items() if v is array)


def _sum(
    engine: Any, module: ModuleType, k: int, array: Any, seed: np.ndarray, loss: Any
) -> Callable[[], None]:
    """A launch that adds the sum of seed x array to the loss."""
    sys.modules.pop(f"{__package__}.weighted_sums", None)  # its kernels keep arrays of an ended engine
    weighted_sums = import_module(f"{__package__}.weighted_sums")
    axes = tuple(map(int, array.shape))
    element = seed.shape[len(axes) :]
    if foreign(array):
        import torch

        weights: Any = torch.as_tensor(seed.astype(np.float64))
        kernel = weighted_sums.of_ndarray if axes else weighted_sums.of_ndarray_of_one
    elif isinstance(array, sys.modules[f"{engine.__name__}.lang._ndarray"].Ndarray):
        kinds = {0: engine.f64, 1: engine.types.vector, 2: engine.types.matrix}
        kind = kinds[0] if not element else kinds[len(element)](*element, engine.f64)
        weights = engine.ndarray(kind, axes)
        kernel = weighted_sums.of_ndarray_of_elements if element else weighted_sums.of_ndarray
        kernel = kernel if axes or element else weighted_sums.of_ndarray_of_one
    else:
        makes = {0: engine.field, 1: engine.Vector.field, 2: engine.Matrix.field}
        offset = getattr(getattr(array, "snode", None), "_offset", None)
        weights = makes[len(element)](*element, engine.f64, shape=axes, offset=offset or None)
        kernel = (
            weighted_sums.of_elements
            if element
            else weighted_sums.of_field
            if axes
            else weighted_sums.of_number
        )
    if not foreign(array):
        put(weights, seed.astype(np.float64))
    setattr(module, f"weights_{k}", weights)
    return lambda: kernel(array, weights, loss)
