"""The gradient of a reverse against central differences of its launches. It shares no code with the check."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .reverses import Reverse, numbers, put

ENTRIES = 6
"""The entries of an array that are moved."""


def judged(reverse: Reverse, run: Callable[[], None], rng: np.random.Generator) -> tuple[str, str]:
    """right, wrong, kink or unknown, and why.

    kink: the engine's derivative is that of one side.
    """
    if reverse.error:
        return "refused", reverse.error[:200]
    verdict, text, moved = "right", "", 0
    outputs = {id(a) for a, _ in reverse.outputs}
    for array in reverse.arrays:
        found = reverse.gradients.get(id(array))
        start = reverse.start.get(id(array))
        if found is None or start is None or id(array) in outputs or start.dtype.kind != "f":
            continue
        if found.shape != start.shape:
            continue
        chosen = rng.permutation(start.size)[:ENTRIES]
        for k in chosen:
            moved += 1
            answer, why = _entry(reverse, run, array, start, found, int(k))
            if answer == "wrong":
                return "wrong", f"{reverse.names.get(id(array), 'an array')}[{k}]: {why}"
            if answer != "right":
                verdict, text = answer, f"{reverse.names.get(id(array), 'an array')}[{k}]: {why}"
    return (verdict, text) if moved else ("unknown", "no input has an adjoint")


def _entry(
    reverse: Reverse, run: Callable[[], None], array: Any, start: np.ndarray, found: np.ndarray, k: int
) -> tuple[str, str]:
    single = start.dtype.itemsize < 8 or any(numbers(a).dtype.itemsize < 8 for a, _ in reverse.outputs)
    given, scale = float(found.ravel()[k]), float(np.abs(found).max(initial=0.0))
    best, sides = np.inf, (np.nan, np.nan)
    for h in (3e-2, 3e-3) if single else (1e-3, 1e-5):
        h *= max(abs(float(start.ravel()[k])), 0.3)
        above, middle, below = (_moved(reverse, run, array, start, k, s * h) for s in (1.0, 0.0, -1.0))
        if not np.isfinite([above, middle, below]).all():
            return "unknown", "the loss is not finite beside the start"
        rounding = 4.0 * (1.2e-7 if single else 2.3e-16) * max(abs(above), abs(below)) / h
        slope = (above - below) / (2.0 * h)
        allowed = 0.02 * max(abs(given), abs(slope)) + 1e-3 * scale + rounding
        if abs(slope - given) <= allowed:
            return "right", ""
        if abs(slope - given) < best:
            best, sides = abs(slope - given), ((above - middle) / h, (middle - below) / h)
    text = f"the engine gives {given:.6g}, the sides are {sides[1]:.6g} and {sides[0]:.6g}"
    near = [abs(side - given) <= 0.03 * max(abs(given), abs(side)) + 1e-3 * scale for side in sides]
    return ("kink" if any(near) and not all(near) else "wrong"), text


def _moved(
    reverse: Reverse, run: Callable[[], None], array: Any, start: np.ndarray, k: int, by: float
) -> float:
    """The sum of the outputs, weighted by their adjoints, with one entry moved."""
    for one in reverse.arrays:
        if id(one) in reverse.start:
            put(one, reverse.start[id(one)])
    moved = np.array(start)
    moved.ravel()[k] += by
    put(array, moved)
    run()
    return float(sum((seed * numbers(a).astype(np.float64)).sum() for a, seed in reverse.outputs))
