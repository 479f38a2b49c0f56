"""Images of a scene: refraction at a water surface, and marching through a volume."""
