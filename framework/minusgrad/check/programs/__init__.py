"""Programs as a check runs them: on its own architecture, without windows, for a bounded number of steps.

Imports from `engine`, `interpreter` and `check`.
"""
