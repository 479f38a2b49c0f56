"""Published values of atoms and molecules: rows of `minusgrad validate`."""
