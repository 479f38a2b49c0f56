"""Taylor expansions of pair energies between cells of a tree, derived from the traced function."""
