"""Published values of elastic solids and of topology optimisation: rows of `minusgrad validate`."""
