"""Derivatives of implicit runs and of gradient flows: one linear system for each step.

Those of Gauss-Radau steps iterate in its place (`gauss_radau`).

Enters: a stepper with the tape of its solved steps. Leaves: derivatives by starts, inertia or capacity,
parameters and data.
"""
