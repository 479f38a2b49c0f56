"""Derivatives of runs and equilibria: adjoints, tangents, and losses of their states.

Enters: an integrator, or a search for an equilibrium, and a loss. Leaves: the gradient of the loss by initial
state, parameters and data. May import: `errors`, `engine`, `energies`, `codegen`, `potential`, `solvers`,
`check`, `steppers`.
"""
