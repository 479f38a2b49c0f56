"""The command line and the Python functions behind it: run, fit, resume, inspect, check, plot, export.

Enters: arguments. Leaves: run folders, tables, exit codes. May import: `errors`, `engine`, `scene`,
`files`, `energies`, `potential`, `solvers`, `check`, `exam`, `steppers`, `adjoint`, `plot`, `view`,
`assembly`.
"""
