"""Random values of the members of an ensemble, as functions of seed, key, member, node and component.

    u(seed, key, member, node, component)       Philox 4x32-10: one stream for each key, member as the step

so that a member has the same values in an ensemble of any size, and alone. Points of a Sobol sequence
(Sobol 1967; Joe and Kuo 2008; scrambled, Owen 1998) are numbered by the members.
"""

import hashlib
from collections.abc import Callable, Sequence
from math import prod
from warnings import catch_warnings

import numpy as np

from ...engine import random
from ...errors import UserError

MOST_AXES = 21201
"""Components that one Sobol sequence can have (`scipy.stats.qmc.Sobol.MAXDIM`)."""
MOST_POINTS = 2**30
"""Points of one Sobol sequence."""
BLOCK = 1 << 16
"""Numbers that are drawn at once; each is a function of its own arguments alone."""


def uniforms(seed: int, key: str, members: Sequence[int], shape: tuple[int, ...]) -> np.ndarray:
    """Numbers uniform in (0, 1), (M, *shape): for each member, node and component its own."""
    return _drawn(random.uniforms, seed, key, members, shape)


def normals(seed: int, key: str, members: Sequence[int], shape: tuple[int, ...]) -> np.ndarray:
    """Standard normal numbers, (M, *shape): for each member, node and component its own."""
    return _drawn(random.normals, seed, key, members, shape)


def _drawn(
    draw: Callable[..., np.ndarray], seed: int, key: str, members: Sequence[int], shape: tuple[int, ...]
) -> np.ndarray:
    stream, components = random.stream(f"ensemble/{key}"), np.arange(prod(shape))
    found, block = np.empty((len(members), prod(shape))), max(1, BLOCK // max(prod(shape), 1))
    for start in range(0, len(members), block):
        rows = np.asarray(members[start : start + block], np.uint64)
        found[start : start + block] = draw(seed, stream, rows[:, None], components)
    return found.reshape(-1, *shape)


def sobol(seed: int, members: Sequence[int], axes: int) -> np.ndarray:
    """Points of a scrambled Sobol sequence in (0, 1)^axes, (M, axes): point k is that of member k.

    Raises `UserError` for more axes or points than such a sequence has.
    """
    from scipy.stats import qmc  # takes long to import

    if axes > MOST_AXES or max(members) >= MOST_POINTS:
        raise UserError(
            f"sobol: has at most {MOST_AXES} components and 2^30 members, got {axes} and"
            f" {max(members) + 1}; use uniform"
        )
    digest = hashlib.sha256(f"{seed}/ensemble/sobol".encode()).digest()
    sequence = qmc.Sobol(axes, scramble=True, seed=np.random.default_rng(list(digest)))
    if members[0]:
        sequence.fast_forward(members[0])
    with catch_warnings(action="ignore"):  # fewer points than a power of 2 are less even
        return sequence.random(members[-1] + 1 - members[0])
