"""Models of `[[energy]]`, `[[map]]`, `[[magnetic]]` and `[[constraint]]` blocks, derived from declarations.

kind = "spring"
name = "springs"                      what reports call the term, if not its kind
tuples = "bonds"                      a list that the state provides, or the rows themselves
sizes = { hidden = 32 }               over several sets of nodes: the sizes of those that no field is over
body = "cloth"                        or several
fields = { x = "position" }           for an argument whose field has another name
gives = "dose_behind"                 of a map: what the field is called, if not as declared; of several
                                      fields { dv = "dv_next", dx = "dx_next" }
adds = true                           of a map that adds to a field that maps above it give
grid = "canvas"                       of a map to cells, or over cells: the grid, if the state has several
outside = "cut"                       of a map to cells: windows that leave the grid are cut off; or "refuse"
edges = "periodic"                    over cells, and of windows of cells: what lies beyond an edge, along
                                      all axes or along each
repeat = 10                           of a map that reads its own output: the number of sweeps
begin = "p_guess"                     and the field that the first sweep reads; default: zeros
fbar = true                           of a density of F: changes of volume are means over cells
rest_shape = true                     and the nodes at rest are the field `rest` of the state
cutoff = "10 angstrom"                over pairs: the distance beyond which they do not interact
switch = "9 angstrom"                 and where the energy begins to be switched off; "none": a sharp cutoff
skin = "1 angstrom"                   and how much further pairs are listed
images = true                         and several images of a node count, where the box is small
exclude = "bonded 1-3"                pairs that do not interact: connected by at most two of the state's
                                      `bonds`, or a list of the state, or the rows themselves
scale = { pairs_14 = 0.5 }            lists of pairs that interact at any distance, with this factor
far = { error = 1e-3 }                over all pairs: those of distant nodes by expansions in a tree, to this
                                      relative error of the forces; or opening_angle = 0.6
project_start = true                  of a constraint: a start that violates it is moved onto it
copies = 16                           of a map: equal blocks of nodes that share the values of elements
k = "3 N/m"                           one value, { cloth = 3.0, pole = 5.0 }, or one for each element
w = { each = 0.0, deviation = 0.3 }   one for each element, normal about 0; or uniform, `within` 0.3 of it
"""

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal, Union, cast
from warnings import catch_warnings

from pydantic import ConfigDict, create_model
from pydantic import Field as Limits

from ...energies.constraint import Constraint
from ...energies.local_energy import LocalEnergy
from ...energies.local_map import LocalMap
from ...energies.magnetic_field import CHARGE, MagneticField
from ...energies.roles import Datum, Parameter, TimeStep
from ...energies.staged_energy import Staged
from ...energies.staged_map import StagedMap
from ...energies.values.drawn_values import DrawnValues
from ...energies.written.mean_dilatation import is_density
from ...scene.records import Quantity, Record
from ...scene.tagged_unions import ByForm, one_or_each, one_or_table

EACH = "each"
"""The key that tells values drawn for each element from values of bodies."""


class Declared(Record):
    """A record made of an energy's declaration; validated by few scenes, and so built when it is."""

    model_config = ConfigDict(defer_build=True)


class EnergyBlock(Declared):
    """The keys that every energy's block has."""

    name: str | None = None
    body: str | tuple[str, ...] | None = None
    fields: dict[str, str] = {}  # noqa: RUF012  (pydantic copies it)


class Density(Record):
    """A density of a deformation gradient may take changes of volume from means over cells.

    rest_shape: the nodes at rest are the field `rest` of the state, by which U then has derivatives.
    """

    fbar: bool = False
    rest_shape: bool = False


class TupleBlock(EnergyBlock):
    """An energy over a list of tuples may say which."""

    tuples: str | tuple[tuple[int, ...], ...] | None = None


def _none_or_distance(value: Any) -> str:
    return "none" if value == "none" else "distance"


Distance = Annotated[float | str, Quantity("m", "positive")]
Switch = Annotated[
    Literal["none"] | Annotated[float | str, Quantity("m", "nonnegative")],
    ByForm(_none_or_distance, ("none", "distance")),
]
Rows = tuple[tuple[int, ...], ...]


