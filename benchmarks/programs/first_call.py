"""Value, gradient and product of a small neo-Hookean box, the first time in a process; prints the seconds.

python -m benchmarks.programs.first_call FORM PRECISION GRADIENT.npy
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

PARTS = (8, 8, 8)


def ours(precision: str) -> Callable[[], np.ndarray]:
    """Of the shipped energy."""
    from ..harness.compiled import DTYPE
    from ..solid import Solid

    solid = Solid.of(PARTS).rounded(DTYPE[precision])

    def call() -> np.ndarray:
        potential = solid.potential(precision)
        potential.value()
        gradient = potential.gradient("x")
        potential.product({"x": solid.along}, "x")
        return gradient

    return call


def by_reverse_mode(precision: str) -> Callable[[], np.ndarray]:
    """Value and gradient of the energy with `Matrix` code."""
    from minusgrad import ti

    from ..harness.compiled import DTYPE
    from ..neo_hookean_taichi import given, reverse_mode_kernel
    from ..solid import Solid

    solid = Solid.of(PARTS).rounded(DTYPE[precision])
    arrays = given(solid, precision)
    real = getattr(ti, precision)
    x, U = ti.Vector.field(3, real, len(solid.x), needs_grad=True), ti.field(real, (), needs_grad=True)
    x.from_numpy(solid.x.astype(DTYPE[precision]))
    x.grad.fill(0.0)
    energy = reverse_mode_kernel(x, U, real, *solid.lame)

    def call() -> np.ndarray:
        energy(*arrays)
        U[None]
        U.grad[None] = 1.0
        energy.grad(*arrays)
        return x.grad.to_numpy()

    return call


def by_peer(maker: str, precision: str) -> Callable[[], np.ndarray]:
    """Gradient and product of a peer, compiled; the value is thrown in."""
    from .. import neo_hookean_peers
    from ..harness.compiled import DTYPE
    from ..solid import Solid

    solid, make = Solid.of(PARTS).rounded(DTYPE[precision]), getattr(neo_hookean_peers, maker)
    gradient, product = (make(solid, precision, product=second) for second in (False, True))

    def call() -> np.ndarray:
        product()
        return np.asarray(gradient())

    return call


FORMS = {
    "minusgrad": ours,
    "reverse": by_reverse_mode,
    "torch": partial(by_peer, "torch_compiled"),
    "jax": partial(by_peer, "in_jax"),
}


def main(form: str, precision: str, file: str) -> None:
    """Prepare, call, tell."""
    if form in ("minusgrad", "reverse"):
        from minusgrad.engine import runtime

        runtime.start()
    call = FORMS[form](precision)
    began = time.perf_counter()
    gradient = call()
    seconds = time.perf_counter() - began
    np.save(file, np.asarray(gradient, float))
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
