"""Derivatives of constrained runs: adjoint and tangents of the projections of positions and of velocities.

Enters: an integrator with constraints, and the tape of its moves. Leaves: derivatives by starts, masses,
parameters and data, those of constraints among them.
"""
