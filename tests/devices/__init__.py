"""The device path: energies, runs and derivatives of runs on a device, beside the CPU."""
