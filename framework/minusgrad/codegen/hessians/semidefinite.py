"""The nearest semi-definite matrices of many small symmetric ones, made in a kernel.

    H = sum over k of lambda_k z_k z_k^T        clamp: lambda -> max(lambda, 0)        abs: lambda -> |lambda|

Only negative eigenvalues change anything: lambda z z^T is taken away, once or twice.

Most matrices are semi-definite already: those whose H + delta 1 has an L D L^T factorisation with positive
pivots stay as they are, bit for bit. delta is rounding: `DELTA` eps times the sum of |H_kk|. Of the others,
reflections make a tridiagonal matrix (Householder), and rotations with shifts its eigenvalues (implicit QL).
Jacobi's rotations are simpler, and take four times as long for twelve rows.

Golub & Van Loan 2013, Matrix Computations, 4th ed., 8.3; Teran et al. 2005, Symp. Computer Animation, 181
(why elements are projected).
"""

from textwrap import indent
from typing import Any

import numpy as np

from ...engine import lane_blocks, storage
from ...engine.kernels import GRAIN, BoundKernel, Code

PROJECTIONS = {"clamp": 1.0, "abs": 2.0}
"""How often a negative eigenvalue is taken away, by the name of the projection."""
DELTA = 64.0
"""The tolerance for rounding, in eps times the sum of the diagonal's absolute values."""
TURNS = 60
"""Most QL steps for one eigenvalue; two are common."""
JOBS = 128
"""Matrices are dealt out to so many jobs, each with memory of its own."""

LOOP = """\
for iteration in range({jobs} * {grain}):
    if iteration % {grain} == 0:
        job = iteration // {grain}
        h = job * {rows}
        z, v, w, d, e, u = h + {m}, h + {v}, h + {w}, h + {d}, h + {e}, h + {u}
        for turn in range(({count} + {jobs} - 1) // {jobs}):
            n = turn * {jobs} + job
            if n < {count}:
                largest = {real}(0.0)
                for k in range({size}):
                    largest = ti.max(largest, ti.abs({entry_k}))
                scale = {real}(1.0) / ti.max(largest, {tiny})
"""
"""Every matrix n. Rows of `work`: H from h on, Z from z on, vectors v, w and u, the diagonals d and e."""

UNPACKED = """\
for i in range({m}):
    for j in range(i + 1):
        at = i * (i + 1) // 2 + j
        entry = {entry_at} * scale
        work[h + i, j] = entry
        work[h + j, i] = entry
"""
"""The whole matrix, by its largest entry: squares of squares stay within f32."""

DEFINITE = """\
delta = {tiny}
for k in range({m}):
    delta += {delta} * ti.abs(work[h + k, k])
definite = 1
for k in range({m}):
    if definite == 1:
        pivot = work[h + k, k] + delta
        if pivot > 0.0:
            inverse = {real}(1.0) / pivot
            for i in range(k + 1, {m}):
                factor = work[h + i, k] * inverse
                for c in range(k + 1, i + 1):
                    work[h + i, c] = work[h + i, c] - factor * work[h + c, k]
        else:
            definite = 0
"""
"""Whether H + delta 1 = L D L^T with D > 0: row k is taken from all below it, left of the diagonal."""

TRIDIAGONAL = """\
for i in range({m}):
    for c in range({m}):
        work[z + i, c] = {real}(0.0)
    work[z + i, i] = {real}(1.0)
for k in range({m} - 2):
    for c in range({m}):
        work[v, c] = {real}(0.0)
        work[w, c] = {real}(0.0)
    square = {real}(0.0)
    for c in range(k + 2, {m}):
        entry = work[h + k, c]
        work[v, c] = entry
        square += entry * entry
    head = work[h + k, k + 1]
    if square > 0.0:
        square += head * head
        length = ti.sqrt(square)
        factor = {real}(1.0) / (square + ti.abs(head) * length)
        length = ti.select(head > 0.0, -length, length)
        work[v, k + 1] = head - length
        head = length
        half = {real}(0.0)
        for i in range(k + 1, {m}):
            s = {real}(0.0)
            for c in range(k + 1, {m}):
                s += work[h + i, c] * work[v, c]
            work[w, i] = factor * s
            half += factor * s * work[v, i]
        half = half * factor * {real}(0.5)
        for c in range({m}):
            work[w, c] = work[w, c] - half * work[v, c]
            work[u, c] = {real}(0.0)
        for i in range(k + 1, {m}):
            vi = work[v, i]
            wi = work[w, i]
            for c in range(k + 1, {m}):
                work[h + i, c] = work[h + i, c] - (vi * work[w, c] + wi * work[v, c])
            for c in range({m}):
                work[u, c] = work[u, c] + vi * work[z + i, c]
        for i in range(k + 1, {m}):
            vi = factor * work[v, i]
            for c in range({m}):
                work[z + i, c] = work[z + i, c] - vi * work[u, c]
    work[e, k] = head
for i in range({m}):
    work[d, i] = work[h + i, i]
"""
"""Z H Z^T = T with the diagonal d and e beside it, by reflections 1 - factor v v^T, row after row."""

