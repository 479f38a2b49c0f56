"""Limits of projections onto constraints: where iterations end, and which matrices are singular.

Decisions 0380.
"""

SOLVED, ROUNDED = 2.0, 64.0
"""A violation of so many eps ends iterations; and so does one of so many that no longer falls by half."""
MOST = 40
"""The most iterations of a projection."""
SLOW = 0.3
"""Iterations that leave more than this part of the violation go on with the present matrix."""
AGREES = 1e6
"""The largest difference of rows of G by two kernels, in roundings of the largest of their numbers."""
SINGULAR = {"float64": 1e-13, "float32": 1e-6}
"""The least pivot of A, relative to its diagonal."""
