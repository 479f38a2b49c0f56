"""Loops of Hessians: second derivatives of elements, linear forms and their moduli, semi-definite projections."""
