"""The Solar System: a table of its bodies, and states of some of them."""
