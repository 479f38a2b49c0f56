"""Published values of few bodies and of chaos: rows of `minusgrad validate`."""
