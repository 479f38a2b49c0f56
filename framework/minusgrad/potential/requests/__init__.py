"""Derivative requests to a potential: validated, and divided among its terms and maps."""
