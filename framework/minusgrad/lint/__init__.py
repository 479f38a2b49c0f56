"""Rules about kernel source that Taichi differentiates wrongly: they read text and run nothing.

Enters: the syntax tree of a kernel. Leaves: remarks with a line and a cure. May import: `errors`, `engine`,
`symbolic`.
"""
