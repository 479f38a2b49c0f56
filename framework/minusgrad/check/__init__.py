"""Gradient checks: Taylor tests, finite steps, symmetries and replay, for energies, stages and kernels.

Enters: a potential, or a file of kernels. Leaves: findings with a place and a cure. May import: `errors`,
`engine`, `scene`, `symbolic`, `lint`, `elements`, `energies`, `codegen`, `potential`, `interpreter`.
"""
