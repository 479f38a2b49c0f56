"""Factors of matrices whose graph is a path, such as those of a chain of rods: elimination from both ends.

    rows in the order 0, n - 1, 1, n - 2, ... of the path: L has entries (i, i - 2), and (n - 1, n - 2)

Neither half waits for the other, so that a processor works on both at once, and the numbers of the rows
before stay in registers. The loops are those of `kernel_factors` for this pattern, group by group.

Decisions 0379.
"""

import numpy as np

FACTOR = """for group in range(begin.shape[0] - 1):
    start, end = begin[group], begin[group + 1] - 1
    one, two = ti.f64(0.0), ti.f64(0.0)
    for i in range(start, end):
        p = of_row[i + 1] - 1
        d = a[p]
        if i > start + 1:
            y = a[p - 1]
            s = y * two
            d = d - s * y
            l[i - 2 - group] = s
        pivot[i] = d
        two = one
        one = 1.0 / d
        inverse[i] = one
    q = of_row[end + 1] - 1
    e = a[q]
    if end > start:
        u = a[q - 1]
        e = e - u * one * u
        l[end - 1 - group] = u * one
    if end > start + 1:
        u = a[q - 2]
        e = e - u * two * u
        l[end - 2 - group] = u * two
    pivot[end] = e
    inverse[end] = 1.0 / e
"""
SOLVE = """for group in range(begin.shape[0] - 1):
    start, end = begin[group], begin[group + 1] - 1
    one, two = ti.f64(0.0), ti.f64(0.0)
    for i in range(start, end):
        s = b[order[i]]
        if i > start + 1:
            s = s - l[i - 2 - group] * two
        work[i] = s
        two = one
        one = s
    u = b[order[end]]
    if end > start:
        u = u - l[end - 1 - group] * one
    if end > start + 1:
        u = u - l[end - 2 - group] * two
    u = u * inverse[end]
    x[order[end]] = u
    one, two = u, u
    if end > start:
        one = work[end - 1] * inverse[end - 1] - l[end - 1 - group] * u
        x[order[end - 1]] = one
    for back in range(end - start - 1):
        i = end - 2 - back
        s = work[i] * inverse[i] - l[i - group] * two
        x[order[i]] = s
        two = one
        one = s
"""
LONG = 16
"""Paths of fewer rows gain nothing."""


def order_of_paths(size: int, rows: np.ndarray, columns: np.ndarray, group: np.ndarray) -> np.ndarray | None:
    """The order of elimination (E,), the rows of a group next to each other; None unless groups are paths.

    rows, columns: of the entries of a half, the diagonal among them. group (E,): of each row.
    """
    off = rows != columns
    ends = np.concatenate([rows[off], columns[off]])
    degree = np.bincount(ends, minlength=size)
    counts = np.bincount(group, minlength=int(group.max(initial=-1)) + 1)
    edges = np.bincount(group[rows[off]], minlength=len(counts))
    if not len(counts) or counts.max() < LONG or degree.max() > 2 or (edges != counts - 1).any():
        return None
    neighbours: list[list[int]] = [[] for _ in range(size)]
    for i, j in zip(rows[off].tolist(), columns[off].tolist(), strict=True):
        neighbours[i].append(j)
        neighbours[j].append(i)
    found: list[int] = []
    seen = np.zeros(len(counts), bool)
    for first in np.flatnonzero(degree < 2).tolist():
        if seen[group[first]]:
            continue
        seen[group[first]] = True
        path, before, here = [first], -1, first
        while after := [k for k in neighbours[here] if k != before]:
            before, here = here, after[0]
            path.append(here)
        half = (len(path) + 1) // 2
        both = [path[:half], path[half:][::-1]]
        found += [k for pair in zip(*both, strict=False) for k in pair] + both[0][len(both[1]) :]
    return np.array(found, np.int64)
