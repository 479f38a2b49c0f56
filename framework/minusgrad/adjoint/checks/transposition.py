"""The question `transpose` of checks: whether an adjoint is the transpose of the tangents.

(l, J w) = (J' l, w)          l weights of what a step or a search gives, w a way of its inputs
"""

from collections.abc import Mapping

import numpy as np

from ...energies.fields import ordered_sum

Values = Mapping[str, np.ndarray]


def transposed(
    weights: Values, moved: Values, pulled: Values, way: Values, bound: float
) -> tuple[bool, float, str]:
    """Whether both sides agree to `bound`, by how much they differ, and that in words.

    weights: l by field. moved: J w by field. pulled: J' l by input, and way: w by input.
    """
    forward = np.concatenate([(weights[n] * moved[n]).ravel() for n in moved])
    backward = np.concatenate([(pulled[n] * way[n]).ravel() for n in way])
    size = max(ordered_sum(np.abs(forward)), ordered_sum(np.abs(backward))) or 1.0
    error = float(abs(ordered_sum(np.concatenate([forward, -backward]))) / size)
    wrong = "" if error < bound else ": the adjoint is not the transpose of the tangent"
    return error < bound, error, f"(l, J w) and (J' l, w) differ by {error:.1e}{wrong}"
