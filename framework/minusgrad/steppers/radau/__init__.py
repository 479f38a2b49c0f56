"""Gauss-Radau steps of order 15 with a step size of their own, for few bodies and close encounters."""
