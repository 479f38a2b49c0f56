"""Cells of meshes by themselves: nodes, shape functions and facets of every kind, and quadrature in them.

Decisions 0319.
"""
