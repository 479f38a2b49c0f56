"""Questions to kernels of a file: inputs that reach the loss, single entries, special states, and diagnoses.

May import as its parent.
"""
