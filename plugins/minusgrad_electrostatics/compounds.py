"""Blocks of scenes for compounds: particle-mesh Ewald, and the long-range correction of dispersion.

Decisions 0246.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from minusgrad import bind
from minusgrad.plugin import (
    ByForm,
    Compound,
    CompoundContext,
    Cutoff,
    Quantity,
    Record,
    State,
    UserError,
    one_or_each,
    quantities,
)

from .dispersion import coefficient, dispersion_correction
from .pme import mesh_for, particle_mesh_ewald, splitting


def _none_or_distance(value: Any) -> str:
    return "none" if value == "none" else "distance"


Length = Annotated[float | str, Quantity("m", "positive")]
Rows = tuple[tuple[int, ...], ...]
Switch = Annotated[Literal["none"] | Length, ByForm(_none_or_distance, ("none", "distance"))]
EXCLUSIONS = "exclusions"
"""The list of the state with pairs that do not interact, unless the block names another."""


class ParticleMeshEwald(Record):
    """Coulomb energy of the charges in a periodic box by particle-mesh Ewald, with splines of order 5.

    `cutoff`: of the direct sum, which is cut sharply. `error`: the relative error of forces, which gives
    `alpha` and `mesh` (cells along each edge of the box) where they are left out. `exclude`: the pairs
    without an interaction, a list of the state, "bonded 1-3" or rows; default: the list "exclusions", if the
    state has it. `scale`: lists of pairs that interact with a factor. `background`: allow a net charge, which
    a uniform background neutralises.
    """

    name: str = "pme"
    """Name of the term in reports and for other keys."""
    cutoff: Length
    """Cutoff of the direct sum, which is sharp."""
    skin: Length | None = None
    """How much further than the cutoff pairs are listed (default: 0.1 of the cutoff)."""
    error: Annotated[float, Field(gt=0.0, lt=0.1)] = 5e-4
    """Relative error of forces, below 0.1, which gives `alpha` and `mesh`."""
    alpha: Annotated[float | str, Quantity("m^-1", "positive")] | None = None
    """Splitting parameter of the direct and the reciprocal sum (default: as `error` says)."""
    mesh: tuple[int, int, int] | None = None
    """Number of cells along each edge of the box (default: as `error` says)."""
    exclude: Annotated[str | Rows, ByForm(one_or_each, ("one", "each"))] | None = None
    """Pairs without an interaction (default: the list "exclusions", if the state has it)."""
    scale: dict[str, float] = {}  # noqa: RUF012  (pydantic copies it)
    """By list of pairs: the factor with which these pairs interact."""
    background: bool = False
    """Allow a net charge, which a uniform background neutralises."""
    coulomb_constant: Annotated[float | str, Quantity("N m^2 C^-2", "positive")] | None = None
    """Coulomb's constant 1 / (4 pi eps0) (default: that of the SI, in the run's units)."""
    fields: dict[str, str] = {}  # noqa: RUF012  (pydantic copies it)
    """For an argument whose field has another name, the field: { charge = "q" }."""

    def make(self, context: CompoundContext) -> Compound:
        given, box = quantities(self, context.units), context.fields.box
        exclude = _default_exclusions(context.state) if self.exclude is None else self.exclude
        alpha = given["alpha"] or splitting(self.error, given["cutoff"])
        mesh = self.mesh or (mesh_for(self.error, alpha, box.values[0]) if box else ())
        return particle_mesh_ewald(
            context.fields,
            cutoff=Cutoff(given["cutoff"], skin=given["skin"], sharp=True),
            alpha=alpha,
            mesh=mesh,
            exclude=context.excluded(exclude),
            scaled=context.scaled(self.scale),
            background=self.background,
            coulomb_constant=given["coulomb_constant"],
            renamed=self.fields,
            units=context.units,
            name=self.name,
        )


class DispersionCorrection(Record):
    """Energy of the Lennard-Jones interaction beyond the cutoff, of atoms with fields sigma and epsilon.

    `cutoff` and `switch` are those of the pair energy: the switch begins at 0.9 of the cutoff, unless it is
    given, or "none".
    """

    name: str = "dispersion_correction"
    """Name of the term in reports and for other keys."""
    cutoff: Length
    """Cutoff of the pair energy."""
    switch: Switch | None = None
    """Where the pair energy begins to be switched off, or "none" (default: 0.9 of the cutoff)."""
    fields: dict[str, str] = {}  # noqa: RUF012  (pydantic copies it)
    """For an argument whose field has another name, the field: { sigma = "s" }."""

    def make(self, context: CompoundContext) -> Compound:
        given, fields = quantities(self, context.units), context.fields
        named = [self.fields.get(a, a) for a in ("epsilon", "sigma")]
        if fields.box is None:
            raise UserError(f"{self.name}: needs a periodic box, got none; give [box]")
        if computed := [name for name in named if name in fields.derived]:
            raise UserError(
                f"{self.name}: needs epsilon and sigma of the state, got '{computed[0]}', which a map"
                " computes; give fields of the state"
            )
        sharp = self.switch == "none"
        cutoff = Cutoff(given["cutoff"], None if sharp else given["switch"], sharp=sharp)
        epsilon, sigma = (fields[name].values.astype(float) for name in named)
        parameters = {"coefficient": coefficient(epsilon, sigma, cutoff)}
        return Compound(
            [bind(dispersion_correction, fields, name=self.name, sizes={"box": 1}, parameters=parameters)]
        )


def _default_exclusions(state: State) -> str | None:
    """The list of exclusions, if the state has it."""
    return EXCLUSIONS if EXCLUSIONS in state.tuples and state.tuples[EXCLUSIONS].shape[1] == 2 else None


COMPOUNDS = {"pme": ParticleMeshEwald, "dispersion": DispersionCorrection}
