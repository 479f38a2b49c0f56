"""Steppers: integrators and minimisers, what they hold fixed, and the scheduler that calls them.

Enters: a potential and the fields that move. Leaves: fields one step later. May import: `errors`, `engine`,
`scene`, `symbolic`, `elements`, `energies`, `codegen`, `potential`, `solvers`.
"""
