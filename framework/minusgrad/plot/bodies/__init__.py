"""Pictures of observers of bodies: of star clusters, and of few bodies on their orbits."""
