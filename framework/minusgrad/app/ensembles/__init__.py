"""Finished ensembles: their members as a table, one member's own run folder, arrays with named axes."""
