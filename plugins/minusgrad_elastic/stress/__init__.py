"""Stress of solids: at quadrature points and nodes, with an estimate of its error, along lines, through cuts.

term_stress      of one energy, from its derivative by F; `stretch_across` of plates in plane stress
point_values     F, stress and volume at all points of a list of cells; `measures`: numbers made of them
cell_points      cells of the list by kind, places of their points, values continued inside of a cell
patches          polynomials over the cells around a corner; `recovery`: values at nodes, and the error
places           values along a line and on a side
resultants       force and moment of the stress on a cut, and of what acts on a side
observer, blocks what a run records, and the keys of a scene
"""
