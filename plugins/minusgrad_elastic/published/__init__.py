"""Published values of elastic solids: rows of `minusgrad validate`."""
