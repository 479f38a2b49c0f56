"""Scene files: TOML in, frozen records out, each mistake with its line and column.

    scene = read("galaxy.toml", ["stepper.dt=0.5"])       or, to validate the blocks of plugins, too:

    document = load("galaxy.toml")                         syntax; raises at once
    scene, problems = document.skeleton()                  sections of the core
    for block in document.blocks():                        sections of plugins: [state], [[energy]], ...
        model, more = document.validate(block, models[block.section][block.kind])

A block is a table with a `kind`; its other keys are validated by the plugin. Nothing here needs Taichi.

Decisions 0221, 0222.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from ..errors import Problem, SceneError, UnitError, UserError, unknown
from . import addresses, parsing, toml_text
from .addresses import NamedTables
from .ensemble_table import EnsembleTable, RangeTable, VaryTable
from .fit_table import FitTable, SoughtTable
from .records import AnyBlock, Quantity, Record, quantities
from .state_tables.box_table import BoxTable
from .state_tables.initial_table import InitialTable
from .tagged_unions import ByForm, one_or_table
from .toml_positions import KeyPath, index
from .units import SYSTEMS, UnitSystem
from .validation_messages import keys_at, mistakes

__all__ = ["Block", "Document", "Quantity", "Record", "Scene", "load", "quantities", "read", "unknown_kind"]

MANY = ("map", "energy", "compound", "lagrangian", "dissipation", "magnetic", "constraint", "observe")
"""Sections that are lists of blocks."""
SECTIONS = ("state", *MANY[:-1], "stepper", MANY[-1])
LOSS = "loss"
"""The section name of `[[fit.loss]]` blocks."""
PROGRAM = "evolution"
"""The stepper that needs no energy."""

_SINGLE = re.compile(rf"^[ \t]*\[[ \t]*({'|'.join((*MANY, 'hold', 'slope'))})[ \t]*\]", re.MULTILINE)
"""The head of a table that ought to be one of several."""

MISSING = "required, but missing"
"""The message about a key that is not there."""
MOST_INPUTS = 2
"""So many numbers a page gives to a run at most."""
Count = Annotated[int, Field(ge=0)]
Engine = Literal["taichi", "quadrants", "auto"]
M = TypeVar("M", bound=BaseModel)


class Units(Record):
    """`[units]`: a named system, or units of length, mass and time (default: SI)."""

    system: Literal["si", "dimensionless", "molecular"] | None = None
    """A named system, in place of length, mass and time (default: SI units)."""
    length: str = "m"
    """The unit of lengths in which the run computes, such as "AU"."""
    mass: str = "kg"
    """The unit of masses in which the run computes, such as "Msun"."""
    time: str = "s"
    """The unit of times in which the run computes, such as "day"."""

    @field_validator("length", "mass", "time")
    @classmethod
    def _is_a_unit(cls, value: str, info: ValidationInfo) -> str:
        try:
            UnitSystem.of(**{str(info.field_name): value})
        except UnitError as error:
            raise ValueError(str(error)) from None
        return value

    @model_validator(mode="after")
    def _one_or_the_other(self) -> "Units":
        if self.system and self.model_fields_set & {"length", "mass", "time"}:
            raise ValueError("either a system or a length, mass and time, not both")
        return self

    def build(self) -> UnitSystem:
        """The system of units that the run computes in."""
        return SYSTEMS[self.system] if self.system else UnitSystem.of(self.length, self.mass, self.time)


class Runtime(Record):
    """`[runtime]`: architecture, precision and threads; threads = 0 means all cores.

    engine, arch: those of the process by default (`engine.runtime`); "auto" is Quadrants if it is installed.
    """

    engine: Engine | None = None
    """The compiler; "auto" is Quadrants if it is installed (default: that of the process)."""
    arch: Literal["cpu", "cuda", "vulkan", "metal"] | None = None
    """The architecture of kernels, without a fallback (default: that of MINUSGRAD_ARCH, else "cpu")."""
    device: Count | None = None
    """Number of the device among those of `arch`; `minusgrad devices` lists them (default: the first one)."""
    precision: Literal["f64", "f32"] = "f64"
    """Floating-point precision of fields and kernels."""
    threads: Count = 0
    """Number of threads of the CPU; 0: one for each core; at most 4 for each core, or 256. Results do not
    depend on it."""
    seed: Count = 0
    """Seed of random states, random forces and drawn values."""
    fast_math: bool = True
    """Let the compiler reorder floating-point arithmetic; false: every operation as written."""


class RunTable(Record):
    """`[run]`: number of steps, or the time that they take.

    `allow_dead` permits fields that U depends on with a gradient of zero.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"required": ["time"]},
            "then": {"not": {"required": ["steps"]}},
            "else": {"required": ["steps"]},
        }
    )

    steps: Count = 0
    """Number of time steps, or the most iterations of a minimiser (default: as `time` says)."""
    time: Annotated[float | str, Quantity("s", "positive")] | None = None
    """How long the run is, such as "100 yr", a whole number of dt (default: as `steps` says)."""
    allow_dead: bool = False
    """Run even if U depends on a field whose gradient is zero everywhere along a step."""

    @model_validator(mode="after")
    def _one_of_two(self) -> "RunTable":
        if len(self.model_fields_set & {"steps", "time"}) != 1:
            raise ValueError('needs either steps, or a time such as "10 s", in place of it')
        return self


