"""Ensembles: many members of one scene, the values that they differ in, and their initial states."""
