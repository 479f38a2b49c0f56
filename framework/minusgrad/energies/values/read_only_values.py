"""Values of a field as a read-only array, whose refusal of a write names the cure.

NumPy says "assignment destination is read-only", which leaves open how a field is written.
"""

from typing import Any, NoReturn

import numpy as np

from ...errors import EnergyError


class ReadOnlyValues(np.ndarray):
    """A view of the present values of a field; what is computed from it is a plain array.

        values = np.array([1.0, 2.0]).view(ReadOnlyValues).of("x")

    Raises `EnergyError` where it is written.
    """

    name: str = ""
    """That of the field."""

    def of(self, name: str) -> "ReadOnlyValues":
        """The same view, of the field of this name, and read-only from now on."""
        self.name = name
        self.flags.writeable = False
        return self

    def __array_finalize__(self, source: Any) -> None:
        self.name = getattr(source, "name", "")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        if any(isinstance(one, ReadOnlyValues) and not one.flags.writeable for one in out):
            self._refuse()
        if out:
            options["out"] = tuple(map(_plain, out))
        return getattr(ufunc, method)(*map(_plain, inputs), **options)

    def __setitem__(self, place: Any, value: Any) -> None:
        if not self.flags.writeable:
            self._refuse()
        super().__setitem__(place, value)

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    def __reduce__(self) -> Any:
        return self.view(np.ndarray).__reduce__()

    def copy(self, order: Any = "C") -> np.ndarray:  # type: ignore[override]
        """A plain array of its own, which may be written."""
        return np.array(self, order=order)

    def astype(self, *args: Any, **options: Any) -> np.ndarray:
        """A plain array of another type."""
        return self.view(np.ndarray).astype(*args, **options)

    def _refuse(self) -> NoReturn:
        raise EnergyError(
            f"field '{self.name}': its values are read-only, got an assignment to some of them; change a copy"
            f" and write fields['{self.name}'].set(copy)"
        )


def _plain(one: Any) -> Any:
    return one.view(np.ndarray) if isinstance(one, ReadOnlyValues) else one