class Checkpoint(Record):
    """`[checkpoint]`: how often to save, and how many to keep.

    `every` is a number of steps (0: only at the end). A run is also saved when `wall_time` has passed since
    the last save, such as "5 min" (0: never); that checkpoint is deleted at the next scheduled save. Besides
    the newest `keep`, those at multiples of `keep_every` are kept (0: none).
    """

    every: Count = 0
    """Steps between scheduled checkpoints; 0: only at the end."""
    wall_time: float | str = "5 min"
    """Real time between saves by the clock, such as "5 min"; 0: none."""
    keep: int = Field(3, ge=1, le=50)
    """How many of the newest checkpoints stay, 1 to 50."""
    keep_every: Count = 0
    """Checkpoints at multiples of this number of steps stay, too; 0: none."""

    @field_validator("wall_time")
    @classmethod
    def _a_time(cls, value: float | str) -> float | str:
        """Seconds of a clock on the wall, which no system of units of a scene has a say in."""
        needs = f"needs a time like '5 min', or 0 for none, not {value!r}"
        if isinstance(value, str):
            try:
                seconds = UnitSystem.si().convert(value, "s")
            except UnitError as error:
                raise ValueError(str(error)) from None
            if not 0 <= seconds < math.inf:
                raise ValueError(needs)
        elif value != 0:
            raise ValueError(needs)
        return value

    @property
    def seconds(self) -> float:
        """`wall_time` in seconds."""
        return UnitSystem.si().convert(self.wall_time, "s")


class ViewInputTable(Record):
    """`[view.inputs]`: a number that a page gives to a run that goes on (`building.view_inputs`).

    parameter: its address, `goal_offset.goal.0`. range: its ends, in the unit of the parameter.
    """

    parameter: str
    """Address of a parameter of a term, or of one of its numbers, such as "goal_offset.goal.0"."""
    range: Annotated[tuple[float | str, ...], Field(min_length=2, max_length=2)]
    """Lowest and highest value, in the unit of the parameter."""


class ViewTable(Record):
    """`[view]`: how a run is watched, and the numbers that its page gives to it."""

    pace: Annotated[float | str, Quantity("s", "positive")] | None = None
    """Time of the run that passes in a second on its page, at most (default: as fast as it is computed)."""
    inputs: dict[str, ViewInputTable] = {}  # noqa: RUF012
    """Numbers that the page of a run changes while it goes on, two at most, by the name of their slider."""

    @field_validator("inputs")
    @classmethod
    def _two_at_most(cls, value: dict[str, ViewInputTable]) -> dict[str, ViewInputTable]:
        if len(value) > MOST_INPUTS:
            raise ValueError(
                f"takes {MOST_INPUTS} numbers at most, got {len(value)}: {', '.join(value)}; leave one out"
            )
        return value


