"""Tables of a scene about its state: sides by their place, the periodic box, initial values from files."""
