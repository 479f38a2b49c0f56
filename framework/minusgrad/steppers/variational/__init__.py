"""Variational integrators: steps that make a discrete action stationary, for any Lagrangian L(q, v, t).

`galerkin` has the numbers of the discrete action, `discrete_action` its slopes and second derivatives,
`momenta` the Legendre transform. A step is solved by Newton's method: node by node in one kernel where
elements share no nodes (`node_steps`), else as a sparse system (`sparse_steps`).
"""
