"""Interpreter of Taichi kernels in plain Python: from launches to an expression graph with values.

Every kernel that ran runs again, statement by statement, over stand-ins for its arrays. Its computation
becomes an expression graph, like that of an energy, in which every node has a value, so that branches, loops
and indices are those of the run. Every element of an array has a value and, by `differentiation`, the exact
derivative with respect to any initial value. The interpreter shares no code with the engine.

The semantics are Python's: a name that began as an integer may hold a real number, an integer does not
overflow, a function without a result may write to a vector argument. Where Taichi differs, the values differ,
and `remarks` name the lines.

Possible faults are recorded with file and line: elements that are overwritten after they were read, or
written by two iterations of a parallel loop; reads out of bounds; values that become an integer, an index, a
branch or the end of a loop.

Decisions 0334.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from types import FunctionType
from typing import Any

import numpy as np

from ..codegen.tracing import linear
from ..energies.local_energy import INSIDE, LocalEnergy
from ..energies.roles import Node
from ..energies.term_spec import Table
from ..engine import runtime
from ..errors import TraceError
from ..lint.kernel_remarks import Remark, begin_of, in_words
from ..symbolic.graph import Graph, reachable
from ..symbolic.numpy_values import value as numpy_value
from ..symbolic.operations import OPERATIONS, TRUTHS
from ..symbolic.plain_python import Lookup
from ..symbolic.rewriting import copy_by_value, current_location, run
from ..symbolic.scalar import Scalar
from ..symbolic.taichi_standin import Symbolic
from ..symbolic.tensors import TRUNCATES, Tensor, as_real, flat, is_integer
from .adjoints import adjoints
from .array_memory import ArrayPart, Cut, Memory, UnfollowedError, _entries_for
from .kernel_rewriting import KernelRebinder
from .program_arrays import (
    UNKNOWN,
    ProgramArray,
    is_array,
    is_host_array,
    is_quantised,
    of_program,
    unwrap_tensor,
)
from .struct_memory import LocalStruct, StructMemory, StructPart

MOST_NODES = 200_000
MOST_TURNS = 2_000_000
LARGE = 2**31
LOST = "which has no gradient,"
NARROW = {"f16": "float16", "float16": "float16", "f32": "float32", "float32": "float32"}
"""Types of fewer digits than the replay computes with."""


class _Recorded(Graph):
    """A graph of limited size that records where derivatives end."""

    def __init__(self, interpreter: "Interpreter"):
        super().__init__(decide=interpreter.decide)
        self.interpreter = interpreter

    def apply(self, op: str, *args: Any) -> Scalar:
        if op not in TRUTHS:
            kept = op == "select"
            args = (*args[:kept], *map(self.as_number, args[kept:]))
        for one in (a for a in args if isinstance(a, int) and abs(a) >= LARGE):
            text = f"the integer {one} exceeds 32 bits; compute it from numbers with a decimal point"
            self.interpreter.large.setdefault(current_location(), Remark("integer", current_location(), text))
        made = super().apply(op, *args)
        asked, row = OPERATIONS[op], OPERATIONS[made.op]
        if asked.rounding and row.rounding:
            self.interpreter.cuts.setdefault(
                ("round", made.serial), Cut(made.serial, current_location(), asked.rounding)
            )
        elif row.singularity is not None and op in (made.op, "pow", "div"):
            self.interpreter.places.setdefault(made.serial, (made, current_location()))
        if len(self._table) > MOST_NODES:
            raise UnfollowedError(
                f"{current_location()}: must have at most {MOST_NODES:,} operations, got more; give it "
                "smaller arrays"
            )
        return made

    def as_number(self, value: Any) -> Any:
        """The value as a number: a condition becomes 1 or 0."""
        if not isinstance(value, Scalar) or value.op not in TRUTHS:
            return value
        lost = Cut(value.serial, current_location(), "only counts as 0 or 1, because it is compared")
        self.interpreter.cuts.setdefault(("counts", value.serial), lost)
        return super().apply("select", value, 1, 0)


class Interpreter:
    """One run of launches, interpreted. `known`: the values of nodes, by serial."""

    def __init__(self) -> None:
        self.known: dict[int, Any] = {}
        self.cuts: dict[tuple, Cut] = {}
        self.remarks: dict[tuple, Remark] = {}
        self.large: dict[str, Remark] = {}
        """Integers outside of 32 bits, by their lines; 64 bits may have been requested."""
        self.elsewhere = False
        self.narrow = "float64"
        """The type of fewest digits that a kernel cast a number to."""
        """True if global numbers of the file have changed since the last launch."""
        self.store: list[Any] = []
        """The cells of all arrays, by address."""
        self.memories: dict[int, Memory] = {}
        self._owners: dict[Any, Sequence[int]] = {}
        """The addresses of the cells of each place of memory."""
        self.places: dict[int, tuple[Scalar, str]] = {}
        self.turn: int | None = None
        self._turns = 0
        self._serial = False
        self._seen: dict[int, dict[str, tuple[int, str, Any]]] = {}
        self._read: dict[int, str] = {}
        self.first: dict[int, str] = {}
        """How each cell was accessed first, by address."""
        self.graph = _Recorded(self)
        self.functions = _Kernels(self)
        self.rebinder = KernelRebinder(self.functions)
        self.intended: frozenset[str] = frozenset()
        """Arrays whose derivative the file leaves out on purpose."""

    # Arrays

    def hold(self, array: ProgramArray, values: np.ndarray, active: np.ndarray | None = None) -> None:
        """Stand in for an array that holds these values; `active`: the cells that a loop over it visits."""
        integer, begin, width = values.dtype.kind in "iub", len(self.store), len(array.places)
        self.store += [int(v) if integer else float(v) for v in values.ravel().tolist()]
        addresses = range(begin, len(self.store))
        for k, place in enumerate(array.places):
            self._owners[place] = addresses[k::width]
        self._stand_in(array, values, addresses, active)

    def alias(self, array: ProgramArray, values: np.ndarray, active: np.ndarray | None = None) -> None:
        """Stand in for an array whose memory is that of others."""
        parts = [self._owners.get(place) for place in array.places]
        whole = all(part is not None and len(part) * len(parts) == values.size for part in parts)
        addresses = [a for one in zip(*filter(None, parts), strict=True) for a in one] if whole else []
        self._stand_in(
            array, values, addresses, active, "" if whole else "shares memory in a way unknown here"
        )

    def _stand_in(
        self,
        array: ProgramArray,
        values: np.ndarray,
        addresses: Sequence[int],
        active: np.ndarray | None,
        refused: str = "",
    ) -> None:
        integer = values.dtype.kind in "iub"
        dtype = self.functions.i32 if integer else self.functions.f64
        element = values.shape[len(array.axes) :] if array.snode is not None else array.element
        axes = values.shape[: values.ndim - len(element)]
        gradient = array.adjoint is not None
        self.memories[id(array.array)] = Memory(
            array.name or UNKNOWN,
            axes,
            element,
            integer,
            gradient,
            addresses,
            self,
            dtype,
            array.offset,
            active,
            refused=refused or array.unmodelled_reason,
        )

    def leaves(self, key: Any) -> list[Scalar]:
        """Make the array's values leaves of the graph, and return them."""
        memory = self.memories[id(key)]
        made = []
        for k, value in enumerate(memory.cells):
            leaf = self.graph.input(memory.name, None, (memory.addresses[k],))
            self.known[leaf.serial] = np.float64(self.number(value))
            memory.set_cell(k, leaf)
            made.append(leaf)
        return made

    def copy_changed(self, key: Any, before: np.ndarray, after: np.ndarray) -> bool:
        """Copy the values that Python wrote between two launches; True if it wrote any."""
        memory = self.memories[id(key)]
        different = (before != after) & ~((before != before) & (after != after))
        for k in np.flatnonzero(different.ravel()):
            value = after.ravel()[k].item()
            memory.set_cell(int(k), int(value) if memory.integer else float(value))
        return bool(different.any())

    def numbers(self, key: Any) -> np.ndarray:
        """The values of an array."""
        memory = self.memories[id(key)]
        return np.array([self.number(v) for v in memory.cells]).reshape(*memory.axes, *memory.element)

    def gradient(self, outputs: Sequence[tuple[Any, float]], leaves: Sequence[Scalar]) -> np.ndarray:
        """The exact gradient of the sum of weight x output with respect to leaves, at the run's state."""
        ends = [(cell, weight) for cell, weight in outputs if isinstance(cell, Scalar)]
        found = adjoints(ends, leaves, self.number)
        return np.array([found.get(leaf.serial, 0.0) for leaf in leaves])

    # Launching

    def launch(self, function: Callable, arguments: Sequence[Any]) -> Any:
        """Run a kernel's function, as launched with these arguments."""
        self._serial, self.turn = False, None
        self._seen.clear()
        for memory in self.memories.values():
            memory.stopped = False
        body = self.rebinder.rebind(function)
        passed = [self._passed_value(a) for a in arguments]
        parameters = inspect.signature(function).parameters.values()
        for parameter, value in zip(parameters, passed, strict=False):
            if isinstance(value, Memory) and getattr(parameter.annotation, "needs_grad", None) is False:
                self._without_derivative(value, begin_of(function), parameter.name)
        return run(body, passed)

    def _without_derivative(self, memory: Memory, where: str, argument: str) -> None:
        """An argument annotated `needs_grad=False`: a reason why a reverse differs, or intended."""
        memory.stopped = memory.name in self.intended
        text = (
            f"argument '{argument}' is annotated needs_grad=False; if that is meant, say intended ="
            f" ['{memory.name}']"
        )
        if not memory.stopped and memory.has_gradient:
            self.remarks.setdefault(("stop_grad", memory.name, where), Remark("stop_grad", where, text))

    def _passed_value(self, value: Any) -> Any:
        if is_host_array(value) and id(value) not in self.memories:
            raise UnfollowedError(
                f"an argument shares memory with another array, in part: {type(value).__name__}"
            )
        held = self.functions.held_stand_in(value)
        if held is not None:
            return held
        if hasattr(value, "to_list") and hasattr(value, "entries"):
            return self.functions.Matrix(value.to_list())
        return value.item() if isinstance(value, np.generic) else value

    # Numbers

    def number(self, value: Any) -> Any:
        """The value of a node; a number is its own value."""
        if not isinstance(value, Scalar):
            return value
        if value.number is not None:
            return value.number
        waiting = [value]
        with np.errstate(all="ignore"):
            while waiting:
                node = waiting[-1]
                if node.serial in self.known:
                    waiting.pop()
                elif node.number is not None:
                    self.known[node.serial] = np.float64(node.number)
                elif missing := [a for a in node.args if a.serial not in self.known]:
                    waiting += missing
                else:
                    arguments = [self.known[a.serial] for a in node.args]
                    self.known[node.serial] = np.float64(numpy_value(node, arguments))
        found = self.known[value.serial]
        return int(found) if value.integer and np.isfinite(found) else float(found)

    def decide(self, condition: Scalar) -> bool:
        """The truth of a condition, as it was in the run."""
        self.cuts.setdefault(
            ("branch", condition.serial), Cut(condition.serial, current_location(), "decides a branch")
        )
        return bool(self.number(condition))

    def count(self, value: Any, what: str = "ends a loop") -> int:
        """The value of an integer that is an index or the end of a loop."""
        if isinstance(value, (int, np.integer)):
            return int(value)
        if isinstance(value, Scalar) and value.integer:
            if value.number is None:
                self.cuts.setdefault((what, value.serial), Cut(value.serial, current_location(), what))
            return int(self.number(value))
        raise TypeError(f"{'a real number' if isinstance(value, (float, Scalar)) else value} {what}")

    def stored_value(self, memory: Memory, value: Any) -> Any:
        """A value converted to the type of an array."""
        value = int(value) if isinstance(value, bool) else self.graph.as_number(value)
        if memory.integer and not is_integer(value):
            node = self.graph.apply("to_int", value)
            if node.number is None:
                self.cuts.setdefault(
                    ("array", node.serial),
                    Cut(
                        node.serial, current_location(), f"is stored in {memory.name}, an array of integers,"
                    ),
                )
            return node
        if not memory.integer:
            value = as_real(value)
            if isinstance(value, Scalar) and value.number is None and not memory.has_gradient:
                self.cuts.setdefault(
                    ("plain", memory.name, current_location()),
                    Cut(value.serial, current_location(), f"is stored in {memory.name}, {LOST}"),
                )
        return value

    def depending(self, nodes: Iterable[Scalar], leaves: Sequence[Scalar]) -> set[int]:
        """The serials of all nodes that depend on leaves, also through operations without a derivative."""
        live = {leaf.serial for leaf in leaves}
        for node in reachable(list(nodes)):
            if any(a.serial in live for a in node.args):
                live.add(node.serial)
        return live

    def rounding_results(self) -> tuple:
        """The results of all roundings, in order."""
        nodes = {node.serial: node for node in self.graph}
        return tuple(
            self.number(nodes[c.serial]) for key, c in self.cuts.items() if key[0] in ("round", "array")
        )

    def infinite(self) -> list[Remark]:
        """Remarks about operations whose derivative is not finite at the state of the run."""
        found = []
        for node, where in self.places.values():
            singularity = OPERATIONS[node.op].singularity
            if singularity is not None and singularity.at(node, *map(self.number, node.args)):
                found.append(Remark(singularity.rule, where, singularity.advice))
        return list(dict.fromkeys(found))

    def selects(self) -> list[str]:
        """The lines of selects."""
        return [where for node, where in self.places.values() if node.op == "select"]

    # Loops and accesses

    def turns(self, over: Any) -> Iterator[Any]:
        """The iterations of an outermost loop, which are parallel unless it is serialised."""
        serial, self._serial = self._serial, False
        self._seen.clear()
        for k, item in enumerate(self.iterations_of(over)):
            self.turn = None if serial else k
            yield item
        self.turn = None
        self._seen.clear()

    def iterations_of(self, what: Any) -> Iterator[Any]:
        """The iterations of any loop."""
        if isinstance(what, (Memory, StructMemory)):
            what = (p[0] if len(p) == 1 else p for p in what.places())
        for item in what:
            self._turns += 1
            if self._turns > MOST_TURNS:
                raise UnfollowedError(
                    f"{current_location()}: must have at most {MOST_TURNS:,} iterations, got more; give it "
                    "smaller arrays"
                )
            yield item

    def serialise(self, *_: Any, serialize: bool = False, parallelize: int = 0, **__: Any) -> None:
        """`ti.loop_config`."""
        self._serial = serialize or parallelize == 1

    def touch(self, memory: Memory, cell: int, how: str, value: Any = None) -> None:
        """Record an access, to find races of parallel loops and reads before a write."""
        key = memory.addresses[cell]
        self.first.setdefault(key, how)
        if self.turn is not None:
            done = self._seen.setdefault(key, {})
            for other, (turn, where, written_) in done.items():
                same = not isinstance(value, Scalar) and written_ == value
                alike = other == how and (how != "write" or same)
                if turn != self.turn and not alike:
                    self._remark_race(memory, other, where, how)
            if how not in done or done[how][0] == self.turn:
                done[how] = (self.turn, current_location(), None if isinstance(value, Scalar) else value)
        if how == "read":
            if key not in self._read:
                self._read[key] = current_location()
        elif key in self._read:
            self._remark_overwrite(memory, self._read[key], how)

    def _remark_race(self, memory: Memory, before: str, where: str, how: str) -> None:
        doing = {"read": "read", "add": "added to", "write": "written", "change": "changed"}
        text = (
            f"an element of {memory.name} is {doing[how]} here by one iteration of a parallel loop and"
            f" {doing[before]} by another ({in_words(where)}), so the result depends on their order; add with"
            " +=, or write ti.loop_config(serialize=True) before the loop"
        )
        self._add_remark("race", memory.name, text)

    def _remark_overwrite(self, memory: Memory, read: str, how: str) -> None:
        text = (
            f"{memory.name} is {'added to' if how == 'add' else 'overwritten'} after it was read"
            f" ({in_words(read)}), and the reverse reads its final value; write into another array"
        )
        self._add_remark("overwrite", memory.name, text)

    def note_change(self, memory: Memory, op: str, atomic: bool) -> None:
        """Record an element that is changed in place, but not by an addition."""
        name = f"atomic_{op}" if atomic or op in ("min", "max") else f"{op} in place"
        text = f"{memory.name} is changed by {name}: Taichi reverses every atomic operation as an addition"
        self._add_remark("atomic", memory.name, text)

    def record_truncation(self, name: str) -> None:
        """Record a real number that is assigned to a name that began as an integer."""
        self._add_remark("integer", name, f"'{name}' {TRUNCATES}")

    def stop_grad(self, memory: Any) -> None:
        """`ti.stop_grad`: a reason why a reverse differs, or intended."""
        parts = [memory] if isinstance(memory, Memory) else []
        parts = [*memory.members.values()] if isinstance(memory, StructMemory) else parts
        for part in parts:
            part.stopped = part.name in self.intended
            text = (
                f"{part.name} is held fixed by ti.stop_grad; if that is meant, say intended = ['{part.name}']"
            )
            if not part.stopped:
                self._add_remark("stop_grad", part.name, text)

    def constants(self, before: Sequence[Any]) -> None:
        """Make numbers of all cells that have changed since: they have no derivative."""
        for k, (old, new) in enumerate(zip(before, self.store, strict=True)):
            if new is not old and isinstance(new, Scalar):
                self.store[k] = self.number(new)

    def _add_remark(self, kind: str, name: str, text: str) -> None:
        at = current_location()
        self.remarks.setdefault((kind, name, at), Remark(kind, at, text))

    def random(self, *_: Any) -> Any:
        raise UnfollowedError(
            f"{current_location()}: ti.random gives another number at every call; draw it in Python, and "
            "pass an array"
        )


