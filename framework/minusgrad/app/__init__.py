"""The command line and the Python functions behind it: run, fit, resume, inspect, check, plot, export.

Enters: arguments. Leaves: run folders, tables, exit codes. May import: `errors`, `engine`, `scene`,
<<<<<<< HEAD
`files`, `energies`, `potential`, `solvers`, `check`, `exam`, `steppers`, `adjoint`, `plot`, `assembly`.
=======
`files`, `energies`, `potential`, `solvers`, `check`, `steppers`, `adjoint`, `plot`, `view`, `assembly`.
>>>>>>> a6e2f80 (minusgrad view: the page follows a run; saved pages are tested in a browser without a network)
"""
