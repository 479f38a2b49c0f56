"""Linear solvers: sparse symmetric systems, by factors or by conjugate gradients, behind one class.

Enters: a sparse matrix, the nodes of its rows, their rigid motions. Leaves: solutions, and which solver was
taken and why; factors in kernels for many matrices of one pattern. May import: `errors`, `engine`.
"""