class RotationTable(Record):
    """`[[hold]] rotation`: about an axis through `centre`, by an `angle` within the hold's duration, or at a
    `rate`.

    `axis` has three numbers in space; in the plane it is left out.
    """

    centre: tuple[float | str, ...]
    """A point of the axis, one coordinate for each axis of space, in the unit of the field."""
    axis: tuple[float, ...] = ()
    """Direction of the axis, three numbers (default: the normal of the plane, in the plane alone)."""
    angle: Annotated[float | str, Quantity("rad")] = 0.0
    """Angle reached within the hold's duration; at once if there is none."""
    rate: Annotated[float | str, Quantity("rad s^-1")] = 0.0
    """Angular velocity, which adds rate times t to the angle."""


class HoldTable(Record):
    """`[[hold]]`: components of a field that are clamped, or have a prescribed motion (`fields.Hold`).

    `field` may be left out if only one field moves; `axes` are letters of "xyz" (default: all components).
    `displacement` and `velocity` have a number or quantity for each axis; `duration` is a time. A `rotation`
    turns all components.
    """

    body: str | tuple[str, ...]
    """The nodes that are held: a body of the state, or several."""
    name: str | None = None
    """Name in reports and in fits (default: the body's)."""
    field: str | None = None
    """The field that is held (default: the only one that moves)."""
    axes: Annotated[str, Field(pattern="^x?y?z?$", min_length=1)] | None = None
    """Letters of "xyz", the components that are held (default: all)."""
    displacement: tuple[float | str, ...] = ()
    """Displacement along each held axis, in the unit of the field (default: none)."""
    duration: Annotated[float | str, Quantity("s", "positive")] | None = None
    """Time over which displacement and angle are reached smoothly (default: from the start)."""
    velocity: tuple[float | str, ...] = ()
    """Velocity along each held axis, in the unit of the field per time (default: none)."""
    rotation: RotationTable | None = None
    """Rotation of the nodes about an axis (default: none)."""


class SlopeTable(Record):
    """`[[slope]]`: fields that are derivatives of energies of the scene, or of maps (`potential.slope`).

    `of`: the names of `[[energy]]` blocks, which are then no part of U. `through`: the field with which the
    output of each map is paired, by the map's name; of a map with several outputs, fields by the declared
    names of those that are paired. `by`: the name of the derivative by each field. `factor`:
    what all, or each, are multiplied by.
    """

    of: str | tuple[str, ...] = ()
    """Names of the energies that are differentiated, which are then no part of U."""
    through: dict[str, Annotated[str | dict[str, str], ByForm(one_or_table, ("one", "table"))]] = {}  # noqa: RUF012
    """For each map, by its name, the field with which its output is paired."""
    by: dict[str, str] = Field(min_length=1)
    """For each field by which is differentiated, the name of the derivative."""
    factor: float | str | dict[str, float | str] = 1.0
    """Factor of all derivatives, or of each by its field; a quantity has a unit of its own."""
    name: str | None = None
    """Name in reports (default: made of the names of the derivatives)."""

    @property
    def energies(self) -> tuple[str, ...]:
        """The names of the energies."""
        return (self.of,) if isinstance(self.of, str) else self.of


