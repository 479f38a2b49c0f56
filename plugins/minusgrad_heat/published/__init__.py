"""Published values of heat conduction: rows of `minusgrad validate`."""
