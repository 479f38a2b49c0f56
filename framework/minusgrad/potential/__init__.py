"""The potential energy of a scene: the sum of its terms, with gradients, products and Hessians.

Enters: fields and terms. Leaves: U, dU/dx, dU/dp, Hessian products and sparse Hessians. May import:
`errors`, `engine`, `scene`, `symbolic`, `lint`, `elements`, `energies`, `codegen`.
"""
