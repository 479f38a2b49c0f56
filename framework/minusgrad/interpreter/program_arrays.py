"""The arrays of a program: their shape, offset, sparsity, members, names, and who shares whose memory.

    field       one place in the engine's tree for each number of an element; a place has one memory
    ndarray     an object of its own
    host array  a NumPy array or a PyTorch tensor that a kernel was given

An array that shares all its places with another one (a component of a vector field, a member of a struct
field) is an alias: it is read through its owner, and never reset by itself. Adjoints and duals are no arrays
of their own. Of a sparse field only active cells are read and written.

Decisions 0080.
"""

import gc
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from sysconfig import get_paths
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ..engine import runtime
from . import sparse_cells

DEEP, MANY = 4, 256
"""How deep names of arrays in objects are searched, and how many entries of a container have names."""
UNKNOWN = "an array"
QUANTISED = ("bit_struct", "quant_array")


@dataclass(eq=False)
class ProgramArray:
    """An array of the program, or an argument of a kernel: a field, an ndarray, or a host array."""

    name: str
    array: Any
    start: np.ndarray = field(repr=False, default_factory=lambda: np.zeros(0))
    """Its values at the start of every run."""
    names: tuple[str, ...] = ()
    """All names that it has in the file."""
    start_active: np.ndarray | None = field(repr=False, default=None)
    """The cells that are active at the start of every run, of a sparse field."""
    read: np.ndarray | None = field(repr=False, default=None)
    """The numbers whose values at the start a run reads before it overwrites them; None for all."""

    # What it is

    @cached_property
    def snode(self) -> Any:
        return getattr(self.array, "snode", None)

    @cached_property
    def places(self) -> tuple[Hashable, ...]:
        """The memory of each number of an element; equal places are the same memory."""
        if self.snode is None:
            return (("object", id(self.array)),)
        nodes = [member.ptr.snode() for member in self.array._get_field_members()]
        return tuple(("tree", node.get_snode_tree_id(), node.id) for node in nodes)

    @cached_property
    def offset(self) -> tuple[int, ...]:
        """The least index along each axis."""
        given = tuple(self.snode.ptr.offset) if self.snode is not None else ()
        return given or (0,) * len(self.axes)

    @cached_property
    def axes(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def element(self) -> tuple[int, ...]:
        """The shape of an element: () of numbers."""
        return self.start.shape[len(self.axes) :]

    @property
    def is_real(self) -> bool:
        return self.start.dtype.kind == "f"

    @cached_property
    def sparse(self) -> bool:
        return self.snode is not None and sparse_cells.is_sparse(self.snode)

    @cached_property
    def unmodelled_reason(self) -> str:
        """Why a replay cannot stand in for it; "" where it can."""
        return "is quantised" if is_quantised(self.snode) else ""

    # Its numbers

    @property
    def values(self) -> np.ndarray:
        return np.array(self.array.to_numpy())

    def write_values(self, values: np.ndarray) -> None:
        """Give it these values: of a sparse field the cells that are active at the start."""
        values = np.array(values, self.start.dtype, order="C")
        if self.sparse:
            self._put_cells(self.array, values, self.start_active)
        else:
            self.array.from_numpy(values)

    @property
    def active(self) -> np.ndarray:
        """The cells that are active now; all of a dense array."""
        return (
            sparse_cells.active(self._member_fields(self.array)[0])
            if self.sparse
            else np.ones(self.axes, bool)
        )

    def settle(self) -> None:
        """Take the present values, and active cells, as those at the start of every run."""
        self.start, self.start_active = self.values, self.active if self.sparse else None

    # Its adjoint

    @cached_property
    def adjoint(self) -> Any:
        """The array of its adjoint, or None. (A field without one has a `grad` that is no array.)"""
        if self.snode is not None and not self.snode.ptr.has_adjoint():
            return None
        return getattr(self.array, "grad", None)

    @property
    def gradient(self) -> np.ndarray | None:
        """Its adjoint's numbers, if it has one."""
        return None if self.adjoint is None else np.array(self.adjoint.to_numpy())

    def seed(self, values: Any) -> None:
        """Give its adjoint these numbers. (`fill` compiles a kernel at every call.)"""
        shape = np.broadcast_shapes(self.start.shape, np.shape(values))
        values = np.full(shape, values, self.start.dtype)
        if self.sparse:
            self._put_cells(self.adjoint, values, sparse_cells.active(self._member_fields(self.adjoint)[0]))
        else:
            self.adjoint.from_numpy(values)

    # Sparse fields

    def erase(self) -> None:
        """Set all active cells, and their adjoints, to zero."""
        for array in (self.array, self.adjoint):
            if array is not None:
                mask = sparse_cells.active(self._member_fields(array)[0])
                self._put_cells(array, np.zeros_like(self.start), mask)

    def _put_cells(self, array: Any, values: np.ndarray, mask: np.ndarray | None) -> None:
        members = self._member_fields(array)
        mask = np.ones(self.axes, bool) if mask is None else mask
        flat = values.reshape(*self.axes, len(members))
        for k, member in enumerate(members):
            sparse_cells.write(member, mask, flat[..., k])

    def _member_fields(self, array: Any) -> Sequence[Any]:
        """The scalar fields of a field, made once: each compiles kernels of its own."""
        made = self.__dict__.setdefault("_made", {})
        if id(array) not in made:
            scalar = runtime.part("lang.field").ScalarField
            members = array._get_field_members()
            made[id(array)] = [array] if isinstance(array, scalar) else [scalar(m) for m in members]
        return made[id(array)]


class HostArray(ProgramArray):
    """A NumPy array, or a PyTorch tensor, that a kernel was given."""

    @property
    def is_tensor(self) -> bool:
        return is_tensor(self.array)

    @cached_property
    def snode(self) -> Any:
        return None

    @cached_property
    def places(self) -> tuple[Hashable, ...]:
        return (host_memory(self.array),)

    @cached_property
    def sparse(self) -> bool:
        return False

    @property
    def element(self) -> tuple[int, ...]:
        return ()

    @property
    def values(self) -> np.ndarray:
        return _on_host(self.array)

    def write_values(self, values: np.ndarray) -> None:
        _fill_host(self.array, values)

    @property
    def adjoint(self) -> Any:
        if not self.is_tensor or not self.array.requires_grad:
            return None
        if self.array.grad is None:
            self.array.grad = self.array.detach() * 0.0
        return self.array.grad

    @property
    def gradient(self) -> np.ndarray | None:
        return None if self.adjoint is None else _on_host(self.adjoint)

    def seed(self, values: Any) -> None:
        _fill_host(self.adjoint, np.broadcast_to(values, self.start.shape))


def is_quantised(snode: Any) -> bool:
    """True for the place of a field whose numbers have few bits; False for None, an array without places."""
    return snode is not None and str(snode.parent().ptr.type).rpartition(".")[2] in QUANTISED


def host_memory(array: Any) -> Hashable:
    """The memory of a host array: equal for views of all of it in the same order."""
    if isinstance(array, np.ndarray):
        return ("host", array.__array_interface__["data"][0], array.shape, array.strides)
    return ("host", array.data_ptr(), tuple(array.shape), tuple(array.stride()))


def is_host_array(value: Any) -> bool:
    """True for a NumPy array or a PyTorch tensor of numbers."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiub"
    return type(value).__module__.split(".")[0] == "torch" and hasattr(value, "data_ptr")


def is_tensor(value: Any) -> bool:
    """True for a PyTorch tensor."""
    return is_host_array(value) and not isinstance(value, np.ndarray)


def _on_host(array: Any) -> np.ndarray:
    return np.array(array) if isinstance(array, np.ndarray) else np.array(array.detach().cpu().numpy())


def _fill_host(array: Any, values: np.ndarray) -> None:
    if isinstance(array, np.ndarray):
        array[...] = values
    else:
        given = np.ascontiguousarray(values)
        array.detach().copy_(array.detach().new_tensor(given.tolist()).reshape(array.shape))


# Arrays that are alive ------------------------------------------------------------------------------


@dataclass
class FoundArrays:
    """The arrays of a program: owners of their memory, and aliases of these."""

    owners: list[ProgramArray]
    aliases: list[ProgramArray]


def alive(*scopes: dict[str, Any]) -> FoundArrays:
    """Every array that is alive, with its names in these scopes (of the file first)."""
    fields = runtime.part("lang.field")
    structs = runtime.part("lang.struct").StructField
    kinds = (fields.Field, runtime.part("lang._ndarray").Ndarray)
    found = [one for one in gc.get_objects() if isinstance(one, kinds) and not isinstance(one, structs)]
    adjoints = {id(one.grad) for one in found if getattr(one, "grad", None) is not None}
    adjoints |= {id(dual) for one in found if (dual := getattr(one, "dual", None)) is not None}
    primal = [one for one in found if id(one) not in adjoints and _is_readable(one)]
    names: dict[int, list[str]] = {}
    for scope in scopes:
        for key, name in _named_arrays(scope):
            names.setdefault(key, []).append(name)
    arrays = [_named_array(one, names.get(id(one), [])) for one in primal]
    both = _by_owner(arrays)
    _add_tensors(both, scopes)
    return both


def _add_tensors(found: FoundArrays, scopes: Sequence[dict[str, Any]]) -> None:
    """Add the tensors of a file that have, or may have, a gradient."""
    owners: dict[Hashable, HostArray] = {}
    for name, value in ((n, v) for scope in scopes for n, v in list(scope.items())):
        if is_tensor(value) and value.requires_grad:
            made = HostArray(name, value, names=(name,))
            owner = owners.setdefault(made.places[0], made)
            (found.owners if owner is made else found.aliases).append(made)
            owner.names += () if owner is made else (name,)


def _named_array(array: Any, names: Sequence[str]) -> ProgramArray:
    ordered = sorted(dict.fromkeys(names), key=lambda n: (n.count(".") + n.count("["), n.count(".grad")))
    return ProgramArray(ordered[0] if ordered else "", array, names=tuple(ordered))


def _by_owner(arrays: Sequence[ProgramArray]) -> FoundArrays:
    """Owners and aliases: of those that share memory the one with the most members, and a name, owns it."""
    claimed: set[Hashable] = set()
    found = FoundArrays([], [])
    for one in sorted(arrays, key=lambda a: (-len(a.places), not a.name)):
        covered = claimed.issuperset(one.places)
        (found.aliases if covered else found.owners).append(one)
        claimed.update(one.places)
    order = {id(one): k for k, one in enumerate(arrays)}
    found.owners.sort(key=lambda a: order[id(a)])
    for alias in found.aliases:
        for owner in found.owners if alias.name else ():
            if owner.places == alias.places:
                owner.names += alias.names
    return found


def _is_readable(array: Any) -> bool:
    """True for an array of numbers of the running engine that is not an adjoint."""
    try:
        if getattr(array, "snode", None) is not None and not array.snode.ptr.is_primal():
            return False
        array.to_numpy()
        return hasattr(array, "grad")
    except Exception:  # of an engine that has ended, or never placed
        return False


# Their names ----------------------------------------------------------------------------------------


def _named_arrays(scope: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """The arrays of a scope, by `id`, and each name that they have in it."""
    seen: set[int] = set()
    home = str(scope.get("__name__", ""))
    for name, value in list(scope.items()):
        if not name.startswith("__"):
            yield from _arrays_within(name, value, home, seen, DEEP)


def _arrays_within(name: str, value: Any, home: str, seen: set[int], deep: int) -> Iterator[tuple[int, str]]:
    """A value's arrays, and those of its attributes, entries, or closure."""
    if is_array(value):
        yield id(unwrap_tensor(value)), name
        return
    inside: Callable[[], Iterator[tuple[str, Any]]] | None = _parts_of(name, value, home)
    if inside is None or deep == 0 or id(value) in seen:
        return
    seen.add(id(value))
    for inner, one in inside():
        yield from _arrays_within(inner, one, home, seen, deep - 1)


def _parts_of(name: str, value: Any, home: str) -> Callable[[], Iterator[tuple[str, Any]]] | None:
    """The parts of a value that may have arrays, with their names."""
    if isinstance(value, ModuleType):
        inner = vars(value) if of_program(value) else {}
        return lambda: ((f"{name}.{key}", one) for key, one in list(inner.items()) if key[:2] != "__")
    if isinstance(value, dict):
        return lambda: ((f"{name}[{key!r}]", one) for key, one in list(value.items())[:MANY])
    if isinstance(value, (list, tuple)):
        labels = getattr(value, "_fields", None)
        return lambda: (
            (f"{name}.{labels[k]}" if labels else f"{name}[{k}]", one) for k, one in enumerate(value[:MANY])
        )
    of_engine = type(value).__module__.split(".")[0] in runtime.PREFIXES
    members = getattr(value, "field_dict", None) if of_engine else None
    if isinstance(members, dict):  # a struct field
        return lambda: ((f"{name}.{key}", one) for key, one in members.items())
    if isinstance(value, FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        return lambda: ((key, cell.cell_contents) for key, cell in cells if _is_filled(cell))
    kind = value if isinstance(value, type) else type(value)
    own = kind.__module__ == home or hasattr(kind, "__dataclass_fields__")
    own = own or of_program(sys.modules.get(kind.__module__))
    if own and isinstance(getattr(value, "__dict__", None), dict | type(type.__dict__)):
        return lambda: ((f"{name}.{key}", one) for key, one in list(vars(value).items()) if key[:2] != "__")
    return None


def of_program(module: Any) -> bool:
    """True for a module that belongs to a checked program: neither installed, nor one of Python's."""
    file = getattr(module, "__file__", None)
    if not isinstance(module, ModuleType) or not file:
        return False
    path = Path(file).resolve()
    if {"site-packages", "dist-packages"} & {*path.parts}:  # a .pth file may add those of another environment
        return False
    return not any(folder in path.parents for folder in _installed_folders())


@cache
def _installed_folders() -> frozenset[Path]:
    """The folders of Python, of what is installed, and of this package."""
    folders = [get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    return frozenset({*(Path(folder).resolve() for folder in folders), Path(__file__).resolve().parents[1]})


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def is_array(value: Any) -> bool:
    """True for a field of numbers, an ndarray, or a wrapper of one."""
    value = unwrap_tensor(value)
    if isinstance(value, runtime.part("lang._ndarray").Ndarray):
        return True
    return isinstance(value, runtime.part("lang.field").Field) and not hasattr(value, "field_dict")


def unwrap_tensor(value: Any) -> Any:
    """The array in a wrapper (`qd.tensor`); other values as they are."""
    wraps = type(value).__module__.split(".")[0] in runtime.PREFIXES and hasattr(value, "_unwrap")
    return value._unwrap() if wraps else value
