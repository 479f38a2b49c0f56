"""Loops of Hessians: second derivatives of elements, their linear forms and moduli, and projections."""
