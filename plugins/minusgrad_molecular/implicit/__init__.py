"""Implicit solvents: the water around a molecule as a medium, by the generalized Born model.

`born_radii` has the maps to the effective radius of each atom, `generalized_born` the energies that read it,
`compounds` the block of a scene that makes them all. `gbsa_force` and `custom_gb_force` read forces of an
OpenMM System, `custom_stages` makes maps and energies of the expressions of the second one.
"""
