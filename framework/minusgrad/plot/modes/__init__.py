"""Pictures of normal modes and of buckling: their shapes, frequencies and films."""
