"""Blocks of a scene: steppers and observers of the core; energies and maps, derived from declarations.

`make` alone imports steppers and kernels, so that a scene with a mistake is answered without them.
"""
