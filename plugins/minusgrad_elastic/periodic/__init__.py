"""Cells that repeat, for homogenisation: opposite sides that are one, fibre cells, macroscopic stress."""
