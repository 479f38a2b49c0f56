"""Taichi kernels executed in plain Python: launches are recorded, then replayed as an expression graph.

Enters: a Python file with kernels. Leaves: what each launch read and wrote, with the exact derivative.
Shares no code with `codegen` but the trace of an energy. May import: `errors`, `engine`, `scene`,
`symbolic`, `lint`, `energies`, `codegen`.
"""
