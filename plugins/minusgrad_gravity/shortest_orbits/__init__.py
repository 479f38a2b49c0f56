"""The shortest orbit of two bodies at the start, and the warning that steps do not resolve it."""
