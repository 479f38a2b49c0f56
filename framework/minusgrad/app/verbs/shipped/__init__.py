"""Files that come with minusgrad: scenes with their data, and the tutorial; by name, copied, or as a demo."""