DIAGONAL = """\
work[e, {m} - 2] = work[h + {m} - 2, {m} - 1]
for first in range({m} - 1):
    turns = 0
    while turns < {turns}:
        turns += 1
        last = first
        while last < {m} - 1 and ti.abs(work[e, last]) > {eps}:
            last += 1
        if last == first:
            turns = {turns}
        else:
            g = (work[d, first + 1] - work[d, first]) / ({real}(2.0) * work[e, first])
            r = ti.sqrt(g * g + {real}(1.0))
            g = work[d, last] - work[d, first] + work[e, first] / (g + ti.select(g < 0.0, -r, r))
            sine, cosine, p = {real}(1.0), {real}(1.0), {real}(0.0)
            i = last - 1
            while i >= first:
                f, b = sine * work[e, i], cosine * work[e, i]
                r = ti.sqrt(f * f + g * g)
                work[e, i + 1] = r
                r = ti.max(r, {tiny})
                sine = ti.select(r > {tiny}, f / r, {real}(0.0))
                cosine = ti.select(r > {tiny}, g / r, {real}(1.0))
                g = work[d, i + 1] - p
                r = (work[d, i] - g) * sine + {real}(2.0) * cosine * b
                p = sine * r
                work[d, i + 1] = g + p
                g = cosine * r - b
                for c in range({m}):
                    x, y = work[z + i, c], work[z + i + 1, c]
                    work[z + i, c] = cosine * x - sine * y
                    work[z + i + 1, c] = sine * x + cosine * y
                i -= 1
            work[d, first] = work[d, first] - p
            work[e, first] = g
            work[e, last] = {real}(0.0)
"""
"""Rotations of neighbouring rows of Z until T is diagonal, to rounding: d then has the eigenvalues."""

STORED = """\
for k in range({m}):
    if work[d, k] < 0.0:
        taken = {taken} * work[d, k] * largest
        for i in range({m}):
            factor = taken * work[z + k, i]
            for j in range(i + 1):
                at = i * (i + 1) // 2 + j
                {entry_at} = {entry_at} - factor * work[z + k, j]
"""


def projection(packed: Any, m: int, how: str) -> BoundKernel:
    """A kernel that projects matrices of m rows in place.

    `packed`: their lower halves row by row, (E, m (m + 1) / 2) in rows or blocks; `how`: of `PROJECTIONS`.
    """
    dtype = storage.host(packed).dtype
    work = storage.allocate(np.zeros((JOBS * (2 * m + 5), m), dtype))
    return BoundKernel(
        Code(_text(packed, m, dtype, how), {"packed": lane_blocks.single(packed), "work": work})
    )


def _text(packed: Any, m: int, dtype: np.dtype, how: str) -> str:
    real, eps = f"ti.{storage.ENGINE_DTYPES[dtype.name]}", float(np.finfo(dtype).eps)
    size = m * (m + 1) // 2
    known = {
        **{f"entry_{number}": lane_blocks.entry(packed, "packed", "n", number) for number in ("k", "at")},
        "count": "packed.shape[0]"
        if lane_blocks.single(packed) is packed
        else f"(packed.shape[0] // {size})",
        "m": m,
        "size": size,
        "rows": 2 * m + 5,
        **{name: 2 * m + k for k, name in enumerate("vwdeu")},
        **{"real": real, "tiny": f"{real}(1e-30)", "eps": f"{real}({eps!r})"},
        **{"delta": f"{real}({DELTA * eps!r})", "taken": f"{real}({PROJECTIONS[how]!r})"},
        **{"turns": TURNS, "jobs": JOBS, "grain": GRAIN},
    }
    spectrum = [TRIDIAGONAL, DIAGONAL] if m > 1 else [TRIDIAGONAL]
    return "".join(
        indent(part.format(**known), " " * 4 * depth)
        for depth, parts in (
            (0, [LOOP]),
            (4, [UNPACKED, DEFINITE, "if definite == 0:\n"]),
            (5, [UNPACKED, *spectrum, STORED]),
        )
        for part in parts
    )
