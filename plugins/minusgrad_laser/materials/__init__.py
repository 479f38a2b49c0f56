"""Materials: how much of a cell is developed (exposed, burnt, solid) at a dose, each a map over the cells."""
