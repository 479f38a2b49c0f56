"""Loops of maps to and from the cells of a grid, within windows of cells."""
