"""From a scene to running objects: plugins and their registry, energy blocks, steppers, observers, fits.

Enters: a `Scene` and installed plugins. Leaves: a `Simulation`. The only package where names meet classes.
May import: `errors`, `engine`, `scene`, `files`, `elements`, `energies`, `codegen`, `potential`, `check`,
`steppers`, `adjoint`.
"""
