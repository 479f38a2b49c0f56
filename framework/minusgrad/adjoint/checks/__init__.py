"""Checks of steps and equilibria: gradients against values, adjoints against tangents."""
