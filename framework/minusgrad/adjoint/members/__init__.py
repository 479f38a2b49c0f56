"""Derivatives of the runs of many equal small systems at once."""
