"""Constant pressure: the stress of moving nodes, a barostat, and the cell that it moves."""
