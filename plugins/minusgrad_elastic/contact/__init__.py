"""Contact of bodies that deform: surfaces that keep apart, and steps that do not pass through them.

`laws` has the functions of the distance, and the decorator that makes a kind of contact of one; `distances`
the distance of a point to a triangle and of two edges; `contact_law` the energies that both make;
`collision_surface` the surface, who is near whom on it, and how far it may move (ipctk); `block` what a scene
says.
"""
