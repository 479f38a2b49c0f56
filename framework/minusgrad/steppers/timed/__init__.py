"""The bases of steppers in time: their clock, and how integrators of motions return to an earlier state."""