class FarBlock(Record):
    """How far pairs are computed: to a relative rms error of the forces, or with an opening angle."""

    error: float | None = None
    opening_angle: float | None = None
    order: int | None = None
    skin: float = 0.0


class PairBlock(EnergyBlock):
    """An energy over pairs, directed pairs or triples may be limited to those within a cutoff.

    far: that of all pairs may be computed by a tree.
    """

    cutoff: Distance | None = None
    switch: Switch | None = None
    skin: Annotated[float | str, Quantity("m", "nonnegative")] | None = None
    images: bool = False
    exclude: Annotated[str | Rows, ByForm(one_or_each, ("one", "each"))] | None = None
    scale: dict[str, float] = {}  # noqa: RUF012  (pydantic copies it)
    far: FarBlock | None = None


class SetBlock(TupleBlock):
    """An energy over several sets of nodes may say how many nodes a set has."""

    sizes: dict[str, Annotated[int, Limits(ge=1)]] = {}  # noqa: RUF012


class CellBlock(EnergyBlock):
    """An energy over the cells of a grid may say which, and what lies beyond its edges."""

    grid: str | None = None
    edges: str | tuple[str, ...] | None = None


class Windows(Record):
    """A map with windows of cells may name the values beyond the rim of the grid."""

    edges: str | tuple[str, ...] | None = None


class Outputs(Record):
    """A map may name its output, the grid of its cells, and that it adds to the output of others."""

    gives: Annotated[str | dict[str, str], ByForm(one_or_table, ("one", "table"))] | None = None
    adds: bool = False
    grid: str | None = None


class Giving(Outputs):
    """A map of elements may say that it stays on its grid, and how often it is repeated and copied."""

    outside: str | None = None
    repeat: Annotated[int, Limits(ge=1)] | None = None
    begin: str | None = None
    copies: Annotated[int, Limits(ge=1)] = 1


class Constrained(Record):
    """The block of a constraint: a start that violates it may be moved onto it."""

    project_start: bool = False


class StagedBlock(Declared):
    """A staged energy takes whole fields; `sizes` give numbers to the names in the shapes of its arrays."""

    name: str | None = None
    fields: dict[str, str] = {}  # noqa: RUF012  (pydantic copies it)
    sizes: dict[str, Annotated[int, Limits(ge=1)]] = {}  # noqa: RUF012


class StagedMapBlock(StagedBlock, Outputs):
    """The block of a staged map."""


Maker = Callable[[Any], type[Record]]
_MODELS: dict[tuple[int, Maker], tuple[Any, type[Record]]] = {}
"""Models by the identity of their energy, which is kept, so that no other energy takes it."""
MOST_MODELS = 1024


def kept(make: Maker) -> Maker:
    """Make the model of an energy once: a registry of all plugins needs a hundred at each build."""

    @wraps(make)
    def made(energy: Any) -> type[Record]:
        key = id(energy), make
        if key not in _MODELS:
            if len(_MODELS) >= MOST_MODELS:
                _MODELS.clear()
            _MODELS[key] = energy, make(energy)
        return _MODELS[key][1]

    return made


@kept
def energy_model(energy: LocalEnergy | Staged) -> type[Record]:
    """The model of the energy's block."""
    grids = energy.spacings if isinstance(energy, LocalEnergy) else ()
    own = {a for a, role in energy.roles.items() if isinstance(role, TimeStep) or a in grids}
    roles = {a: r for a, r in energy.roles.items() if isinstance(r, (Parameter, Datum)) and a not in own}
    each = isinstance(energy, Staged) or energy.element_kind.own_values
    bases: Any = _block(energy)
    if isinstance(energy, LocalMap):
        windows = energy.cell is not None and not energy.element_kind.cells
        bases = (bases, *[Windows] * windows, Giving)
    if is_density(energy):
        bases = (bases, Density)
    if isinstance(energy, Constraint):
        bases = (Constrained, bases)
    kind = energy.element_kind if isinstance(energy, LocalEnergy) else None
    combined = kind is not None and kind.combined and kind.several
    drawn = kind is not None and each and not isinstance(energy, MagneticField)
    bodies = kind is None or not kind.several
    definitions: dict[str, Any] = {
        a: definition(role, each, combined, drawn, bodies) for a, role in roles.items()
    }
    with catch_warnings(action="ignore"):  # a key may be called like one of pydantic's methods
        model = create_model(f"{energy.name}_block", __base__=bases, **definitions)
    model.__doc__ = energy.claim
    return cast("type[Record]", model)


