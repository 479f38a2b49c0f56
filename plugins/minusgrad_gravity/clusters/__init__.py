"""Observers of star clusters and galaxies: Lagrangian radii, virial ratio, density profile."""
