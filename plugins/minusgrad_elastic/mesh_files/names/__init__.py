"""Names that files give to parts of a mesh, where the library that reads the mesh loses them, by format."""
