"""Jobs: toolpaths, and the files by which a machine gets them."""
