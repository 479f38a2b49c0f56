"""The Hessian of a liquid times a tangent, beside its gradient: ns an atom, with lists that stay."""

from collections.abc import Callable
from typing import Any

import numpy as np

from minusgrad.codegen.derivative_request import DerivativeRequest
from minusgrad.engine import runtime, storage

from .harness.cases import OURS, Call, Case, Column, Goal
from .harness.compiled import DTYPE
from .liquid_state import RADIUS, pairs, state, stepper

GRADIENT = "its gradient"
NEAREST, STEEP = 0.85, 15.0
"""The least distance of two atoms, and how many times their force changes by more than it, relatively."""


def tolerance(side: int, precision: str) -> float:
    """Of what positions in the whole box, and two of them and the box in a difference, are rounded to."""
    rounding = 1.5 * float(np.finfo(DTYPE[precision]).eps) * state(side)[2]
    return STEEP * rounding / NEAREST


def case(side: int, precision: str, threads: int = 0) -> Case:
    """Of so many cells of a crystal along each axis."""
    n = 4 * side**3
    return Case(
        "liquid",
        f"{n}-product-{threads}",
        precision,
        {
            GRADIENT: Column(lambda: gradient(side, precision), True, expected=lambda: right_gradient(side)),
            OURS: Column(lambda: product(side, precision), True),
        },
        expected=lambda: right_product(side),
        tolerance=tolerance(side, precision),
        count=n,
        unit="ns an atom",
        base=GRADIENT,
        goals=(Goal(GRADIENT, 2.0),),
        threads=threads,
        about={"N": n, "threads": threads},
    )


def tangent(side: int) -> np.ndarray:
    """(n, 3)"""
    return np.random.default_rng(1).normal(size=(4 * side**3, 3))


def gradient(side: int, precision: str) -> Call:
    """dU/dx"""
    return _swept(side, precision, lambda out: DerivativeRequest(gradient={"x": out}))


def product(side: int, precision: str) -> Call:
    """(d2U/dx2) w"""
    along = storage.allocate(tangent(side).astype(DTYPE[precision]))
    return _swept(side, precision, lambda out: DerivativeRequest(product={"x": out}, tangents={"x": along}))


def _swept(side: int, precision: str, request: Callable[[Any], DerivativeRequest]) -> Call:
    _, integrator = stepper(*state(side), precision)
    out = storage.allocate(np.zeros((4 * side**3, 3), DTYPE[precision]))

    def call() -> np.ndarray:
        integrator.potential.sweep(request(out))
        runtime.sync()
        return out

    return call


def right_gradient(side: int) -> np.ndarray:
    """By a sum over pairs in NumPy."""
    found, apart, first, _ = _slopes(side)
    return _to_both(2.0 * first[:, None] * apart, found, side)


def right_product(side: int) -> np.ndarray:
    """By a sum over pairs in NumPy."""
    found, apart, first, second = _slopes(side)
    w = tangent(side)
    change = w[found[:, 1]] - w[found[:, 0]]
    along = 4.0 * second * np.einsum("ij,ij->i", apart, change)
    return _to_both(2.0 * first[:, None] * change + along[:, None] * apart, found, side)


def _slopes(side: int) -> tuple[np.ndarray, ...]:
    """Pairs, their vectors, and du/ds and d2u/ds2 of u = 4 (s^-6 - s^-3), where s is the squared distance."""
    found, apart = pairs(side, RADIUS)
    s = np.einsum("ij,ij->i", apart, apart)
    return found, apart, 4.0 * (3.0 * s**-4 - 6.0 * s**-7), 4.0 * (42.0 * s**-8 - 12.0 * s**-5)


def _to_both(of_second: np.ndarray, found: np.ndarray, side: int) -> np.ndarray:
    """What each pair gives to its second atom, and the opposite to its first."""
    n = 4 * side**3
    columns = [np.bincount(found[:, 1], part, n) - np.bincount(found[:, 0], part, n) for part in of_second.T]
    return np.stack(columns, axis=1)
