"""Questions about what leaves U unchanged: symmetries, and a shift of a node by a box vector."""
