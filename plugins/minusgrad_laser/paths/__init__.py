"""Initial paths of the spot: one kind of curve a module, the strokes it is made of, and their order."""
