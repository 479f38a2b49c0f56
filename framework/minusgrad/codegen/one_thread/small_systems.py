"""Statements that solve a small dense system in a kernel, with its numbers in locals: A_0_0, ..., r_0, ..."""

from ..statements import indented


def f64(number: float) -> str:
    """A literal."""
    return f"ti.f64({float(number)!r})"


def gaussian_elimination(size: int, exchanged: bool = True) -> list[str]:
    """Gaussian elimination: r becomes A^-1 r, and A_k_k the pivots.

    exchanged: with exchanges of rows. A matrix whose symmetric part is positive definite needs none.
    """
    lines = []
    for k in range(size):
        for row in range(k + 1, size) if exchanged else ():
            swap = []
            for name in [*(f"A_{{}}_{c}" for c in range(k, size)), "r_{}"]:
                one, other = name.format(k), name.format(row)
                swap += [f"kept = {one}", f"{one} = {other}", f"{other} = kept"]
            lines += [f"if ti.abs(A_{row}_{k}) > ti.abs(A_{k}_{k}):", *indented(swap)]
        lines.append(f"pivot = ti.f64(1.0) / A_{k}_{k}")
        for row in range(k + 1, size):
            lines.append(f"factor = A_{row}_{k} * pivot")
            lines += [f"A_{row}_{c} -= factor * A_{k}_{c}" for c in range(k + 1, size)]
            lines.append(f"r_{row} -= factor * r_{k}")
    for k in reversed(range(size)):
        lines += [f"r_{k} -= A_{k}_{c} * r_{c}" for c in range(k + 1, size)]
        lines.append(f"r_{k} = r_{k} / A_{k}_{k}")
    return lines
