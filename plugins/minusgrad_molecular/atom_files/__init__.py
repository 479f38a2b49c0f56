"""Files of atoms of other programs, read by ASE: formats, what is asked for, and the state `atoms`.

Decisions 0145.
"""
