"""Images of elements in a periodic box: of listed tuples and bonded pairs; digits of far positions."""
