"""The command `minusgrad laser`: from an image to a job file, its replay and its report."""
