"""Few bodies: Gauss-Radau steps of order 15, and drifts along Kepler orbits about a dominant mass."""
