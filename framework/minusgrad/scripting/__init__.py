"""The Python door: simulations from arrays, energies and a stepper, with functions between their steps.

A `Simulation` in Python is a scene, whose tables are made of its arguments, and arrays; it is validated and
assembled as the file of a scene is, so that both give the same bits. It is stepped, run into a folder,
written as TOML, and read again.

Enters: arrays, energies, tables or a scene. Leaves: run folders, and scenes with their arrays. May import:
`errors`, `scene`, `files`, `energies`, `potential`, `steppers`, `assembly`, `app`.
"""
