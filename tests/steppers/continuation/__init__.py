"""Equilibria followed along a load, past limit points and bifurcations."""
