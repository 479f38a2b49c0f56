"""Loops for kernels in which one thread goes through all elements, for many steps; small systems in them."""
