"""Elasticity so far: meshes of triangles and tetrahedra (generators, Gmsh 4.1 files, inspection).

It registers nothing yet; its energies, masks and scenes come with the next physics.
"""
