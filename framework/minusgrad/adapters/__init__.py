"""Adapters to programs with atoms of their own: the energy of a scene for ASE and for OpenMM.

Enters: positions and box of the other program. Leaves: energy, forces, stress and Hessian in its units. May
import: `errors`, `engine`, `scene`, `elements`, `energies`, `codegen`, `potential`, `steppers`, `assembly`,
`app`.
"""
