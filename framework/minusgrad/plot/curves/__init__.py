"""Pictures of recorded numbers as curves: fans and maps over the members of an ensemble, radial distributions."""
