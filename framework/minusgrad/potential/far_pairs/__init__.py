"""Far pairs of an energy over pairs, whose near pairs are those of a tree."""
