"""Files of other programs: AMBER, GROMACS and CHARMM topologies, OpenMM's force fields, and positions."""
