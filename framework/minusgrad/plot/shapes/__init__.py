"""Outlines of cells, and surfaces of bodies as an eye sees them."""
