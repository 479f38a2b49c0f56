"""Sparse Hessians: of each element, and of the whole potential in a fixed pattern (CSR)."""
