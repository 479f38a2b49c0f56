"""`minusgrad laser --grid` and `--fit`: a grid for a machine, and its profile from a photo."""
