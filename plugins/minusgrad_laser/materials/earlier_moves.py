"""Pairs of moves: each move of a path, and those shortly before it."""

import numpy as np


def earlier_moves(points: int, recent: int) -> np.ndarray:
    """Rows (i, i - 1, j, j - 1) of each move i and the `recent` moves j before it, the latest first."""
    i, lag = np.meshgrid(np.arange(2, points), np.arange(1, recent + 1), indexing="ij")
    rows = np.stack([i, i - 1, i - lag, i - lag - 1], axis=-1).reshape(-1, 4)
    return rows[rows[:, 3] >= 0].astype(np.int32)
