"""Constrained motion: projections onto g(x) = 0 and its tangent space, and the moves of RATTLE."""
