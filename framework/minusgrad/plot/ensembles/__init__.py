"""Pictures of the members of an ensemble."""
