"""Published values of mechanics: rows of `minusgrad validate`."""
