"""The material point method: particles, a grid between them, and materials as energies."""
