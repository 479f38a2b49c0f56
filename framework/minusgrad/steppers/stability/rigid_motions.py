"""Rigid motions of nodes in space: translations and rotations, as directions of a mass-weighted vector.

Decisions 0374.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from ...energies.fields import Field, Motion
from .free_components import FreeComponents


def rigid_motions(
    fields: Mapping[str, Field], motions: Sequence[Motion], free: FreeComponents
) -> tuple[np.ndarray, float]:
    """An orthonormal basis (N, r) of M^(1/2) u for rigid u, and the sum of m |x - centre|^2.

    No rigid motions (r = 0) where components are held or several fields move, and where x (n, d) is not in a
    plane or in space; its second number is then that of all values of the fields.
    """
    places = {m.position: fields[m.position].values.astype(np.float64) for m in motions}
    x = next(iter(places.values()))
    root = 1.0 / free.inverse_root
    centred = {n: p - p.mean(axis=0) for n, p in places.items()}
    moment = float(np.sum((free.vector(centred) * root) ** 2))
    if len(places) > 1 or free.size < x.size or x.ndim != 2 or x.shape[1] not in (2, 3):
        return np.zeros((free.size, 0)), moment
    mass = root.reshape(x.shape)[:, :1] ** 2
    r = x - np.sum(mass * x, axis=0) / np.sum(mass)
    motions_of = [np.broadcast_to(axis, x.shape) for axis in np.eye(x.shape[1])]
    for a, b in combinations(range(x.shape[1]), 2):
        turn = np.zeros_like(x)
        turn[:, a], turn[:, b] = -r[:, b], r[:, a]
        motions_of.append(turn)
    columns = np.stack([u.reshape(-1) * root for u in motions_of], axis=1)
    sizes = np.linalg.norm(columns, axis=0)
    columns = columns[:, sizes > 1e-9 * sizes.max()]
    left, singular, _ = np.linalg.svd(columns / np.linalg.norm(columns, axis=0), full_matrices=False)
    return left[:, singular > 1e-6], float(np.sum(mass * r * r))
