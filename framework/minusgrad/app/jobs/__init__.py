"""A job in its run folder: from a validated scene or a checkpoint to its end, its saver and its watch."""
