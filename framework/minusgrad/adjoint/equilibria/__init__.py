"""Derivatives of equilibria by the implicit function theorem, with constraints, and their check.

Enters: a search for an equilibrium. Leaves: sensitivities by parameters, data, fields and supports; named
modes where an equilibrium is not unique.
"""
