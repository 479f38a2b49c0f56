"""Declarations: energies, local maps and staged energies, the fields they read, and terms that bind the two.

Enters: decorated functions, the arrays of a state. Leaves: `Fields`, `Term`, `StagedEnergy`. Computes
nothing. May import: `errors`, `engine`, `scene`, `symbolic`, `lint`, `elements`.
"""
