"""Derivatives through time: the adjoint and tangents of a run, and losses of its states.

Enters: an integrator and a loss. Leaves: the gradient of the loss by initial state, parameters and data.
May import: `errors`, `engine`, `energies`, `codegen`, `potential`, `check`, `steppers`.
"""
