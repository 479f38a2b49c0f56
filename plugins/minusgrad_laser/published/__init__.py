"""Published values of laser deposition: rows of `minusgrad validate`."""
