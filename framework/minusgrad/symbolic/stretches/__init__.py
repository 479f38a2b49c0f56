"""Principal stretches in energies: the polar decomposition, sums over stretches, and their exact derivatives.

`functions` are those of NumPy arrays, which users import; `isotropic` are the same of symbolic scalars, with
rules for their derivatives; `eigenvectors` has the values that these need.

Decisions 0255.
"""
