"""Expression graphs of scalars: built by running a function, simplified, differentiated, evaluated.

Enters: a Python function in the language of Taichi. Leaves: graphs, their derivatives, their NumPy values.
May import: `errors`, `engine`.
"""
