"""The nearest semi-definite matrices of many small symmetric ones, made in a kernel.

    H = sum over k of lambda_k z_k z_k^T        clamp: lambda -> max(lambda, 0)        abs: lambda -> |lambda|

Only negative eigenvalues change anything: lambda z z^T is taken away, once or twice.

Most matrices are semi-definite already: those whose H + delta 1 has an L D L^T factorisation with positive
pivots stay as they are, bit for bit. delta is rounding: `DELTA` eps times the sum of |H_kk|. The factors are
those of a positive matrix within 2 m eps sum |H_kk| of H + delta 1, so the smallest eigenvalue of H is above
-(`DELTA` + 2 m) eps sum |H_kk|, and the projection is no further away than that. Of the others, reflections
make a tridiagonal matrix (Householder), and rotations with shifts its eigenvalues (implicit QL).
Jacobi's rotations are simpler, and take four times as long for twelve rows.

Whole rows are added and rotated, `wide` columns in one vector of the processor; on devices `wide` is 1. In
the text a line with # stands for one line for each vector of a row. Number by number 24 rows take 2.7 times
as long, and loops over the vectors, which compilers unroll, take twice as long to compile.

Golub & Van Loan 2013, Matrix Computations, 4th ed., 8.3; Teran et al. 2005, Symp. Computer Animation, 181
(why elements are projected).

Decisions 0278.
"""

import re
from collections.abc import Mapping
from textwrap import indent
from typing import Any

import numpy as np

from ...engine import lane_blocks, runtime, storage
from ...engine.kernels import GRAIN, BoundKernel, Code

PROJECTIONS = {"clamp": 1.0, "abs": 2.0}
"""How often a negative eigenvalue is taken away, by the name of the projection."""
DELTA = 64.0
"""The tolerance for rounding, in eps times the sum of the diagonal's absolute values."""
TURNS = 60
"""Most QL steps for one eigenvalue; two are common."""
JOBS = 128
"""Matrices are dealt out to so many jobs, each with memory of its own."""
BYTES = 32
"""Of a vector: rows of 9, 12 and 24 numbers fill these best."""

LOOP = """\
for iteration in range({jobs} * {grain}):
    if iteration % {grain} == 0:
        job, order = iteration // {grain}, orders[0]
        h = job * 2 * {m} * {blocks}
        z = h + {m} * {blocks}
        v = job * ({m} + 3) * {room}
        d, e, parts = v + {room}, v + 2 * {room}, v + 3 * {room}
        for turn in range(({count} + {jobs} - 1) // {jobs}):
            n = turn * {jobs} + job
            if n < {count}:
                largest = {real}(0.0)
                for k in range({size}):
                    largest = ti.max(largest, ti.abs({entry_k}))
                scale = {real}(1.0) / ti.max(largest, {tiny})
"""
"""Every matrix n. Vectors `rows`: H from h on, Z from z on. Numbers `single`: of a row, the diagonals d
and e, and of the rows of Z that are taken away. `order` is m, unknown to compilers, which would unroll."""

UNPACKED = """\
for row in range(order * {blocks}):
    rows[h + row] = all(scale) * packed_at(place[row * {wide} + lane])
"""
"""The whole matrix, by its largest entry: squares of squares stay within f32. A row is filled up with its
last entry, and the columns that this makes are computed and not read."""

DEFINITE = """\
delta = {tiny}
for k in range(order):
    delta += {delta} * scale * ti.abs({entry_diagonal})
definite = 1
for k in range(order):
    if definite == 1:
        row_# = rows[h + k * {blocks} + #]
        spread(row_#, v)
        pivot = single[v + k] + delta
        if pivot > 0.0:
            inverse = {real}(1.0) / pivot
            for i in range(k + 1, order):
                factor = all(single[v + i] * inverse)
                rows[h + i * {blocks} + #] = rows[h + i * {blocks} + #] - factor * row_#
        else:
            definite = 0
"""
"""Whether H + delta 1 = L D L^T with D > 0: row k is taken from all below it."""