class Skeleton(Record):
    """All sections of a scene file that the core defines."""

    title: str = ""
    """Title of reports and pictures."""
    plugins: tuple[str, ...] | None = None
    """Names of the plugins that the scene needs (default: all installed)."""
    units: Units = Units()
    """The units that the run computes in."""
    runtime: Runtime = Runtime()
    """Engine, architecture, precision, threads and seed."""
    state: AnyBlock
    """The initial state: fields, bodies and lists of tuples; `kind` names it."""
    initial: InitialTable | None = None
    """Values of fields from files or from another run, in place of the state's (default: none)."""
    box: BoxTable | None = None
    """A periodic box (default: that of the state, or none)."""
    map: tuple[AnyBlock, ...] = ()
    """Maps: sums over elements that are fields of their own, which energies read."""
    slope: tuple[SlopeTable, ...] = ()
    """Fields that are derivatives of energies or of maps."""
    energy: tuple[AnyBlock, ...] = Field(min_length=1)
    """Energies: U is their sum. They may be left out where another section gives forces."""
    compound: tuple[AnyBlock, ...] = ()
    """Energies and maps that belong together and share parameters."""
    lagrangian: tuple[AnyBlock, ...] = ()
    """Lagrangians L(q, v, t), for the stepper "variational"."""
    dissipation: tuple[AnyBlock, ...] = ()
    """Dissipations R(v, x, t), whose friction force is -dR/dv."""
    magnetic: tuple[AnyBlock, ...] = ()
    """Magnetic fields, whose force on charges is q v x B."""
    constraint: tuple[AnyBlock, ...] = ()
    """Constraints g(x) = 0 that the motion keeps."""
    hold: tuple[HoldTable, ...] = ()
    """Supports: components of fields that are clamped, or moved as prescribed."""
    stepper: AnyBlock
    """The integrator or minimiser; `kind` names it."""
    run: RunTable
    """How long the run is."""
    observe: tuple[AnyBlock, ...] = ()
    """Observers: what is recorded, and how often."""
    checkpoint: Checkpoint = Checkpoint()
    """How often the run is saved."""
    fit: FitTable | None = None
    """A parameter estimation, which `minusgrad fit` does (default: none)."""
    ensemble: EnsembleTable | None = None
    """Many members of the scene, which differ in some values (default: one run)."""
    view: ViewTable = ViewTable()
    """How a run is watched, and the numbers that its page gives to it."""


SKELETON_KEYS = tuple(Skeleton.model_fields)
"""The keys of a scene, with which addresses may begin."""
_WITHOUT_KEYS = ("title", "plugins", "hold", "slope", *SECTIONS)
SECTION_KEYS = {
    key: frozenset[str]() if key in _WITHOUT_KEYS else frozenset(keys_at(Skeleton, (key,)))
    for key in SKELETON_KEYS
} | {"stepper": frozenset({"dt"})}
"""The keys below each of them that the core knows, and `dt`, which most steppers have."""
NAMED_TABLES: dict[tuple[str, ...], NamedTables] = {
    ("fit", "parameters"): NamedTables([*SoughtTable.model_fields], {}),
    ("ensemble", "vary"): NamedTables([*VaryTable.model_fields], {"range": [*keys_at(RangeTable, ())]}),
}
"""Tables whose keys are addresses, `"magnets.strength"`."""


class MagneticSkeleton(Skeleton):
    """A scene with a magnetic field, in which charges move without any energy, too."""

    energy: tuple[AnyBlock, ...] = ()
    magnetic: tuple[AnyBlock, ...] = Field(min_length=1)


class CompoundSkeleton(Skeleton):
    """A scene with a compound, whose energies may be all that there are."""

    energy: tuple[AnyBlock, ...] = ()
    compound: tuple[AnyBlock, ...] = Field(min_length=1)


class ConstraintSkeleton(Skeleton):
    """A scene with constraints, which move bodies without any energy, too."""

    energy: tuple[AnyBlock, ...] = ()
    constraint: tuple[AnyBlock, ...] = Field(min_length=1)


class LagrangianSkeleton(Skeleton):
    """A scene with a Lagrangian, which has its own potential energy."""

    energy: tuple[AnyBlock, ...] = ()
    lagrangian: tuple[AnyBlock, ...] = Field(min_length=1)


class ProgramSkeleton(Skeleton):
    """A scene whose stepper is a program of maps, which need no energy."""

    energy: tuple[AnyBlock, ...] = ()


@dataclass(frozen=True)
class Block:
    """A table that a plugin validates: `values` are its keys without `kind`, `path` its key path."""

    kind: str
    values: dict[str, Any]
    path: KeyPath

    @property
    def section(self) -> str:
        return LOSS if self.path[0] == "fit" else str(self.path[0])


