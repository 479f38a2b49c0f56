"""The engine's arrays of a staged term: types and shapes from the kernels' annotations, adjoints beside them.

Values of fields and inputs are copied into them, so that their own memory may be anywhere.

Decisions 0315.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...energies.fields import Field
from ...energies.staged_energy import Stage, Staged
from ...engine import runtime, storage
from ...errors import EnergyError

REALS, INTEGERS = ("f32", "f64"), ("i32",)


class StagedArrays:
    """All arrays that the stages of one term read and write, by name; allocated once for each engine.

    `fields` and `inputs` (data and parameters) are by argument; `sizes` gives numbers to names in shapes.
    Raises `EnergyError`, once arrays are needed, for annotations that do not fit shapes or each other.
    """

    def __init__(
        self,
        term: str,
        energy: Staged,
        fields: Mapping[str, Field],
        inputs: Mapping[str, np.ndarray],
        sizes: Mapping[str, int],
        dtype: np.dtype,
    ):
        self.term, self.energy, self.dtype = term, energy, dtype
        self._fields, self._inputs, self._sizes = fields, inputs, sizes
        self._arrays: dict[str, Any] = {}
        self._engine = 0

    @property
    def by_name(self) -> dict[str, Any]:
        """All arrays; those of real numbers have an adjoint, `grad`."""
        if self._engine != runtime.start_count():
            names = dict.fromkeys(a for stage in self.energy.stages for a in stage.arrays.values())
            self._arrays = {name: self._allocate_array(name) for name in names}
            self._engine = runtime.start_count()
        return self._arrays

    def write_array(self, name: str, values: np.ndarray) -> None:
        """Overwrite an array."""
        fill(self.by_name[name], values)

    def values(self, name: str) -> np.ndarray:
        """A copy of an array."""
        return self.copy_array(name, self.by_name[name])

    def copy_array(self, name: str, array: Any) -> np.ndarray:
        """A copy of the engine's `array`, the one of this name or its adjoint, in its shape."""
        memory = storage.view(array)
        return np.array(array.to_numpy() if memory is None else memory).reshape(self.shape(name))

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array; of an output that is not `between`, ()."""
        if name in self._fields:
            return self._fields[name].shape
        if name in self._inputs:
            return self._inputs[name].shape
        axes = self.energy.between[name].shape if name in self.energy.between else ()
        return tuple(self._sizes[axis] if isinstance(axis, str) else axis for axis in axes)

    def _allocate_array(self, name: str) -> Any:
        """An array of the element type and number of axes that the kernels' annotations ask for."""
        stated = list(self._array_annotations(name))
        integer = name in self._inputs and self._inputs[name].dtype.kind == "i"
        kind = self._element_type(name, [a.dtype for a in stated if a.dtype is not None], integer)
        element = tuple(kind.get_shape()) if hasattr(kind, "get_shape") else ()
        shape = self.shape(name)
        axes = shape[: len(shape) - len(element)]
        if shape == () and any(a.ndim == 1 for a in stated):
            axes = shape = (1,)
        if axes + element != shape or any(a.ndim not in (None, len(axes)) for a in stated):
            wants = [f"{_type_in_words(kind)} on {a.ndim} axes" for a in stated]
            raise EnergyError(
                f"{self.term}: '{name}' has shape {list(shape)}; kernels take it as {', '.join(wants)}"
            )
        return storage.ndarray(kind, axes, needs_grad=not integer)

    def _element_type(self, name: str, stated: Sequence[Any], integer: bool) -> Any:
        """The type of an array's elements: the kernels', else the run's precision."""
        kinds = dict.fromkeys(map(_type_in_words, stated))
        if len(kinds) > 1:
            raise EnergyError(f"{self.term}: kernels differ in the type of '{name}', got {', '.join(kinds)}")
        ours = "i32" if integer else storage.ENGINE_DTYPES[self.dtype.name]
        if next(iter(kinds), ours).split()[0] not in (INTEGERS if integer else REALS):
            holds = "integers (i32)" if integer else "real numbers, as everything that has a derivative"
            raise EnergyError(
                f"{self.term}: a kernel takes '{name}' as {next(iter(kinds))}; it holds {holds}"
            )
        return stated[0] if stated else getattr(runtime.engine(), ours)

    def _array_annotations(self, name: str) -> Iterator[Any]:
        """The annotations of an array in kernels; plain Python functions need none."""
        for stage in self.energy.stages:
            parameters = inspect.signature(stage.kernel).parameters
            for argument in (a for a, array in stage.arrays.items() if array == name):
                annotation = parameters[argument].annotation
                if isinstance(annotation, runtime.engine().types.ndarray):
                    yield annotation
                elif hasattr(stage.kernel, "grad"):
                    raise EnergyError(
                        f"{stage_label(self.term, stage)}: '{argument}' must be a ti.types.ndarray, even if "
                        "it"
                        " is one number; plain numbers and templates have no derivative"
                    )


def stage_label(term: str, stage: Stage) -> str:
    """The name of a stage of a term in messages."""
    return f"{term}, stage '{stage.name}'"


def fill(array: Any, values: np.ndarray) -> None:
    """Overwrite an engine's array, whose elements may be vectors."""
    memory = storage.view(array)
    if memory is not None:
        memory[...] = np.reshape(values, memory.shape)
        return
    shape = (*array.shape, *getattr(array, "element_shape", ()))
    array.from_numpy(
        np.array(values, storage.NUMPY_DTYPES[array.dtype.to_string()], order="C").reshape(shape)
    )


def clear(array: Any) -> None:
    """Zero an engine's array. Of vectors, the engine's own `fill` compiles a kernel at each call."""
    memory = storage.view(array)
    if memory is not None:
        memory.fill(0)
    elif getattr(array, "element_shape", ()):
        fill(array, np.zeros((*array.shape, *array.element_shape)))
    else:
        array.fill(0)


def _type_in_words(kind: Any) -> str:
    """An element's type in words: "f64", "f64 (3,)"."""
    if hasattr(kind, "get_shape"):
        return f"{_type_in_words(kind.dtype)} {tuple(kind.get_shape())}"
    return kind.to_string() if hasattr(kind, "to_string") else kind.__name__
