"""What is around the bodies of a run, read from its folder and drawn: obstacles, loads, supports, a box."""
