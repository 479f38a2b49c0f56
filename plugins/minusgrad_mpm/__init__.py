"""The material point method: particles, a grid between them, and materials whose stresses are slopes of energies."""