def _block(energy: LocalEnergy | Staged) -> type[Record]:
    if isinstance(energy, Staged):
        return StagedMapBlock if isinstance(energy, StagedMap) else StagedBlock
    if energy.element_kind.limited:
        return PairBlock
    if energy.element_kind.several or energy.element_kind.combined:
        return SetBlock
    if energy.element_kind.cells:
        return CellBlock
    return TupleBlock if energy.listed else EnergyBlock


def definition(
    role: Parameter | Datum, each: bool, combined: bool = False, drawn: bool = False, bodies: bool = True
) -> tuple[Any, Any]:
    """Type and default of one key: one value; where elements can have their own (`each`), several.

    `combined`: elements may be all combinations of two sets, whose parameters may be matrices. `drawn`: the
    values of elements may be drawn at random. `bodies`: the nodes of an element may be of a body.
    """
    one: Any = Annotated[float | str, Quantity(role.unit, _sign(role))]
    for _ in role.shape:
        one = tuple[one, ...]
    forms = {"one": one}
    if isinstance(role, Datum) or each:
        forms["each"] = tuple[one, ...]
    if isinstance(role, Parameter) and combined:
        forms["matrix"] = tuple[tuple[one, ...], ...]
    if isinstance(role, Parameter) and each and bodies:
        forms["by body"] = dict[str, one]
    if isinstance(role, Parameter) and drawn:
        forms["drawn"] = _drawn(role)
    several = _one_of(forms, len(role.shape))
    needed = isinstance(role, Parameter) and role.default is None
    return (several, ...) if needed else (several | None, None)


def _drawn(role: Parameter) -> type[Record]:
    """The table of values that are drawn for each element; components have the same distribution."""
    distance = Annotated[float | str, Quantity(role.unit, "nonnegative")] | None
    definitions: dict[str, Any] = {EACH: (Annotated[float | str, Quantity(role.unit)], ...)}
    definitions |= dict.fromkeys(("deviation", "within"), (distance, None))
    model = create_model("DrawnValues", __base__=Declared, **definitions)
    model.__doc__ = DrawnValues.__doc__
    return cast("type[Record]", model)


def _one_of(forms: dict[str, Any], depth: int) -> Any:
    """The union of some forms of a value, whose own lists are nested so deep."""

    def form(value: Any) -> str:
        first = value
        for _ in range(depth):
            first = first[0] if isinstance(first, (list, tuple)) and first else first
        found = one_or_each(first)
        if isinstance(value, dict):
            found = "drawn" if "drawn" in forms and (EACH in value or "by body" not in forms) else "by body"
        if "matrix" in forms and found == "each" and first and one_or_each(first[0]) == "each":
            found = "matrix"
        return found if found in forms else "one"

    if len(forms) == 1:
        return forms["one"]
    return Annotated[Union[tuple(forms.values())], ByForm(form, tuple(forms))]  # noqa: UP007


def _sign(role: Parameter | Datum) -> Any:
    if not isinstance(role, Parameter) or role.bounds[0] != 0.0:
        return "any"
    return "positive" if role.open else "nonnegative"


# Magnetic fields

Tesla = Annotated[float | str, Quantity("T")]
Vector = Annotated[tuple[Tesla, ...], Limits(min_length=3, max_length=3)]


def _form(value: Any) -> str:
    return "vector" if isinstance(value, (list, tuple)) else "normal"


NormalOrVector = Annotated[Tesla | Vector, ByForm(_form, ("normal", "vector"))]
"""B: its component along the normal of a plane, or a vector."""


@kept
def magnetic_model(field: MagneticField) -> type[Record]:
    """The model of the field's block; the charge may be left out where the state has it."""
    base = energy_model(field)
    charge, _ = definition(Parameter("C"), True)
    more: dict[str, Any] = {CHARGE: (charge | None, None)}
    if field.uniform:
        more |= {"B": (NormalOrVector, ...)}
    model: Any = create_model(base.__name__, __base__=base, **more)
    model.__doc__ = field.claim
    return cast("type[Record]", model)
