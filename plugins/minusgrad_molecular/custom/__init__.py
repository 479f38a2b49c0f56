"""Custom forces of OpenMM by their own expressions, which become energies with derived derivatives."""
