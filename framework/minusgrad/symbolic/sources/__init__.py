"""The source of a function, the values that it captures, and a snapshot of both."""
