"""Materials of solids: energy densities of the deformation gradient, one function each, for any cells.

`hyperelastic` beside this package has the neo-Hookean and the St Venant-Kirchhoff solid;
`docs/materials.md` is a table of all, with the equation of each and when to use it. In the plane
(triangles) a solid is in plane strain; those in plane stress say so in their names.

Decisions 0327.
"""
