"""Programs in time: the next state is computed from the present one by maps and slopes."""
