"""Fields on the cells of a grid: waves and incompressible flow."""
