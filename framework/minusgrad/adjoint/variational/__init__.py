"""Derivatives of runs of variational integrators, and questions to their Lagrangians."""
