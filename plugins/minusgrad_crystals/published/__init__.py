"""Published values of crystals: rows of `minusgrad validate`."""
