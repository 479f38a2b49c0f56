"""Neo-Hookean tetrahedra: dU/dx, (d2U/dx2) w and the Hessian of each element, in ns a tetrahedron.

384,000 tetrahedra in a box, bent and shaken (`solid`). C twice (`reference/elastic.c`), both with registers
of tetrahedra by hand: by parts is our scheme (with as many parts as threads), by slots keeps a number of each
slot and sums them afterwards, which is faster for small meshes. Each
hand-written Taichi column is what a user writes: the closed form P = mu F + (lambda ln J - mu) F^-T with
atomic sums, and the energy with `Matrix` code by reverse mode. Element Hessians: the lower halves, 78 numbers
each; the first ones are compared with NumPy.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from minusgrad.codegen.derivative_request import DerivativeRequest
from minusgrad.engine import runtime, storage

from . import neo_hookean_peers as peers
from . import neo_hookean_taichi as taichi
from .harness import session
from .harness.cases import OURS, Call, Case, Column, Goal
from .harness.compiled import DTYPE
from .solid import Solid
from .solid_in_c import InC

PARTS, QUICK = (40, 40, 40), (8, 8, 8)
SHOWN = 4096
TOLERANCE = {"f32": 2e-5, "f64": 1e-12}
BY_SLOTS, BY_PARTS, BY_HAND = "C, by slots", "C, by parts", "closed form by hand"
GOALS = {
    "gradient": (Goal(BY_PARTS, 1.15), Goal(BY_SLOTS, 1.5), Goal(BY_HAND, 0.45), Goal("torch.compile", 1.0)),
    "product": (Goal("its gradient", 1.5),),
    "hessians": (Goal("its gradient", 3.0),),
}


def cases() -> Iterator[Case]:
    """Gradient, product and element Hessians in each precision."""
    for precision in ("f32", "f64"):
        yield from of(QUICK if session.quick() else PARTS, precision)


def of(
    parts: tuple[int, int, int], precision: str, work: str = "neo_hookean", threads: int = 0
) -> Iterator[Case]:
    """The three of a box of so many parts."""
    asked: dict[str, Callable[[Solid], np.ndarray]] = {
        "gradient": Solid.gradient,
        "product": Solid.product,
        "hessians": lambda solid: lower(solid.first(SHOWN).element_hessians()),
    }
    for name, expected in asked.items():
        yield Case(
            work,
            name,
            precision,
            columns(parts, precision, name),
            expected=lambda expected=expected: expected(box(parts, precision)),  # type: ignore[misc]
            tolerance=TOLERANCE[precision],
            count=6 * int(np.prod(parts)),
            unit="ns a tetrahedron",
            base="C" if name == "hessians" else BY_PARTS,
            goals=GOALS[name],
            threads=threads,
            about={"tetrahedra": 6 * int(np.prod(parts))},
        )


def columns(parts: tuple[int, int, int], precision: str, name: str) -> Mapping[str, Column]:
    """Those that compute it; the box is made where a column is."""

    def made(maker: Callable[[Solid, str], Call], **more: Any) -> Column:
        return Column(lambda: maker(box(parts, precision), precision), **more)

    theirs = {n: made(maker, peer=True) for n, maker in peers.OF[name].items()}
    gradient = {
        "its gradient": made(our_gradient, engine=True, expected=lambda: box(parts, precision).gradient())
    }
    if name == "hessians":
        return {"C": made(in_c), OURS: made(our_hessians, engine=True)} | gradient | theirs
    found = {
        BY_SLOTS: made(lambda s, p: InC(s, p, session.threads()).by_slots(name)),
        BY_PARTS: made(lambda s, p: InC(s, p, session.threads()).by_parts(name)),
    }
    if name == "product":
        return found | {OURS: made(our_product, engine=True)} | gradient | theirs
    found |= {OURS: made(our_gradient, engine=True), BY_HAND: made(taichi.by_hand, engine=True)}
    return found | {"Matrix code, reverse mode": made(taichi.by_reverse_mode, engine=True)} | theirs


@cache
def box(parts: tuple[int, int, int], precision: str) -> Solid:
    """In numbers that the precision holds."""
    return Solid.of(parts).rounded(DTYPE[precision])


def our_gradient(solid: Solid, precision: str) -> Call:
    """dU/dx of the shipped energy."""
    potential = solid.potential(precision)
    out = storage.allocate(solid.x.astype(DTYPE[precision]))

    def call() -> np.ndarray:
        potential.gradient_into({"x": out})
        runtime.sync()
        return out

    return call


def our_product(solid: Solid, precision: str) -> Call:
    """The Hessian of the shipped energy times a tangent."""
    potential = solid.potential(precision)
    along = storage.allocate(solid.along.astype(DTYPE[precision]))
    out = storage.allocate(np.zeros_like(along))

    def call() -> np.ndarray:
        potential.sweep(DerivativeRequest(product={"x": out}, tangents={"x": along}))
        runtime.sync()
        return out

    return call


def our_hessians(solid: Solid, precision: str) -> Call:
    """The kernel under `potential.hessian` and `element_hessians`: the lower halves, where it leaves them."""
    potential = solid.potential(precision)
    elements = potential._hessians.of_term("neo_hookean", ("x",))

    def call() -> "Lower":
        elements.fill(0.0, None)
        runtime.sync()
        return Lower(lambda: elements.full_matrices(0.0, None))

    return call


class Lower:
    """Element Hessians that are unpacked when they are looked at."""

    def __init__(self, whole: Callable[[], np.ndarray]):
        self._whole = whole

    def numpy(self) -> np.ndarray:
        """The lower halves of the first few, (SHOWN, 78)."""
        return lower(self._whole()[:SHOWN])


def lower(hessians: np.ndarray) -> np.ndarray:
    """(E, 12, 12) to (E, 78), row by row."""
    return hessians[(slice(None), *np.tril_indices(12))]


def in_c(solid: Solid, precision: str) -> Call:
    """The 78 numbers of each, in blocks."""
    solids = InC(solid, precision, session.threads())
    call = solids.element_hessians()

    def first() -> np.ndarray:
        return call().transpose(0, 2, 1)[: -(-SHOWN // solids.width)].reshape(-1, 78)[:SHOWN]

    return first
