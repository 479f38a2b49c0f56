"""Models of `[[energy]]`, `[[map]]`, `[[magnetic]]` and `[[constraint]]` blocks, derived from declarations.

kind = "spring"
name = "springs"                      what reports call the term, if not its kind
tuples = "bonds"                      a list that the state provides, or the rows themselves
images = [[1, 0, 0], [0, 0, 0]]       and in a periodic box copies of their nodes, of pairs of the second;
                                      or how they follow, "chain", "first" or the parents of slots
sizes = { hidden = 32 }               over several sets of nodes: the sizes of those that no field is over;
                                      or { muscle = "springs" }, as many as a list or a field of the state has
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
plane_stress = true                   of a solid in the plane: a thin plate, free across
rest_shape = true                     and the nodes at rest are the field `rest` of the state
thermal_expansion = "12e-6 1/K"       and the state's temperatures T strain it
reference_temperature = "20 degC"     from this one on
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

Decisions 0108, 0223, 0292.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
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
from ...energies.written.rest_shape import VOLUME
from ...energies.written.thermal_expansion import THERMAL
from ...scene.json_schema import DRAWN
from ...scene.records import Quantity, Record, unit_in_names
from ...scene.tagged_unions import ByForm, one_or_each, one_or_table

EACH = "each"
"""The key that tells values drawn for each element from values of bodies."""
DEVIATION = "Standard deviation of normal values (default: as `within` says)."
WITHIN = "Largest distance of uniform values from their mean (default: as `deviation` says)."


class Declared(Record):
    """A record made of an energy's declaration; validated by few scenes, and so built when it is."""

    model_config = ConfigDict(defer_build=True)


class EnergyBlock(Declared):
    """The keys that every energy's block has."""

    name: str | None = None
    """Name of the term in reports and for other keys (default: the kind)."""
    body: str | tuple[str, ...] | None = None
    """Bodies of the state to whose nodes the term is limited (default: all nodes)."""
    fields: dict[str, str] = {}  # noqa: RUF012  (pydantic copies it)
    """For an argument whose field has another name, the field: { x = "position" }."""


class Density(Record):
    """A density of a deformation gradient may take changes of volume from means over cells.

    rest_shape: the nodes at rest are the field `rest` of the state, by which U then has derivatives.
    """

    fbar: bool = False
    """Take changes of volume from means over cells, against locking."""
    rest_shape: bool = False
    """Read the nodes at rest from the field `rest` of the state, so that U has derivatives by it."""


class PlaneStress(Record):
    """A solid may be a plate in plane stress."""

    plane_stress: bool = False
    """A thin plate in plane stress, free across; false: in the plane, plane strain."""


Rows = tuple[tuple[int, ...], ...]


def _form_of_images(value: Any) -> str:
    """How images are given, by the depth of their lists."""
    depth = 0
    while isinstance(value, (list, tuple)) and value:
        value, depth = value[0], depth + 1
    return ("name", "parents", "of pairs", "of nodes")[min(depth, 3)]


IMAGE_FORMS = ByForm(_form_of_images, ("name", "parents", "of pairs", "of nodes"))


class TupleBlock(EnergyBlock):
    """An energy over a list of tuples may say which."""

    tuples: str | tuple[tuple[int, ...], ...] | None = None
    """Name of a list of the state, or rows of node numbers (default: the only list that fits)."""
    images: (
        Annotated[Literal["chain", "first"] | tuple[int, ...] | Rows | tuple[Rows, ...], IMAGE_FORMS] | None
    ) = None
    """In a periodic box: copies of the nodes, whole numbers; or how they follow (default: the state's)."""


def _none_or_distance(value: Any) -> str:
    return "none" if value == "none" else "distance"


Distance = Annotated[float | str, Quantity("m", "positive")]
Switch = Annotated[
    Literal["none"] | Annotated[float | str, Quantity("m", "nonnegative")],
    ByForm(_none_or_distance, ("none", "distance")),
]


