"""Implicit solvents: the water around a molecule as a medium, by the generalized Born model.

`born_radii` has the maps to the effective radius of each atom, `generalized_born` the energies that read it,
`compounds` the block of a scene that makes them all.
"""
