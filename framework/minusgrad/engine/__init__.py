"""The Taichi compiler behind one interface, with the kernels and arrays that it uses.

Enters: source text, NumPy arrays, options of a scene's `[runtime]`. Leaves: compiled kernels, arrays in the
memory of the device. No other package imports `taichi`. May import: `errors`.
"""
