"""Contact of bodies that deform: barriers between surfaces, and steps that do not pass through them.

`barriers` has the energies, functions of the distance of a point to a triangle and of two edges;
`collision_surface` the surface, who is near whom on it, and how far it may move (ipctk); `block` what a scene
says.
"""
