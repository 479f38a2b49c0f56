"""One thread for BLAS and LAPACK: their sums have another order, and other last digits, on two.

Factors are small pieces of dense work, which several threads would speed up little.

Decisions 0088.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@cache
def _known_libraries() -> "ThreadpoolController":
    """The libraries of NumPy and SciPy, both loaded by then."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Within it BLAS and LAPACK use one thread."""
    return _known_libraries().limit(limits=1, user_api="blas")
