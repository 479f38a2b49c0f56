"""Questions to energies whose far pairs are computed by a tree that stays as it is."""
