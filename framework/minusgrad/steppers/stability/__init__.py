"""Stability of runs in time: the stability limit of a scheme, the fastest vibration, the energy balance."""
