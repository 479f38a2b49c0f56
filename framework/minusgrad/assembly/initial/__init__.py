"""Initial values of `[initial]`: fields from files, and from the saved state of another run."""
