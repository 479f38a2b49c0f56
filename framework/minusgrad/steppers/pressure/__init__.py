"""Constant pressure: the stress of what moves, a barostat, and the cell that it moves."""
