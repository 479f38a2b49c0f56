"""Published values of programs with the material point method: rows of `minusgrad validate`."""
