"""How far pairs of a pair energy are computed: by expansions between cells of a tree, to an error.

    U = sum over near pairs of u(i, j) + sum over far pairs of cells of the Taylor polynomial of order p

Two cells are far if the sum of their radii is below the opening angle times the distance of their centres;
that of cells with few nodes is wider (`elements.trees.cell_pairs`).

Decisions 0305.
"""

from dataclasses import dataclass

from ...errors import EnergyError

SETTINGS = (
    (1e-2, 3, 0.6),
    (3e-3, 4, 0.6),
    (1e-3, 5, 0.57),
    (5e-4, 5, 0.48),
    (2e-4, 6, 0.47),
    (1e-4, 6, 0.42),
    (1e-5, 6, 0.26),
    (1e-6, 6, 0.19),
)
"""Down to which error which order and opening angle are used: those of Plummer spheres of point masses."""
MOST_ORDER = 6
WIDEST = 0.95


@dataclass(frozen=True)
class Far:
    """Far pairs to a relative rms error of the forces, or with a given opening angle.

    Far(error=1e-3)
    Far(opening_angle=0.5, order=4)

    order: of the expansions, 2 to 6. skin: how far a node may move before the tree is built again, in radii
    of its leaf; 0: at all new positions. Raises `EnergyError` for numbers out of range, and unless one of
    error and opening_angle is given.
    """

    error: float | None = None
    opening_angle: float | None = None
    order: int | None = None
    skin: float = 0.0

    def __post_init__(self) -> None:
        if (self.error is None) == (self.opening_angle is None):
            got = "both" if self.error is not None else "none"
            raise EnergyError(f"far: needs an error or an opening_angle, got {got}; give one of them")
        if self.error is not None and not SETTINGS[-1][0] <= self.error < 1.0:
            raise EnergyError(
                f"far.error: must be from {SETTINGS[-1][0]:g} to below 1, got {self.error:g}; correct it, or"
                " leave `far` out for direct sums"
            )
        if self.opening_angle is not None and not 0.0 < self.opening_angle <= WIDEST:
            raise EnergyError(
                f"far.opening_angle: must be above 0, at most {WIDEST:g}, got {self.opening_angle:g}; correct"
                " it"
            )
        if self.order is not None and not (isinstance(self.order, int) and 2 <= self.order <= MOST_ORDER):
            raise EnergyError(
                f"far.order: must be a whole number from 2 to {MOST_ORDER}, got {self.order}; correct it"
            )
        if not 0.0 <= self.skin <= 1.0:
            raise EnergyError(f"far.skin: must be from 0 to 1, got {self.skin:g}; correct it")

    @property
    def chosen(self) -> tuple[int, float]:
        """The order of the expansions, and the opening angle."""
        if self.error is None:
            assert self.opening_angle is not None
            return self.order or 4, self.opening_angle
        order, theta = next(((p, t) for error, p, t in SETTINGS if error <= self.error), SETTINGS[-1][1:])
        return self.order or order, theta