class FarBlock(Record):
    """How far pairs are computed: to a relative rms error of the forces, or with an opening angle."""

    error: float | None = None
    """Relative rms error of the forces, 1e-6 or more (default: as `opening_angle` says)."""
    opening_angle: float | None = None
    """How large two cells may be for their distance, above 0 (default: as `error` says)."""
    order: int | None = None
    """Order of the expansions, 2 to 6 (default: 4, or as `error` says)."""
    skin: float = 0.0
    """How far a node moves before the tree is built again, in radii of its leaf; 0: always."""


class PairBlock(EnergyBlock):
    """An energy over pairs, directed pairs or triples may be limited to those within a cutoff.

    far: that of all pairs may be computed by a tree.
    """

    cutoff: Distance | None = None
    """Distance from which on a pair does not interact (default: none)."""
    switch: Switch | None = None
    """Where the energy begins to be switched off; "none": a sharp cutoff (default: 0.9 of the cutoff)."""
    skin: Annotated[float | str, Quantity("m", "nonnegative")] | None = None
    """How much further than the cutoff pairs are listed (default: 0.1 of the cutoff)."""
    images: bool = False
    """Let several images of a node interact, where the cutoff exceeds half the box."""
    exclude: Annotated[str | Rows, ByForm(one_or_each, ("one", "each"))] | None = None
    """Pairs that do not interact: "bonded 1-3", a list of the state, or rows (default: none)."""
    scale: dict[str, float] = {}  # noqa: RUF012  (pydantic copies it)
    """By list of pairs: the factor with which these pairs interact at any distance."""
    far: FarBlock | None = None
    """Compute the pairs of distant nodes by expansions in a tree (default: no tree)."""


def _number_or_name(value: Any) -> str:
    return "name" if isinstance(value, str) else "number"


Size = Annotated[Annotated[int, Limits(ge=1)] | str, ByForm(_number_or_name, ("number", "name"))]


class SetBlock(TupleBlock):
    """An energy over several sets of nodes may say how many nodes a set has."""

    sizes: dict[str, Size] = {}  # noqa: RUF012
    """Nodes of a set without a field, { hidden = 32 }; or what has as many, by its name (default: as the
    state counts it)."""


class CellBlock(EnergyBlock):
    """An energy over the cells of a grid may say which, and what lies beyond its edges."""

    grid: str | None = None
    """The grid whose cells the term is over (default: the only one of the state)."""
    edges: str | tuple[str, ...] | None = None
    """Beyond an edge: "clamped", "zero", "periodic", for all or each (default: as declared, or clamped)."""


class WindowKeys(Record):
    """A map with windows of cells may name the values beyond the rim of the grid."""

    edges: str | tuple[str, ...] | None = None
    """Beyond the rim: "clamped", "zero", "periodic", of all axes or each (default: as declared, or zero)."""


class OutputKeys(Record):
    """A map may name its output, the grid of its cells, and that it adds to the output of others."""

    gives: Annotated[str | dict[str, str], ByForm(one_or_table, ("one", "table"))] | None = None
    """Name of the field of the output; of several outputs, by name (default: as declared)."""
    adds: bool = False
    """Add to a field that maps above give."""
    grid: str | None = None
    """The grid of the cells that the map gives to (default: the only one of the state)."""


class Giving(OutputKeys):
    """A map of elements may say that it stays on its grid, and how often it is repeated and copied."""

    outside: str | None = None
    """Windows that leave the grid: "cut" or "refuse" them (default: cut, or as the stepper asks)."""
    repeat: Annotated[int, Limits(ge=1)] | None = None
    """Number of sweeps of a map that reads its own output (default: 1)."""
    begin: str | None = None
    """Field that the first of several sweeps reads (default: zeros)."""
    copies: Annotated[int, Limits(ge=1)] = 1
    """Number of equal blocks of nodes that share the values of elements."""


class ConstraintKeys(Record):
    """The block of a constraint: a start that violates it may be moved onto it."""

    project_start: bool = False
    """Move a start that violates the constraint onto it; false: refuse it."""


class StagedBlock(Declared):
    """A staged energy takes whole fields; `sizes` give numbers to the names in the shapes of its arrays."""

    name: str | None = None
    """Name of the term in reports and for other keys (default: the kind)."""
    fields: dict[str, str] = {}  # noqa: RUF012  (pydantic copies it)
    """For an argument whose field has another name, the field: { x = "position" }."""
    sizes: dict[str, Size] = {}  # noqa: RUF012
    """Numbers for the names in the shapes of its arrays, { cells = 64 }; or what has as many, by its name."""


