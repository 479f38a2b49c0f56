"""Calibration of a machine: a job of test lines and squares, and what a photo says of spot and material."""
