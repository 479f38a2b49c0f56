"""Pairs of nodes that a few bonds connect: those that molecular force fields exclude from pair energies."""

import numpy as np


def bonded_pairs(bonds: np.ndarray, count: int, most: int) -> np.ndarray:
    """The pairs of `count` nodes with at most so many of the bonds (n, 2) on the shortest path; (m, 2).

    bonded_pairs(bonds, count, 2)        pairs 1-2 and 1-3
    """
    from scipy.sparse import coo_matrix

    first, second = np.asarray(bonds, np.int64).reshape(-1, 2).T
    ones = np.ones(len(first), np.int32)
    graph = coo_matrix((ones, (first, second)), (count, count)).tocsr()
    step = (graph + graph.T).astype(bool).astype(np.int32)
    reached = step
    for _ in range(most - 1):
        reached = ((reached + reached @ step) > 0).astype(np.int32)
    low, high = reached.nonzero()
    return np.stack([low, high], axis=1)[low < high]