@dataclass(frozen=True)
class Scene:
    """A valid scene; its blocks are validated by the plugins that own their kinds."""

    title: str
    plugins: tuple[str, ...] | None
    units: Units
    runtime: Runtime
    state: Block
    initial: InitialTable | None
    box: BoxTable | None
    map: tuple[Block, ...]
    slope: tuple[SlopeTable, ...]
    energy: tuple[Block, ...]
    compound: tuple[Block, ...]
    lagrangian: tuple[Block, ...]
    dissipation: tuple[Block, ...]
    magnetic: tuple[Block, ...]
    constraint: tuple[Block, ...]
    hold: tuple[HoldTable, ...]
    stepper: Block
    run: RunTable
    observe: tuple[Block, ...]
    checkpoint: Checkpoint
    fit: FitTable | None
    ensemble: EnsembleTable | None
    view: ViewTable
    loss: tuple[Block, ...]
    document: "Document" = field(repr=False)

    @property
    def path(self) -> Path:
        return self.document.path

    @property
    def source(self) -> bytes:
        """The exact bytes of the file."""
        return self.document.source

    @property
    def overrides(self) -> tuple[str, ...]:
        return self.document.overrides

    def resolved(self) -> dict[str, Any]:
        """Plain data after overrides and the core's defaults, in a fixed order of keys; fit for JSON.

        Without `[view]`, which says how a run is watched. Old names of kinds and keys stay, so that a run
        with them is the same run later.
        """
        document = self.document
        whole = document.model.model_validate_json(json.dumps(document.as_written or document.data))
        data = whole.model_dump(mode="json", exclude_none=True)
        for section in (
            "compound",
            "lagrangian",
            "magnetic",
            "slope",
            "constraint",
        ):  # as before there were any
            if not data[section]:
                del data[section]
        del data["view"]
        if "fit" in data and data["fit"]["of"] == "run":
            del data["fit"]["of"]
        return data

    def in_order(self, paths: Iterable[KeyPath]) -> list[KeyPath]:
        """Tables in the order in which they stand in the file."""
        return sorted(paths, key=self.document.place)


