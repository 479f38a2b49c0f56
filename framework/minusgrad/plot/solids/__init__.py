"""Lines as tubes with their frames, facets as sheets with two sides: their surfaces, and light on them."""
