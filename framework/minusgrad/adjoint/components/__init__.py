"""Derivatives of steps as vectors over all moving components, in double precision."""