@dataclass(frozen=True)
class Document:
    """A scene file as TOML data with overrides applied, and the line and column of each key."""

    path: Path
    source: bytes
    overrides: tuple[str, ...]
    data: dict[str, Any]
    origins: dict[KeyPath, str] = field(repr=False)
    """The override that set a key, if any."""
    attached: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Files that the scene reads, by name, which need not exist: the arrays of a simulation in Python."""
    located: bool = True
    """Whether a user sees the text, so that its lines and columns have a meaning."""
    as_written: dict[str, Any] | None = field(default=None, repr=False)
    """The data with the old names of kinds and keys that the text has; None: it has none."""

    @property
    def engine(self) -> Engine | None:
        """The value of `[runtime] engine`, if it is valid."""
        table = self.data.get("runtime")
        named = table.get("engine") if isinstance(table, dict) else None
        return named if named in get_args(Engine) else None

    @property
    def model(self) -> type[Skeleton]:
        """The model of the whole scene."""
        stepper = self.data.get("stepper")
        if isinstance(stepper, dict) and stepper.get("kind") == PROGRAM:
            return ProgramSkeleton
        if self.data.get("lagrangian"):
            return LagrangianSkeleton
        if "magnetic" in self.data:
            return MagneticSkeleton
        if self.data.get("constraint"):
            return ConstraintSkeleton
        return CompoundSkeleton if self.data.get("compound") else Skeleton

    def skeleton(self) -> tuple[Scene | None, list[Problem]]:
        """The scene without its plugin blocks' contents, or None and all its problems."""
        whole, problems = self._validate((), self.data, self.model)
        problems += [self.problem(*one) for one in addresses.called_as_sections(self.data, SKELETON_KEYS)]
        if whole is None or problems:
            return None, [_with_cure(problem, self.data) for problem in problems]
        of = {s: tuple(b for b in self.blocks() if b.section == s) for s in (*SECTIONS, LOSS)}
        return Scene(
            whole.title, whole.plugins, whole.units, whole.runtime, of["state"][0],
            whole.initial, whole.box, of["map"],
            whole.slope, of["energy"], of["compound"], of["lagrangian"], of["dissipation"], of["magnetic"],
            of["constraint"], whole.hold, of["stepper"][0], whole.run, of["observe"], whole.checkpoint,
            whole.fit, whole.ensemble, whole.view, of[LOSS], self,
        ), []  # fmt: skip

    def path_of(self, address: str) -> str:
        """The path in the scene that an address means. Raises `UserError` for an unknown or shared name."""
        return ".".join(addresses.path_of(self.data, address.split("."), SKELETON_KEYS))

    def blocks(self) -> list[Block]:
        """All blocks that have a kind: in the order of SECTIONS, then losses; even in an invalid scene."""
        tables: list[tuple[KeyPath, Any]] = []
        for section in SECTIONS:
            value = self.data.get(section)
            many = section in MANY
            tables += (
                [((section, i), v) for i, v in enumerate(value)] if many and isinstance(value, list) else []
            )
            tables += [] if many else [((section,), value)]
        fit = self.data.get("fit")
        losses = fit.get(LOSS) if isinstance(fit, dict) else None
        tables += [(("fit", LOSS, i), v) for i, v in enumerate(losses)] if isinstance(losses, list) else []
        return [
            Block(table["kind"], {k: v for k, v in table.items() if k != "kind"}, path)
            for path, table in tables
            if isinstance(table, dict) and isinstance(table.get("kind"), str)
        ]

    def validate(
        self, block: Block, model: type[M], units: UnitSystem | None = None
    ) -> tuple[M | None, list[Problem]]:
        """The block as a record of its plugin, or None and all its problems.

        Quantities are checked in this scene's units, or in `units`, so a unit in a dimensionless scene is a
        problem here.
        """
        return self._validate(block.path, block.values, model, units)

    def problem(self, path: KeyPath, message: str, at_key: bool = False) -> Problem:
        """A problem located at a key's value (or at the key itself), else at the nearest enclosing table."""
        key = ".".join(map(str, path))
        upwards = [path[:end] for end in range(len(path), 0, -1)]
        if origin := next((self.origins[p] for p in upwards if p in self.origins), None):
            return Problem(origin, 0, 0, key, message)
        if not self.located:
            return Problem(str(self.path), 0, 0, key, message)
        places = self._keys if at_key else self._values
        line, column = next((places[p] for p in upwards if p in places), (1, 1))
        return Problem(str(self.path), line, column, key, message)

    def place(self, path: KeyPath) -> tuple[int, int]:
        """Line and column of a table or key in the file; (0, 0) of one that an override has made."""
        return self._keys.get(path, (0, 0))

    def _validate(
        self, path: KeyPath, values: Any, model: type[M], units: UnitSystem | None = None
    ) -> tuple[M | None, list[Problem]]:
        context = {"units": units or self._system}
        try:  # as JSON, because strict records take a list for a tuple only from there
            return model.model_validate_json(json.dumps(values), context=context), []
        except ValidationError as error:
            found = mistakes(model, values, error)
            return None, sorted(self.problem(path + m.path, m.message, m.at_key) for m in found)
        except UserError as error:
            return None, [self.problem(path, str(error))]

    @cached_property
    def _keys(self) -> dict[KeyPath, tuple[int, int]]:
        return index(self.source.decode())

    @cached_property
    def _values(self) -> dict[KeyPath, tuple[int, int]]:
        return index(self.source.decode(), values=True)

    @cached_property
    def _system(self) -> UnitSystem:
        try:
            return Units.model_validate(self.data.get("units", {})).build()
        except ValidationError:
            return UnitSystem.si()


SceneSource = Path | str | Mapping[str, Any] | Document
"""A scene: the path of a file, the text of one, its tables as a dictionary, or a document of it."""


