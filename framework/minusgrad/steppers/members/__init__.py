"""Steppers of many equal small systems at once, the members of an ensemble."""
