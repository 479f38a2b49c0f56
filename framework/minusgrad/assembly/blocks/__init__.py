"""Blocks of a scene that bind energies and maps: their models, derived from declarations, and their terms."""
