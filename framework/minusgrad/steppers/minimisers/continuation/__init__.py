"""Equilibria followed along a load: load steps, and paths by arc length through limit points and branches."""
