"""Published values of charges in periodic boxes: rows of `minusgrad validate`."""
