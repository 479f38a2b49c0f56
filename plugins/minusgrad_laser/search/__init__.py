"""The search for a path: a stepper that edits it, its recipe, and the raster that it is compared with."""
