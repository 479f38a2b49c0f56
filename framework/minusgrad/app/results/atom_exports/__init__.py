"""Files of atoms: frames in angstrom, eV and ps as extended XYZ, PDB, LAMMPS data, DCD and XTC."""