class StagedMapBlock(StagedBlock, OutputKeys):
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
        bases = (bases, *[WindowKeys] * windows, Giving)
    if is_density(energy):
        bases = (bases, Density, *[PlaneStress] * (energy.plane_stress is not None))
    if isinstance(energy, Constraint):
        bases = (ConstraintKeys, bases)
    kind = energy.element_kind if isinstance(energy, LocalEnergy) else None
    combined = kind is not None and kind.can_be_combined and kind.several
    drawn = kind is not None and each and not isinstance(energy, MagneticField)
    bodies = kind is None or not kind.several
    definitions: dict[str, Any] = {
        a: definition(role, each, combined, drawn, bodies) for a, role in roles.items()
    }
    if is_density(energy) and VOLUME in energy.roles:
        more = {a: definition(role, each, drawn=drawn) for a, role in THERMAL.items() if a not in roles}
        definitions |= {
            a: (one | None, Limits(None, description=_or_none(key))) for a, (one, key) in more.items()
        }
    with catch_warnings(action="ignore"):  # a key may be called like one of pydantic's methods
        model = create_model(f"{energy.name}_block", __base__=bases, **definitions)
    model.__doc__ = energy.claim
    return cast("type[Record]", model)


def _block(energy: LocalEnergy | Staged) -> type[Record]:
    if isinstance(energy, Staged):
        return StagedMapBlock if isinstance(energy, StagedMap) else StagedBlock
    if energy.element_kind.can_be_limited:
        return PairBlock
    if energy.element_kind.several or energy.element_kind.can_be_combined:
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
    absolute = isinstance(role, Parameter) and role.absolute
    one: Any = Annotated[float | str, Quantity(role.unit, _sign(role), absolute=absolute)]
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
        forms["drawn"] = _drawn(role.unit)
    several = _one_of(forms, len(role.shape))
    if isinstance(role, Parameter) and role.default is None:
        if role.listed:
            return several | None, Limits(None, description=_of_state(role.about))
        return several, Limits(description=role.about or None)
    if isinstance(role, Parameter):
        usual: Any = {"default": role.default}
        return several | None, Limits(None, description=role.about or None, json_schema_extra=usual)
    about = _derived(role.about) if role.derived else _of_state(role.about)
    return several | None, Limits(None, description=about)


def _or_none(key: Any) -> str:
    """The description of a parameter that a block may leave out."""
    return f"{key.description.rstrip('.')} (default: none)."


def _derived(about: str) -> str:
    """The description of a datum that follows from the elements and the supports."""
    return about if "(default:" in about else f"{about.rstrip('.')} (default: as the supports ask)."


def _of_state(about: str) -> str | None:
    """The description of a datum, which the state provides where the block does not."""
    return f"{about.rstrip('.')} (default: the state's)." if about else None


@lru_cache(maxsize=1024)
def _drawn(unit: str) -> type[Record]:
    """The table of values that are drawn for each element; components have the same distribution."""
    distance = Annotated[float | str, Quantity(unit, "nonnegative")] | None
    definitions: dict[str, Any] = {
        EACH: (Annotated[float | str, Quantity(unit)], Limits(description="Mean of the values.")),
        "deviation": (distance, Limits(None, description=DEVIATION)),
        "within": (distance, Limits(None, description=WITHIN)),
    }
    model = create_model(f"{unit_in_names(unit)}_{DRAWN}", __base__=Declared, **definitions)
    model.__doc__ = (DrawnValues.__doc__ or "").partition("\n")[0]
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
    about = field.roles[CHARGE].about
    more: dict[str, Any] = {CHARGE: (charge | None, Limits(None, description=_of_state(about)))}
    if field.uniform:
        more |= {"B": (NormalOrVector, Limits(description=field.roles["B"].about))}
    model: Any = create_model(base.__name__, __base__=base, **more)
    model.__doc__ = field.claim
    return cast("type[Record]", model)