def load(scene: SceneSource, overrides: Sequence[str] = ()) -> Document:
    """Read a scene and apply `key.sub.0=value` overrides.

    scene: the path of a file; or a text of several lines, or a dictionary, which read files of the working
    folder. Raises `SceneError` for an unreadable file, invalid TOML or overrides, and values that scenes do
    not have (dates, NaN), and `UserError` for anything else than a scene.
    """
    if isinstance(scene, Document):
        return scene
    if isinstance(scene, Mapping):
        return of_text(toml_text.text(scene), "scene", overrides, located=False)
    if is_text(scene):
        return of_text(str(scene), "text of the scene", overrides)
    if not isinstance(scene, (str, Path)):
        raise UserError(
            f"scene: needs the path of a file, a text or a dictionary, got a {type(scene).__name__}; give one"
        )
    path = Path(scene)
    return of_file(parsing.read(path), path, overrides)


def is_text(scene: SceneSource) -> bool:
    """True for the text of a scene, which has several lines; False for the path of one."""
    return isinstance(scene, str) and "\n" in scene


def of_file(source: bytes, path: Path, overrides: Sequence[str] = ()) -> Document:
    """The document in the bytes of a file at this path. Raises as `load` does."""
    parsing.refuse_long(source, path)
    try:
        return of_text(parsing.decode(str(path), source), path, overrides, source)
    except SceneError as error:
        raise _no_scene(path) or error from None


_OTHERS = (
    *(".csv", ".gcode", ".geo", ".gif", ".h5", ".html", ".jpg", ".json", ".jsonl", ".md", ".mp4", ".msh"),
    *(".npy", ".npz", ".obj", ".pdb", ".png", ".svg", ".vtk", ".vtu", ".webp", ".xml", ".xyz"),
)
"""Endings of files that are no scenes, if they cannot be read as one."""


def _no_scene(path: Path) -> SceneError | None:
    """The mistake of giving another file in place of a scene."""
    if path.suffix == ".py":
        cure = f"a file with energies goes with --plugin {path}"
    elif path.suffix.lower() in _OTHERS:
        cure = "give the scene that reads it"
    else:
        return None
    text = f"is no scene, whose file ends in .toml, got '{path.suffix}'; {cure}"
    return SceneError([Problem(str(path), 0, 0, "", text)])


def of_text(
    text: str,
    path: Path | str,
    overrides: Sequence[str] = (),
    source: bytes | None = None,
    *,
    attached: Mapping[str, bytes] | None = None,
    located: bool = True,
) -> Document:
    """The document of a TOML text.

    path: the file's, or what messages call the scene. source: the bytes of the file. attached: files that the
    scene reads, by name. located: whether messages give lines and columns. Raises as `load` does.
    """
    path = Path(path)
    source = text.encode() if source is None else source
    if len(source) > parsing.MOST_BYTES:
        raise SceneError([Problem(str(path), 0, 0, "", parsing.TOO_LONG)])
    try:
        data = parsing.parse(str(path), text)
    except SceneError as error:
        raise _single_brackets(str(path), text) or error from None
    origins = parsing.override(data, overrides, SECTION_KEYS, NAMED_TABLES)
    _let_overrides_choose(data, origins)
    document = Document(path, source, tuple(overrides), data, origins, dict(attached or {}), located)
    if problems := [document.problem(where, message) for where, message in parsing.unfit(data)]:
        raise SceneError(problems)
    return document


def _let_overrides_choose(data: dict[str, Any], origins: Mapping[KeyPath, str]) -> None:
    """An override of the steps of a run takes the place of its time, and the other way round."""
    run, both = data.get("run"), ("steps", "time")
    if isinstance(run, dict) and all(key in run for key in both):
        given = [key for key in both if ("run", key) in origins]
        if len(given) == 1:
            del run["time" if given == ["steps"] else "steps"]


def _single_brackets(file: str, text: str) -> SceneError | None:
    """The mistake `[energy]` for `[[energy]]`, which TOML refuses where it finds the next one."""
    if (header := _SINGLE.search(text)) is None:
        return None
    line = text.count("\n", 0, header.start(1)) + 1
    column = header.start(1) - text.rfind("\n", 0, header.start(1))
    return SceneError([Problem(file, line, column, header[1], _two_brackets(header[1]))])