TRIDIAGONAL = """\
for row in range(order * {blocks}):
    rows[z + row] = unit[row]
for k in range(order):
    row_# = rows[h + k * {blocks} + #]
    spread(row_#, v)
    head = single[v + ti.min(k + 1, order - 1)]
    v_# = row_# * behind[k * {blocks} + #]
    square = added(v_# * v_#)
    if square > 0.0:
        square += head * head
        length = ti.sqrt(square)
        factor = {real}(1.0) / (square + ti.abs(head) * length)
        length = ti.select(head > 0.0, -length, length)
        single[v + k + 1] = head - length
        v_# = v_# + all(head - length) * unit[(k + 1) * {blocks} + #]
        head = length
        w_# = all({real}(0.0))
        u_# = all({real}(0.0))
        for i in range(k + 1, order):
            factors = all(factor * single[v + i])
            w_# = w_# + factors * rows[h + i * {blocks} + #]
            u_# = u_# + factors * rows[z + i * {blocks} + #]
        half = factor * {real}(0.5) * added(v_# * w_#)
        spread(w_#, parts)
        w_# = w_# - all(half) * v_#
        for i in range(k + 1, order):
            vi, wi = all(single[v + i]), all(single[parts + i] - half * single[v + i])
            rows[h + i * {blocks} + #] = rows[h + i * {blocks} + #] - (vi * w_# + wi * v_#)
            rows[z + i * {blocks} + #] = rows[z + i * {blocks} + #] - vi * u_#
    single[d + k] = single[v + k]
    single[e + k] = head
"""
"""Z H Z^T = T with the diagonal d and e beside it, by reflections 1 - factor v v^T, row after row.

`behind` is 1 from column k + 2 on. Columns of H up to k are no longer read: they are those of the reflected
matrix, and stay bounded.
"""

DIAGONAL = """\
for first in range(order - 1):
    turns = 0
    while turns < {turns}:
        turns += 1
        last = first
        while last < order - 1 and ti.abs(single[e + last]) > {eps}:
            last += 1
        if last == first:
            turns = {turns}
        else:
            g = (single[d + first + 1] - single[d + first]) / ({real}(2.0) * single[e + first])
            r = ti.sqrt(g * g + {real}(1.0))
            g = single[d + last] - single[d + first] + single[e + first] / (g + ti.select(g < 0.0, -r, r))
            sine, cosine, p = {real}(1.0), {real}(1.0), {real}(0.0)
            y_# = rows[z + last * {blocks} + #]
            i = last - 1
            while i >= first:
                f, b = sine * single[e + i], cosine * single[e + i]
                r = ti.sqrt(f * f + g * g)
                single[e + i + 1] = r
                r = ti.max(r, {tiny})
                sine = ti.select(r > {tiny}, f / r, {real}(0.0))
                cosine = ti.select(r > {tiny}, g / r, {real}(1.0))
                g = single[d + i + 1] - p
                r = (single[d + i] - g) * sine + {real}(2.0) * cosine * b
                p = sine * r
                single[d + i + 1] = g + p
                g = cosine * r - b
                sines, cosines = all(sine), all(cosine)
                x_# = rows[z + i * {blocks} + #]
                rows[z + (i + 1) * {blocks} + #] = sines * x_# + cosines * y_#
                y_# = cosines * x_# - sines * y_#
                i -= 1
            rows[z + first * {blocks} + #] = y_#
            single[d + first] = single[d + first] - p
            single[e + first] = g
            single[e + last] = {real}(0.0)
"""
"""Rotations of neighbouring rows of Z until T is diagonal, to rounding: d then has the eigenvalues."""

STORED = """\
negative = 0
for k in range(order):
    if single[d + k] < 0.0:
        row_# = rows[z + k * {blocks} + #]
        spread(row_#, parts + negative * {room})
        factors = all({taken} * single[d + k] * largest)
        rows[z + negative * {blocks} + #] = factors * row_#
        negative += 1
for i in range(order):
    w_# = all({real}(0.0))
    for k in range(negative):
        factors = all(single[parts + k * {room} + i])
        w_# = w_# + factors * rows[z + k * {blocks} + #]
    spread(w_#, v)
    for j in range(i + 1):
        at = i * (i + 1) // 2 + j
        {entry_at} = {entry_at} - single[v + j]
"""
"""The rows of Z with negative eigenvalues move to the front; the sum of their parts is taken away."""


