"""Origin of a run's numbers: digests of traced energies, their values, plugins' files, and their differences.

Enters: bound terms, a state, imported plugins. Leaves: plain data for a checkpoint, and lines that name what
has changed since.

Decisions 0031.
"""
