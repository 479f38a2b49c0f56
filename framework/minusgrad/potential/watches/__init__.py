"""Watches over the inputs of a potential: written frames, hidden NaN, ranges that leave those verified."""
