"""An engine's module that is imported when its first attribute is read: a mistake in a scene needs no engine.

Decisions 0131.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType
from typing import Any

_waiting: list[ModuleType] = []
failed: list[BaseException] = []
"""The error of an import that failed, last; the module is then imported at its next use anew."""


class _Watched(Loader):
    """A loader whose imports happen in a context, and end with a function of the module."""

    def __init__(self, inner: Loader, within: Callable[[], AbstractContextManager], then: Callable):
        self.inner, self.within, self.then = inner, within, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        _waiting[:] = [one for one in _waiting if one is not module]
        with self.within(), _noted(module):
            self.inner.exec_module(module)
            self.then(module)


class _Given(Loader):
    """The loader of a part that the import of the whole module has loaded already."""

    def __init__(self, module: ModuleType):
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


class _PartsOnce(MetaPathFinder):
    """`import NAME.part` reads `__path__` of NAME, which imports it, and would then load the part again."""

    def __init__(self, name: str):
        self.name = name

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith(f"{self.name}.") or fullname not in sys.modules:
            return None
        return ModuleSpec(fullname, _Given(sys.modules[fullname]))


@contextmanager
def _noted(module: ModuleType) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        failed[:] = [error]
        for name in [n for n in sys.modules if n.partition(".")[0] == module.__name__]:
            del sys.modules[name]
        raise


def imported_late(
    name: str, within: Callable[[], AbstractContextManager], then: Callable[[ModuleType], None]
) -> ModuleType:
    """The module, which is imported when its first attribute is read.

    within: gives the context of the import. then: called with the module when it is imported. Raises
    `ModuleNotFoundError` where it is not installed.
    """
    if name in sys.modules:
        module = sys.modules[name]
        then(module)
        return module
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    if not any(isinstance(one, _PartsOnce) and one.name == name for one in sys.meta_path):
        sys.meta_path.insert(0, _PartsOnce(name))
    spec.loader = LazyLoader(_Watched(spec.loader, within, then))
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    _waiting.append(module)
    return module


def name_of(module: ModuleType) -> str:
    """The name of a module, which is not imported for the question."""
    return str(ModuleType.__getattribute__(module, "__name__"))


def waits(value: Any) -> bool:
    """True for a module whose import waits for a first attribute; other questions would be that attribute."""
    return any(value is one for one in _waiting)
