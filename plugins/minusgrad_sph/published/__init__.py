"""Published values of fluids: rows of `minusgrad validate`."""
