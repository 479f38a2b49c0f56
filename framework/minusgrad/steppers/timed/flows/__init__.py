"""Flows that the drifts of a splitting follow in place of x <- x + h v."""
