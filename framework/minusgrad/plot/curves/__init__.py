"""Pictures of recorded numbers as curves: fans over the members of an ensemble, radial distributions."""
