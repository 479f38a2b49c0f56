"""The magnetic force q v x B in integrators: exact rotations of the velocity, and the curl of A.

Enters: magnetic fields and the motions of charges. Leaves: drifts that turn the velocity, with derivatives.
"""
