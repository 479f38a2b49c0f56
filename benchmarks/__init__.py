"""The scoreboard: what minusgrad costs beside C, beside its peers, and beside Taichi written by hand."""
