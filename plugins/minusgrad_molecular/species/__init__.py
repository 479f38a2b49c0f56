"""Parameters by species: Lennard-Jones energies with a mixing rule, and pairs with values of their own.

Decisions 0151.
"""