def ends(energy: LocalEnergy, arguments: Mapping[str, Any], argument: str) -> list[Cut]:
    """The places in an energy where values that depend on an argument lose their derivative.

    `arguments`: the values of one element, as `Term.arguments` gives them.
    """
    interpreter, leaves, value = _interpret_element(energy, arguments)
    if value is None:
        return []
    nodes = {node.serial: node for node in interpreter.graph}
    found = list(interpreter.cuts.values())
    ways = [*(nodes[c.serial] for c in found), *map(as_real, flat(value))]
    live = interpreter.depending(ways, leaves[argument])
    return [c for c in found if c.serial in live]


def rounding_results(energy: LocalEnergy, arguments: Mapping[str, Any]) -> tuple:
    """The results of all roundings in an energy, for one element."""
    return _interpret_element(energy, arguments)[0].rounding_results()


def _interpret_element(
    energy: LocalEnergy, arguments: Mapping[str, Any]
) -> tuple[Interpreter, dict[str, list[Scalar]], Any]:
    """An energy interpreted; its real numbers are leaves, by argument. None: it cannot be interpreted."""
    interpreter = Interpreter()
    leaves: dict[str, list[Scalar]] = {}

    def leaf(name: str, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [leaf(name, v) for v in value]
        if isinstance(value, Lookup):
            return _Zeros(interpreter, value)
        array = np.asarray(value)
        if array.dtype.kind != "f":
            return value
        made = []
        for number in array.ravel().tolist():
            made.append(interpreter.graph.input("x", None, (len(interpreter.known),)))
            interpreter.known[made[-1].serial] = np.float64(number)
        leaves.setdefault(name, []).extend(made)
        return Tensor(array.shape, made, interpreter.functions) if array.shape else made[0]

    tables = {name: Lookup(arguments[name]) for name in energy.of_role(Table)}
    values = {name: leaf(name, value) for name, value in {**arguments, **tables}.items()}
    values |= {name: linear(made, values, interpreter.functions) for name, made in energy.linear.items()}
    if energy.offsets:
        known = {INSIDE: arguments.get(INSIDE, ())}
        values |= {a: energy.received(a, {a: values[a], **known}) for a in energy.of_role(Node)}
    names = list(inspect.signature(energy.function).parameters)
    if not values.keys() >= set(names):  # the cell of a map: a window of them, not one
        return interpreter, leaves, None
    passed = [values[name] for name in names]
    try:
        return interpreter, leaves, run(interpreter.rebinder.rebind(energy.function), passed)
    except TraceError:
        return interpreter, leaves, None


class _Zeros:
    """A table of an energy, zero out of bounds."""

    def __init__(self, interpreter: Interpreter, table: Lookup):
        self._interpreter, self._table, self.shape = interpreter, table, table.shape

    def __getitem__(self, places: Any) -> float:
        places = places if isinstance(places, tuple) else (places,)
        return float(self._table[tuple(self._interpreter.count(p, "indexes a table") for p in places)])


def _itemsize(dtype: str) -> int:
    return np.dtype(dtype).itemsize


class _Kernels(Symbolic):
    """The stand-in for `ti` while kernels are interpreted."""

    def __init__(self, interpreter: Interpreter):
        super().__init__(interpreter.graph)
        self.interpreter = interpreter
        self.random = self.randn = interpreter.random
        self.loop_config = interpreter.serialise
        self.stop_grad = interpreter.stop_grad
        self.types.ndarray = lambda *_, **__: _same
        self.raw_mod, self.raw_div = _remainder, _quotient
        for dtype in NARROW:
            setattr(self, dtype, partial(self._narrow_cast, dtype))
            setattr(self.types, dtype, getattr(self, dtype))
        self.block_local = self.cache_read_only = self.static_print = self.sync = _nothing
        self.builtins |= {
            "range": self._counted_range,
            "print": _nothing,
            "abs": partial(self._apply_operation, "abs"),
        }
        self.statements: Mapping[str, Callable] = {
            "__assign__": self._assign_name,
            "__copied__": copy_by_value,
            "__turns__": interpreter.turns,
            "__over__": interpreter.iterations_of,
            "__update__": self._update_place,
            "__update_part__": self._update_part,
        }

    def _narrow_cast(self, dtype: str, value: Any) -> Any:
        """A cast to a type of fewer digits: the replay keeps all, and its tolerance is that of the type."""
        self.interpreter.narrow = min(self.interpreter.narrow, NARROW[dtype], key=_itemsize)
        return self._cast_entry("to_real", value)

    def held_stand_in(self, value: Any) -> Any:
        """The stand-in for an array, an object or a module of the program; None: the value itself."""
        value = unwrap_tensor(value)
        if id(value) in self.interpreter.memories:
            return self.interpreter.memories[id(value)]
        if is_array(value):
            quantised = is_quantised(getattr(value, "snode", None))
            raise UnfollowedError(
                "a field of quantised numbers"
                if quantised
                else "an array that was made after the case began, or cannot be read"
            )
        if hasattr(value, "field_dict"):
            return self._struct_stand_in(value)
        if of_program(value):
            return _Module(value, self.interpreter.rebinder)
        home = type(value).__module__.split(".")[0]
        if home in runtime.PREFIXES or isinstance(value, (type, FunctionType)) or callable(value):
            return None
        plain = hasattr(value, "__dict__") and not isinstance(value, type(sys)) and home != "numpy"
        return _Object(value, self) if plain else None

    def _struct_stand_in(self, value: Any) -> StructMemory:
        """The stand-in for a struct field."""
        members = {name: self.held_stand_in(one) for name, one in value.field_dict.items()}
        return StructMemory(value.name or "a struct", members, value.struct_methods, self._rebind_method)

    def _rebind_method(self, method: Any) -> Callable:
        return self.interpreter.rebinder.rebind(self.interpreter.rebinder.function_of(method))

    def struct_type(self, kind: Any) -> Callable[..., LocalStruct]:
        """The stand-in for a type of structs: makes local ones."""

        def make(*values: Any, **named: Any) -> LocalStruct:
            given = dict(zip(kind.members, values, strict=False)) | named
            members = {
                name: self._struct_member(one, given.get(name, 0)) for name, one in kind.members.items()
            }
            return LocalStruct(members, kind.methods, self._rebind_method)

        return make

    def _struct_member(self, kind: Any, value: Any) -> Any:
        """A value as a member of a struct."""
        if hasattr(kind, "members"):
            return value if isinstance(value, (LocalStruct, StructPart)) else self.struct_type(kind)()
        return self.interpreter.rebinder._own_name(kind)(value)

    def grouped(self, over: Any) -> Iterator[Tensor]:
        """Indices as vectors."""
        places = over.places() if isinstance(over, (Memory, StructMemory)) else over
        for place in places:
            index = place if isinstance(place, tuple) else (place,)
            yield Tensor((len(index),), index, self)

    def ndrange(self, *ends: Any) -> Any:
        ranges = [
            self._counted_range(*e) if isinstance(e, (tuple, list)) else self._counted_range(e) for e in ends
        ]
        return ranges[0] if len(ranges) == 1 else product(*ranges)

    def operation(self, op: str) -> Callable[[Any, Any], Any]:
        """The function of an update in place."""
        return {
            "add": lambda a, b: a + b,
            "sub": lambda a, b: a - b,
            "mul": lambda a, b: a * b,
            "div": lambda a, b: a / b,
            "floordiv": lambda a, b: a // b,
            "mod": lambda a, b: a % b,
            "pow": lambda a, b: a**b,
            "min": self.min,
            "max": self.max,
        }[op]

    def _counted_range(self, *ends: Any) -> range:
        return range(*map(self.interpreter.count, ends))

    def _assign_name(self, name: str, value: Any, integers: dict[str, bool]) -> Any:
        if integers.setdefault(name, is_integer(value)) and not is_integer(value):
            if isinstance(value, (float, Scalar, Tensor)):
                self.interpreter.record_truncation(name)
            return copy_by_value(value)
        return copy_by_value(value if integers[name] else as_real(value))

    def _update_place(self, base: Any, index: Any, op: str, value: Any, atomic: bool) -> Any:
        if isinstance(base, Memory):
            at, values = base.element_at(index) * base.width, _entries_for(value, base.width)
            old = [base.update(at + k, op, v, atomic) for k, v in enumerate(values)]
            return Tensor(base.element, old, self) if base.element else old[0]
        if isinstance(base, ArrayPart):
            offsets = base._entry_offsets(base._index_places(index))
            for offset, v in zip(offsets, _entries_for(value, len(offsets)), strict=True):
                base.memory.update(base.begin + offset, op, v, atomic)
            return None
        old = base[index]
        base[index] = self.operation(op)(old, value)
        return old

    def _update_part(self, base: Any, name: str, op: str, value: Any, atomic: bool) -> Any:
        if isinstance(base, StructPart) and isinstance(
            memory := base._memory.members.get(name), (Memory, StructMemory)
        ):
            return self._update_place(memory, base._index, op, value, atomic)
        if isinstance(base, LocalStruct):
            setattr(base, name, self.operation(op)(getattr(base, name), value))
            return None
        letters = next((s for s in ("xyzw", "rgba", "stpq") if set(name) <= set(s)), "")
        if not isinstance(base, Tensor) or not letters:
            raise UnfollowedError(
                f"{current_location()}: .{name}: is changed in place, and is no component of a vector; write "
                "an index"
            )
        for k, letter in enumerate(name):
            one = value if len(name) == 1 or not isinstance(value, (Tensor, list, tuple)) else value[k]
            self._update_place(base, letters.index(letter), op, one, atomic)
        return None


class _Object:
    """An object of the file, whose kernels and functions read its arrays through `self`."""

    def __init__(self, value: Any, functions: _Kernels):
        self.__dict__["_of"], self.__dict__["_functions"] = value, functions

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._of, name)
        held = self._functions.held_stand_in(value)
        if held is not None:
            return held
        function = getattr(getattr(type(self._of), name, None), "__wrapped__", None)
        if isinstance(function, FunctionType):
            return partial(self._functions.interpreter.rebinder.rebind(function), self)
        return self._functions.interpreter.rebinder.stand_in_for(value)


class _Module:
    """A module of the program, whose arrays and functions a kernel reads as `module.name`."""

    def __init__(self, module: Any, rebinder: KernelRebinder):
        self.__dict__["_module"], self.__dict__["_rebinder"] = module, rebinder

    def __getattr__(self, name: str) -> Any:
        return self._rebinder.stand_in_for(getattr(self._module, name))


def _remainder(a: int, b: int) -> int:
    """The remainder of C, with the sign of a."""
    return a - b * _quotient(a, b)


def _quotient(a: int, b: int) -> int:
    """The integer quotient rounded towards zero. Raises `UnfollowedError` for other than integers."""
    if not (isinstance(a, int) and isinstance(b, int)):
        raise UnfollowedError(
            f"{current_location()}: ti.raw_div and ti.raw_mod are replayed for integers only; cast their "
            "arguments"
        )
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _same(value: Any) -> Any:
    return value


def _nothing(*_: Any, **__: Any) -> None:
    return None
