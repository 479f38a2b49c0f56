"""The Taichi compiler behind one door, and the kernels and arrays that it works on.

Enters: source text, NumPy arrays, options of a scene's `[runtime]`. Leaves: compiled kernels, arrays in the
memory of the device. No other package imports `taichi`. May import: `errors`.
"""
