"""Held components of a field, the numbers of their motion by name, and code that places them; see `holds`."""
