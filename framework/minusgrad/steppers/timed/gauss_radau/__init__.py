"""Gauss-Radau steps of order 15: substeps by an error estimate, their code, and what they record."""
