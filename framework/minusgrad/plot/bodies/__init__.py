"""Pictures of observers of bodies: of star clusters, of few bodies on their orbits; places of their names."""
