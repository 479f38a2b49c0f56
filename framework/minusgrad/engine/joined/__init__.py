"""Kernels joined from the loops of others: the arrays that these share."""
