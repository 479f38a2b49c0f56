"""A tree of cells over nodes, and which cells interact: near leaves pair by pair, far cells by expansions."""
