"""From the arguments of a simulation in Python to the tables of a scene, and the arrays beside it.

    fields, tuples, bodies        arrays of the state `arrays`, in a file that need not exist
    sides, bodies of a `state`    [state.sides]
    energies, holds, observe      [[energy]], [[hold]], [[observe]]: each a table, or what makes one
    units, box, stepper           [units], [box], [stepper]

Nothing is validated here that the scene validates; messages name the argument.

Decisions 0397.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..assembly.arrays.arrays_file import Stored, written
from ..assembly.arrays.arrays_state import USUAL
from ..assembly.validation import ValidatedScene
from ..energies.fields import Grid
from ..energies.roles import Datum, Node
from ..energies.values.energy_values import Declaration, EnergyValues
from ..errors import UserError, unknown
from ..scene.document import PROGRAM
from ..scene.units import UnitSystem, rate_unit
from .side_tables import SideTables
from .stepper_blocks import StepperBlock

FILE = "arrays.h5"
"""The name of the file with the arrays, until it is written beside a scene."""
MOST = 30_000
"""The most numbers of one array that the text of a scene takes."""
LISTS = {
    "maps": "map",
    "energies": "energy",
    "compounds": "compound",
    "lagrangians": "lagrangian",
    "dissipations": "dissipation",
    "magnetic": "magnetic",
    "constraints": "constraint",
    "holds": "hold",
    "observe": "observe",
}
"""The section of each argument that is a list of tables."""
FORCES = ("energy", "compound", "lagrangian", "magnetic", "constraint")
"""The sections of which a scene needs one, if it is no program."""
TABLES = ("units", "runtime", "initial", "box", "checkpoint", "fit", "ensemble", "view")
"""Arguments that are tables of the same name."""


class SceneTables:
    """The tables of a scene, the arrays of its state, and the energies at hand.

    Raises `UserError` for arguments that are no tables, and for arrays that no state could have.
    """

    def __init__(self, given: Mapping[str, Any], run: Mapping[str, Any] | None = None):
        self._given = given
        self._arrays: dict[str, Stored] = {}
        self.declared: list[Declaration] = []
        """The energies and maps that were given as objects."""
        self._blocks = {section: [*self._of(name, section)] for name, section in LISTS.items()}
        self._state = self._table_of_state()
        self._run = {**({} if "time" in (run or {}) else {"steps": 0}), **(run or {})}
        self._defaults: list[dict[str, Any]] = []

    @property
    def attached(self) -> dict[str, bytes]:
        """The file with the arrays, by its name; none for another state."""
        return {FILE: written(self._arrays)} if self._arrays else {}

    @property
    def data(self) -> dict[str, Any]:
        """The whole scene; maps and slopes are pairs of a section and a table."""
        given, blocks = self._given, self._blocks
        data = {"title": given.get("title"), "plugins": given.get("plugins")}
        data |= {"units": _units(given.get("units")), "runtime": given.get("runtime")}
        data |= {"state": self._state_with_sides}
        data |= {"initial": _initial(given.get("initial")), "box": _box(given.get("box"))}
        data |= {section: blocks[section] for section in LISTS.values() if section != "observe"}
        stepper = _stepper(given.get("stepper"))
        data |= {"stepper": stepper, "run": self._run}
        data |= {"observe": blocks["observe"] or self._defaults}
        data |= {"checkpoint": given.get("checkpoint"), "fit": self.fit, "ensemble": given.get("ensemble")}
        data |= {"view": given.get("view")}
        if isinstance(self.fit, Mapping) and not self.fit.get("loss"):
            del data["fit"]  # its measurements are those of `Simulation.fit`
        for name in TABLES:
            if data.get(name) is not None and not isinstance(data[name], Mapping):
                raise UserError(
                    f"{name}: needs a table, got a {type(data[name]).__name__}; give a dictionary"
                )
        if stepper.get("kind") != PROGRAM and not any(blocks[section] for section in FORCES):
            raise UserError(
                "energies: needs an energy, got none; write energies=[minusgrad.energy('spring',"
                " stiffness=3.0)], or call one of your own with its values"
            )
        empty = [k for k, v in data.items() if v is None or (v == [] and k != "plugins")]
        return {k: v for k, v in data.items() if k not in empty}

    @property
    def _state_with_sides(self) -> dict[str, Any]:
        """The table [state], with the sides of Python beside its own."""
        own = self._state.get("sides", {})
        if not self._sides.tables or not isinstance(own, Mapping):
            return self._state
        if twice := [name for name in self._sides.tables if name in own]:
            raise UserError(f"sides: '{twice[0]}' is a side of the state already; give it another name")
        return {**self._state, "sides": {**own, **self._sides.tables}}

    def find_sides(self, validated: Callable[[], ValidatedScene]) -> None:
        """Let functions choose the nodes of their sides, by the state of the validated scene."""
        if self._sides.functions:
            self._sides.call_functions(validated())

    @property
    def fit(self) -> Any:
        """The table [fit], which may be without losses."""
        return self._given.get("fit")

    def run(self, steps: int, record: int | None) -> None:
        """The steps of a run; and without observers, energies and frames at every `record` steps."""
        kept = {key: value for key, value in self._run.items() if key != "time"}
        self._run = {**kept, "steps": steps}
        blocks = self._blocks
        if record is not None and blocks["observe"]:
            raise UserError("record: is for a simulation without `observe`, got both; leave one of them out")
        every = record or max(1, -(-steps // 200))
        energies = any(blocks[s] for s in ("energy", "compound", "lagrangian"))
        kinds = (["energies"] if energies else []) + ["frames"]
        self._defaults = [{"kind": kind, "every": every} for kind in kinds]

    def _of(self, name: str, section: str) -> Iterator[Any]:
        """The tables of one argument, in order; a map without kind is a slope."""
        given = self._given.get(name) or ()
        if isinstance(given, (Mapping, EnergyValues, Declaration)):
            given = [given]
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise UserError(f"{name}: needs a list, got a {type(given).__name__}; write {name}=[...]")
        for number, one in enumerate(given):
            table = self._table(f"{name}[{number}]", one)
            slope = section == "map" and "kind" not in table
            yield ("slope" if slope else "map", table) if section == "map" else table

    def _table(self, place: str, one: Any) -> dict[str, Any]:
        if isinstance(one, Declaration):
            one = EnergyValues(one)
        if isinstance(one, EnergyValues):
            if isinstance(one.energy, Declaration):
                self.declared.append(one.energy)
            return {"kind": one.kind, **self._with_lists(place, one)}
        if isinstance(one, StepperBlock):
            return one.table
        if isinstance(one, Mapping):
            return dict(one)
        raise UserError(
            f"{place}: needs an energy, or a table, got {_kind_of(one)}; write energy(parameter=value)"
        )

    def _with_lists(self, place: str, one: EnergyValues) -> dict[str, Any]:
        """The values of a block; a list of elements that is an array goes to the state, with its data."""
        values, shared = dict(one.values), self._given.get("tuples") or {}
        rows = values.get("tuples")
        if self._given.get("fields") is not None and isinstance(rows, np.ndarray):
            name = str(values.get("name") or one.kind)
            while f"tuples/{name}" in self._arrays or name in shared:
                name += "_"
            self._arrays[f"tuples/{name}"] = Stored(_whole(f"{place}: tuples", rows, 2))
            values["tuples"] = name
            if isinstance(values.get("images"), np.ndarray):
                images = values.pop("images")
                self._arrays[f"images/{name}"] = Stored(_whole(f"{place}: images", images, images.ndim))
            self._data_of(place, one, name, len(rows), values)
        for argument, value in values.items():
            if isinstance(value, np.ndarray) and value.size > MOST:
                raise UserError(
                    f"{place}: {argument}: has {value.size} numbers, and a scene's text takes {MOST}; give"
                    " `tuples` as an array and declare it a Datum, or make it a field"
                )
        return values

    def _data_of(self, place: str, one: EnergyValues, name: str, count: int, values: dict[str, Any]) -> None:
        """Move the arrays of data of a list from the values of its block to the state."""
        for argument, value in list(values.items()):
            role = getattr(one.energy, "roles", {}).get(argument)
            if isinstance(value, np.ndarray) and value.ndim and isinstance(role, Datum):
                if len(value) != count:
                    raise UserError(
                        f"{place}: {argument}: needs a value for each of {count} tuples, got {len(value)}"
                    )
                self._arrays[f"data/{name}/{argument}"] = Stored(reals(f"{place}: {argument}", value))
                del values[argument]

    # The state

    def _table_of_state(self) -> dict[str, Any]:
        given = self._given
        of_arrays = ("fields", "tuples", "images", "motions", "labels", "names", "grids")
        if (state := given.get("state")) is not None:
            if not isinstance(state, Mapping):
                raise UserError(f"state: needs a table, got {_kind_of(state)}; write state={{'kind': ...}}")
            self._sides = SideTables(given.get("sides"), given.get("bodies"))
            if extra := [name for name in of_arrays if given.get(name) is not None]:
                raise UserError(
                    f"{extra[0]}: is for a state of arrays, got a `state`, too; leave one of them out"
                )
            return dict(state)
        self._sides = SideTables(given.get("sides"), None)
        fields = self._fields()
        motions = given.get("motions")
        table: dict[str, Any] = {"kind": "arrays", "file": FILE, "units": self._units_of(fields)}
        if motions is not None:
            table["motions"] = [_motion(one) for one in motions]
        for name, rows in (given.get("tuples") or {}).items():
            self._list(name, rows)
        for name, images in (given.get("images") or {}).items():
            images = np.asarray(images)
            self._arrays[f"images/{name}"] = Stored(_whole(f"images: '{name}'", images, images.ndim))
        for name, nodes in (given.get("bodies") or {}).items():
            self._arrays[f"bodies/{name}"] = Stored(_whole(f"bodies: '{name}'", np.asarray(nodes), 1))
        table |= {name: given[name] for name in ("labels", "names") if given.get(name) is not None}
        table["grids"] = {
            name: _grid(f"grids: '{name}'", one) for name, one in (given.get("grids") or {}).items()
        }
        return {name: value for name, value in table.items() if value not in ({}, [])}

    def _fields(self) -> dict[str, np.ndarray]:
        given = self._given.get("fields")
        if not isinstance(given, Mapping) or not given:
            raise UserError(
                f"fields: needs arrays by name, got {'none' if not given else _kind_of(given)}; write"
                " Simulation(fields={'x': x, 'v': v, 'm': m}, ...), or give a `state`"
            )
        found = dict[str, np.ndarray]()
        for name, value in given.items():
            values, unit = value if isinstance(value, tuple) else (value, "")
            found[name] = reals(f"fields: '{name}'", values)
            if not found[name].ndim or not found[name].size:
                raise UserError(
                    f"fields: '{name}': needs a value for each node, got shape {found[name].shape}; add one"
                )
            self._arrays[f"fields/{name}"] = Stored(found[name], unit)
        motions = self._given.get("motions")
        pairs = (
            [("x", "v")]
            if motions is None
            else [(m["position"], m["velocity"]) for m in map(_motion, motions)]
        )
        for position, velocity in pairs:
            if position in found and velocity not in found:  # at rest
                found[velocity] = np.zeros_like(found[position])
                self._arrays[f"fields/{velocity}"] = Stored(found[velocity])
        return found

    def _units_of(self, fields: Mapping[str, np.ndarray]) -> dict[str, str]:
        """The SI unit of each field that is not a usual one, from the energies that read it, and motions."""
        found: dict[str, str] = {}
        blocks = [one for name in LISTS for one in self._listed(name) if isinstance(one, EnergyValues)]
        for one in blocks:
            for argument, role in getattr(one.energy, "roles", {}).items():
                name = dict(one.values.get("fields", {})).get(argument, argument)
                if isinstance(role, Node) and name in fields:
                    found.setdefault(name, role.unit)
        for motion in self._given.get("motions") or ():
            table = _motion(motion)
            unit = found.get(table["position"]) or USUAL.get(table["position"], "1")
            found.setdefault(table["velocity"], UnitSystem.si().symbol(rate_unit(unit)))
        without = {name for name in fields if not self._arrays[f"fields/{name}"].unit}
        own = {name: unit for name, unit in found.items() if name in without}
        return {name: unit for name, unit in own.items() if unit != USUAL.get(name, "1")}

    def _listed(self, name: str) -> Sequence[Any]:
        given = self._given.get(name) or ()
        return given if isinstance(given, (list, tuple)) else [given]

    def _list(self, name: str, given: Any) -> None:
        """A list of the state: its rows, or its rows and data by argument."""
        rows, data = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
        self._arrays[f"tuples/{name}"] = Stored(_whole(f"tuples: '{name}'", np.asarray(rows), 2))
        for argument, value in dict(data).items():
            self._arrays[f"data/{name}/{argument}"] = Stored(reals(f"tuples: '{name}': {argument}", value))


def _units(given: Any) -> Any:
    return {"system": given} if isinstance(given, str) else given


def _initial(given: Any) -> Any:
    """The table of initial values; of a run, that starts with its last state.

    Raises `UserError` for an array in place of a file.
    """
    table = given if isinstance(given, Mapping) else {"run": _folder(given)}
    if given is None or (given is not table and not isinstance(table["run"], str)):
        return given
    fields = table.get("fields")
    for name, one in fields.items() if isinstance(fields, Mapping) else ():
        if not isinstance(one, (str, Mapping)):
            raise UserError(
                f"initial: fields: '{name}': needs the name of a file, got {_kind_of(one)}; give the array in"
                f" fields={{'{name}': ...}}"
            )
    return {**table, "run": _folder(table["run"])} if "run" in table else dict(table)


def _folder(run: Any) -> Any:
    """The folder of a run, as a scene names it; anything else as it is."""
    if isinstance(folder := getattr(run, "folder", None), Path):
        return str(folder.resolve())  # wherever the scene is written
    return str(run) if isinstance(run, Path) else run


def _box(given: Any) -> Any:
    """The table of a box; of a list its edges. Raises `UserError` for one number."""
    if isinstance(given, (int, float, np.number)):
        raise UserError(
            f"box: needs an edge for each axis, got {given}; write box=[{given}, {given}, {given}]"
        )
    return {"edges": np.asarray(given).tolist()} if isinstance(given, (list, tuple, np.ndarray)) else given


def _stepper(given: Any) -> dict[str, Any]:
    if isinstance(given, type) and issubclass(given, StepperBlock):
        given = given()
    if isinstance(given, StepperBlock):
        return given.table
    if isinstance(given, Mapping):
        return dict(given)
    got = "none" if given is None else _kind_of(given)
    raise UserError(f"stepper: needs a stepper, got {got}; write stepper=minusgrad.Leapfrog(dt=0.01)")


def _grid(place: str, given: Any) -> dict[str, Any]:
    """The table of a grid: that of a `Grid`, or one as it is."""
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, Grid):
        return {"shape": list(given.shape), "spacing": given.spacing, "fields": list(given.fields)}
    raise UserError(f"{place}: needs Grid((n,), 1.0, ('phi',)), got {_kind_of(given)}; write a Grid")


def _motion(given: Any) -> dict[str, Any]:
    """The table of a motion: that of a `Motion`, or one as it is."""
    if isinstance(given, Mapping):
        keys = ("position", "velocity", "inertia")
        if strange := [key for key in given if key not in keys]:
            raise UserError(f"motions: {unknown('key', strange[0], keys)}")
        if missing := [key for key in keys[:2] if key not in given]:
            raise UserError(f"motions: needs {missing[0]}, got {sorted(given)}; add it")
        return dict(given)
    if hasattr(given, "position"):
        return {"position": given.position, "velocity": given.velocity, "inertia": given.inertia}
    raise UserError(f"motions: needs Motion('x', 'v', 'm'), got {_kind_of(given)}; write a Motion")


def reals(what: str, given: Any) -> np.ndarray:
    """An array of finite real numbers; whole numbers are exact. Raises `UserError`."""
    try:
        values = np.asarray(given)
    except ValueError as error:
        raise UserError(f"{what}: needs an array of numbers ({error}); give rows of one length") from None
    if values.dtype.kind not in "iuf":
        raise UserError(f"{what}: needs an array of real numbers, got {values.dtype}; convert it")
    values = np.array(values, np.float64)
    if (bad := np.argwhere(~np.isfinite(values))).size:
        where = ", ".join(map(str, bad[0]))
        raise UserError(f"{what}: needs finite numbers, got {values[tuple(bad[0])]} at [{where}]; correct it")
    return values


def _whole(what: str, rows: Any, axes: int) -> np.ndarray:
    """Numbers of nodes. Raises `UserError` for real numbers, and another number of axes."""
    rows = np.asarray(rows)
    if rows.dtype.kind not in "iu" or rows.ndim != axes:
        shape = "(elements, nodes)" if axes == 2 else "(nodes,)"
        raise UserError(
            f"{what}: needs whole numbers of nodes, shape {shape}, got {rows.dtype} of shape {rows.shape}"
        )
    return rows.astype(np.int32)


def _kind_of(given: Any) -> str:
    if isinstance(given, type):
        return f"the class {given.__name__}"
    name = type(given).__name__
    return f"{'an' if name[0] in 'aeio' else 'a'} {name}"