def projection(packed: Any, m: int, how: str) -> BoundKernel:
    """A kernel that projects matrices of m rows in place.

    `packed`: their lower halves row by row, (E, m (m + 1) / 2) in rows or blocks; `how`: of `PROJECTIONS`.
    """
    dtype = storage.host(packed).dtype
    wide = BYTES // dtype.itemsize if runtime.arch() == "cpu" else 1
    blocks = -(-m // wide)
    i, j = np.indices((m, blocks * wide))
    high, low = np.maximum(i, np.minimum(j, m - 1)), np.minimum(i, j)
    arrays = {
        "packed": lane_blocks.single(packed),
        "rows": _vector_rows(np.zeros((JOBS * 2 * m, blocks * wide), dtype), wide),
        "single": storage.allocate(np.zeros(JOBS * (m + 3) * blocks * wide, dtype)),
        "unit": _vector_rows((i == j).astype(dtype), wide),
        "behind": _vector_rows(((i + 2 <= j) & (j < m)).astype(dtype), wide),
        "place": storage.allocate((high * (high + 1) // 2 + low).ravel().astype(np.int32)),
        "orders": storage.allocate(np.array([m], np.int32)),
    }
    known = _text_values(packed, m, dtype, how) | {"wide": wide, "blocks": blocks, "room": blocks * wide}
    return BoundKernel(Code(_projection_text(packed, known), arrays))


def _vector_rows(matrix: np.ndarray, wide: int) -> Any:
    """Rows of vectors; of numbers on devices."""
    if wide == 1:
        return storage.allocate(matrix.ravel())
    vectors = matrix.reshape(1, -1, wide)
    made = lane_blocks.zeros(wide, vectors.shape[1], wide, matrix.dtype)
    made[...] = vectors
    return made


def _text_values(packed: Any, m: int, dtype: np.dtype, how: str) -> dict[str, Any]:
    """What the pieces of the text name."""
    real, eps, size = f"ti.{storage.ENGINE_DTYPES[dtype.name]}", float(np.finfo(dtype).eps), m * (m + 1) // 2
    places = {"k": "k", "at": "at", "diagonal": "(k * (k + 3) // 2)"}
    in_rows = lane_blocks.single(packed) is packed
    return {
        **{f"entry_{name}": lane_blocks.entry(packed, "packed", "n", at) for name, at in places.items()},
        "count": "packed.shape[0]" if in_rows else f"(packed.shape[0] // {size})",
        **{"m": m, "size": size},
        **{"real": real, "tiny": f"{real}(1e-30)", "eps": f"{real}({eps!r})"},
        **{"delta": f"{real}({DELTA * eps!r})", "taken": f"{real}({PROJECTIONS[how]!r})"},
        **{"turns": TURNS, "jobs": JOBS, "grain": GRAIN},
    }


def _projection_text(packed: Any, known: Mapping[str, Any]) -> str:
    """The loops: a matrix that is not definite is unpacked again, because its factors stand in its place."""
    return "".join(
        indent(_by_vectors(part.format(**known), packed, known["wide"], known["blocks"]), " " * 4 * depth)
        for depth, parts in (
            (0, [LOOP]),
            (4, [UNPACKED, DEFINITE, "if definite == 0:\n"]),
            (5, [UNPACKED, TRIDIAGONAL, DIAGONAL, STORED]),
        )
        for part in parts
    )


def _by_vectors(text: str, packed: Any, wide: int, blocks: int) -> str:
    """The text with a line for each vector of a row, and with its functions written out.

    all(x): x in every lane; packed_at(k): numbers k of the matrix, by `lane`; added(x): the sum of a row's
    numbers x; spread(x, at): a row's vectors x into `single`.
    """
    lanes = range(wide)

    def all_lanes(found: re.Match[str]) -> str:
        return f"ti.Vector([{found[1]}] * {wide})" if wide > 1 else f"({found[1]})"

    def packed_at(found: re.Match[str]) -> str:
        each = [
            lane_blocks.entry(packed, "packed", "n", found[1].replace("lane", str(lane))) for lane in lanes
        ]
        return f"ti.Vector([{', '.join(each)}])" if wide > 1 else each[0]

    def added(found: re.Match[str]) -> str:
        space, name, before, row = found.groups()
        total = f"{space}{name}_row = " + " + ".join(f"({row.replace('#', str(c))})" for c in range(blocks))
        each = (f"{name}_row[{lane}]" for lane in lanes) if wide > 1 else [f"{name}_row"]
        return f"{total}\n{space}{name} = {before}({' + '.join(each)})"

    def spread(found: re.Match[str]) -> str:
        space, row, at = found.groups()
        each = (f"{row}[{lane}]" if wide > 1 else row for lane in lanes)
        return "\n".join(
            f"{space}single[{at} + # * {wide} + {lane}] = {one}" for lane, one in enumerate(each)
        )

    inside = r"\(((?:[^()]|\([^()]*\))*)\)"
    text = re.sub(rf"\ball{inside}", all_lanes, text)
    text = re.sub(rf"\bpacked_at{inside}", packed_at, text)
    text = re.sub(rf"^( *)(\w+) = (.*)added{inside}$", added, text, flags=re.M)
    text = re.sub(r"^( *)spread\((.*), (.*)\)$", spread, text, flags=re.M)
    return "".join(
        line.replace("#", str(c)) + "\n"
        for line in text.splitlines()
        for c in range(blocks if "#" in line else 1)
    )
