"""The cloth in C (`reference/cloth.c`): its layouts, and its gradient as a column."""

import numpy as np

from .cloth import STIFFNESS, Cloth
from .harness.cases import Call
from .harness.compiled import DTYPE, NUMBER, Bound, aligned, library, width

SOURCE = "cloth.c"


def gradient(cloth: Cloth, precision: str, threads: int) -> Call:
    """dU/dx (n, 3) of the cloth alone; arrays are made once."""
    lanes, real, number = width(SOURCE, precision), DTYPE[precision], NUMBER[precision]
    flat = np.concatenate([cloth.gradients[:, 1:].reshape(-1, 4), cloth.volumes[:, None]], axis=1)
    folds = np.stack([cloth.rests, STIFFNESS * cloth.aspects], axis=1)
    corner, ends = blocked(cloth.triangles, lanes, np.dtype(np.int32)), blocked(cloth.hinges, lanes, np.int32)
    membranes, hinges = blocked(flat, lanes, real, [4]), blocked(folds, lanes, real, [1])
    n = len(cloth.x)
    x = aligned(np.pad(cloth.x, ((0, 0), (0, 1))), real)
    own, out = aligned(np.zeros((threads, n, 4)), real), aligned(np.zeros((n, 4)), real)
    triangle, fold = (
        np.linspace(0, len(blocks), threads + 1).astype(np.int32) for blocks in (membranes, hinges)
    )
    run = Bound(
        library(SOURCE, precision).gradient,
        *(n, threads, x, corner, membranes, triangle, ends, hinges, fold),
        *(number(modulus) for modulus in cloth.lame),
        *(own, out),
    )
    return lambda: (run(), out[:, :3])[1]


def blocked(rows: np.ndarray, lanes: int, dtype: np.dtype, idle: list[int] | None = None) -> np.ndarray:
    """(E, k) to (blocks, k, lanes); copies of the last row fill up, with zeros in the columns `idle`."""
    missing = -len(rows) % lanes
    filled = np.pad(rows, ((0, missing), (0, 0)), mode="edge")
    if idle and missing:
        filled[-missing:, idle] = 0.0
    return aligned(filled.reshape(-1, lanes, rows.shape[1]).transpose(0, 2, 1), dtype)
