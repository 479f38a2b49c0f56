"""Checks of emitted kernels: their values at samples of elements, against the expression graph."""
