"""Spheres of stars with isotropic velocities: their densities, distribution functions, and states of them."""
