"""Pictures of recorded numbers: fans and maps over the members of an ensemble, radial distributions."""
