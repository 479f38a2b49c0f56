"""Singular Hessians whose factors show no small pivot."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from minusgrad import Fields
from minusgrad.adjoint.equilibria.singular_modes import refuse_singular
from minusgrad.errors import SingularSystemError
from minusgrad.solvers.linear_solver import LinearSolver
from minusgrad.solvers.sparse_system import SparseSystem

COUNT = 45


def hidden(corner: float) -> SparseSystem:
    """R^T R, where R has 1 on the diagonal and -1 above: all its pivots are 1, its least eigenvalue is 4^-44.

    (Golub and Van Loan, Matrix Computations, section 5.5.7.) corner: is added to the first diagonal entry.
    """
    upper = 2.0 * np.eye(COUNT) - np.triu(np.ones((COUNT, COUNT)))
    whole = upper.T @ upper
    whole[0, 0] += corner
    return SparseSystem(csr_matrix(whole), np.arange(COUNT), np.zeros(COUNT, int), np.zeros((COUNT, 0)))


def test_a_mode_that_no_pivot_shows_is_found() -> None:
    fields = [Fields({"x": np.zeros(COUNT)})["x"]]
    solver = LinearSolver("superlu")
    solver.factor(hidden(0.0))  # no pivot is small
    with pytest.raises(SingularSystemError, match="a mode that nothing resists, largest at node 0 of 'x'"):
        refuse_singular(hidden(0.0), np.zeros((COUNT, 0)), [], fields, LinearSolver("superlu"))
    refuse_singular(hidden(1.0), np.zeros((COUNT, 0)), [], fields, LinearSolver("superlu"))
