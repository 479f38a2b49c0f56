"""Derivatives of Gauss-Radau runs along their substeps: transposed and differentiated stage equations."""