def _with_cure(problem: Problem, data: Mapping[str, Any]) -> Problem:
    """The same problem; of a section that is missing or another kind of value, with what to write."""
    key, message = problem.key, problem.message
    if key in SKELETON_KEYS:
        return problem._replace(message=_section_message(key, message, data.get(key)))
    section = key.partition(".")[0]
    if message == MISSING and key.endswith(".kind") and section in SECTIONS:
        return problem._replace(message=f"{message} (`minusgrad {LISTING.get(section, 'kinds')}` lists them)")
    for place in NAMED_TABLES:
        head = ".".join(place)
        name, _, inner = key.removeprefix(f"{head}.").partition(".")
        if not (key.startswith(f"{head}.") and message.startswith("no key ")):
            continue
        table = addresses.value_at(data, place).get(name)
        if isinstance(table, dict) and isinstance(table.get(inner), dict):
            text = f'a name with a dot stands in quotes; write [{head}."{name}.{inner}"]'
            return problem._replace(message=text)
    return problem


def _section_message(key: str, message: str, given: Any) -> str:
    """What is wrong with a whole section."""
    if key in (*MANY, "hold") and message == "needs a list, not a table":
        return _two_brackets(key)
    if message == "needs a table, not a list":
        return f"needs one pair of brackets, [{key}], because a scene has one"
    if message == MISSING:
        kind = f" with its `kind` (`minusgrad {LISTING[key]}` lists them)" if key in LISTING else ""
        head = f"[[{key}]]" if key in MANY else f"[{key}]"
        return f"{message}; add a table {head}{kind or ' with ' + ' or '.join(_NEEDED[key])}"
    if message.startswith("needs a table, not ") and isinstance(given, str):
        inner = "kind" if key in SECTIONS else "system" if given.lower() in SYSTEMS else ""
        keys = f"; write {key}.{inner}={given.lower() if inner == 'system' else given}" if inner else ""
        return message + (keys or f" (keys: {', '.join(sorted(SECTION_KEYS[key]))})")
    return message


_NEEDED = {"run": ("steps", "time")}
"""Of sections without a kind what they need at least."""


def _two_brackets(section: str) -> str:
    return f"needs two brackets, [[{section}]], because a scene may have several"


def read(path: SceneSource, overrides: Sequence[str] = ()) -> Scene:
    """The scene at `path`. Raises SceneError with all problems outside the blocks of plugins."""
    scene, problems = load(path, overrides).skeleton()
    if scene is None:
        raise SceneError(problems)
    return scene


LISTING = {"energy": "energies", "state": "states", "stepper": "steppers", "observe": "observers"}
"""The verb of the command line that lists the kinds of a section, where `kinds` is not the shortest list."""


def unknown_kind(document: Document, block: Block, what: str, known: Sequence[str]) -> Problem:
    """`energy.0.kind: no energy named 'gravty'; did you mean 'gravity'? (installed: gravity, spring)`."""
    message = unknown(what, block.kind, sorted(known), "installed", LISTING.get(block.section, "kinds"))
    return document.problem((*block.path, "kind"), message)


def claim(path: Path) -> str:
    """The first block of comments of a scene file, which states a fact about the scene."""
    lines = parsing.decode(str(path), parsing.read(path)).splitlines()
    comments = takewhile(lambda line: line.startswith("#"), lines)
    return " ".join(line.lstrip("# ") for line in comments)


def title(path: Path) -> str:
    """The title of a scene file; empty for a scene without one, or with mistakes."""
    try:
        found = load(path).data.get("title")
    except UserError:
        return ""
    return found if isinstance(found, str) else ""


def members(path: Path) -> str:
    """The members of a scene's ensemble in words; empty for a scene without one, or with mistakes."""
    try:
        ensemble = read(path).ensemble
    except UserError:
        return ""
    return ensemble.summary if ensemble else ""
