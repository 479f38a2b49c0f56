"""Unknowns of one element that make its energy least: their values, and exact derivatives without them.

`functions` is the function of plain Python numbers, which users import; `newton` is the same of symbolic
scalars, whose derivatives follow from the implicit function theorem.
"""
