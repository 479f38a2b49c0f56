"""Pictures of a run folder: bodies, orbits, grids, energies, fits.

Enters: recorded arrays. Leaves: PNG files. Knows no physics and needs no Taichi. May import: `errors`,
`scene`, `files`.
"""
