"""The columns of the table of operations (`operations.OPERATIONS`)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from .scalar import Number, Scalar

SAME = "same"
"""In the column `vectors`: whole vectors take the text of one number."""


@dataclass(frozen=True, slots=True)
class Singularity:
    """Where the derivative of an operation is infinite or undefined."""

    at: Callable[..., bool]
    """True if the derivative is not finite; of the node and the values of its arguments."""
    advice: str
    rule: Literal["root", "select"] = "root"
    """The name of the remark."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A row of the table. A function of (y, a, b, ...) takes the node and its arguments."""

    name: str
    arity: int = 1
    python: Callable[..., Number] | None = None
    """The value for Python numbers, by which constants are computed; None: it stays an operation."""
    numpy: Callable[..., Any] | None = None
    """The value for NumPy arrays; None for leaves."""
    text: str = ""
    """Taichi text: {} or {0}, {1} the arguments, {T} the type of the result, {R} its name without `ti.`;
    empty: `ti.name({}, ...)`."""
    vectors: str = ""
    """Taichi text for whole vectors, with {one} and {zero}; `SAME` as `text`; empty: lane by lane. Which
    these are was found by trying each on both engines: most others end the process."""
    derivative: Callable[..., tuple[Scalar | float | None, ...]] | None = None
    """dy/da for each argument (None: not differentiated); without one the operation is piecewise constant."""
    branches: Callable[..., tuple[Scalar, Scalar, Scalar]] | None = None
    """Of a choice: the condition, the value if true and the value if false."""
    result: Literal["real", "whole", "same", "integer", "truth"] = "real"
    """A real number; a real number that is whole; an integer if the arguments are; an integer; a truth."""
    commutative: bool = False
    function: bool = False
    """True if energies call it as `ti.name`, entry by entry of a tensor."""
    rounding: str = ""
    """Of a rounding, at which derivatives end: what a remark says of the number."""
    singularity: Singularity | None = None
    defined: bool = False
    """True if the first argument is the value, an expression that is not differentiated, and the others are
    the arguments of the derivative."""
    recomputed: bool = False
    """True if the reverse of an inner loop in Taichi 1.7.4 computes its value again (`lint.inner_loops`)."""

    def __post_init__(self) -> None:
        if self.defined:
            object.__setattr__(self, "numpy", lambda value, *_: value)
            object.__setattr__(self, "text", "{0}")
            object.__setattr__(self, "vectors", SAME)
        if not self.text:
            object.__setattr__(self, "text", f"ti.{self.name}({', '.join(['{}'] * self.arity)})")
