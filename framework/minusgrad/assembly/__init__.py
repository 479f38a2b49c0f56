"""From a scene to running objects: plugins and their registry, energy blocks, steppers, observers, fits.

Enters: a `Scene` and installed plugins. Leaves: a `BuiltScene`. The only package where names meet classes.
May import: `errors`, `engine`, `scene`, `files`, `symbolic`, `elements`, `energies`, `codegen`, `potential`,
`check`, `steppers`, `adjoint`.
"""
