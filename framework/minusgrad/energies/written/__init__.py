"""Functions of energies that the framework writes: from others, as F-bar forms are, or from graphs."""
