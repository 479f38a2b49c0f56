"""Implicit integrators: steps that minimise an incremental potential, U with inertia as a local energy.

A scheme (`stage`) says where inertia pulls to, and which velocity friction reads; `incremental_potential` is
the function that a step minimises, `step_solver` Newton's method for it, `implicit_integrator` the stepper.
Fields without inertia, such as temperatures, run down the slope of U by `gradient_flow`.
"""
