"""Loops over elements in vector lanes: a block of elements at a time, summed by slots or by parts."""
