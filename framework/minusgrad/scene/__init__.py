"""Scene files: TOML in, checked records out, each mistake with its line and column.

Enters: the bytes of a scene file and overrides. Leaves: a `Scene` of frozen records with converted units.
No Taichi, no NumPy, no physics. May import: `errors`, `engine`.
"""
