"""An engine's module that is imported when its first attribute is read: a mistake in a scene needs no engine.

Questions of Python itself (`__name__`, `__file__`, `__class__`, ...) import nothing; those for its parts do.
The standard library's `LazyLoader` imports at these, too, and so at any look through `sys.modules`.

Decisions 0131.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

PARTS = ("__path__", "__dict__", "__all__")
"""The attributes of Python itself that a module has only when it is imported."""
failed: list[BaseException] = []
"""The error of the last import, if it failed; the module is then imported at its next use anew."""
_lock = RLock()


class _Late(ModuleType):
    """A module that waits; another thread that reads an attribute waits until it is imported."""

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__
        if name.startswith("__") and name not in PARTS:
            return found(self, name)
        with _lock:
            if type(self) is _Late and (load := found(self, "__dict__").pop("__load__", None)) is not None:
                load()
        return found(self, name)


def imported_late(
    name: str, within: Callable[[], AbstractContextManager], then: Callable[[ModuleType], None]
) -> ModuleType:
    """The module, which is imported when its first attribute is read.

    within: gives the context of the import. then: called with the module when it is imported. Raises
    `ModuleNotFoundError` where it is not installed.
    """
    if name in sys.modules:
        module = sys.modules[name]
        if module is None:  # Python's own word for one that may not be imported
            raise ModuleNotFoundError(f"import of {name} halted; None in sys.modules", name=name)
        if not waits(module):
            then(module)
        return module
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    module, loader = module_from_spec(spec), spec.loader

    def load() -> None:
        try:
            with within():
                loader.exec_module(module)
                then(module)
        except BaseException as error:
            failed[:] = [error]
            for part in [one for one in sys.modules if one.partition(".")[0] == name]:
                del sys.modules[part]
            raise
        finally:
            module.__class__ = ModuleType

    vars(module)["__load__"] = load
    module.__class__ = _Late
    if not any(isinstance(one, _PartsOnce) and one.name == name for one in sys.meta_path):
        sys.meta_path.insert(0, _PartsOnce(name))
    sys.modules[name] = module
    return module


def waits(module: ModuleType) -> bool:
    """True for a module that is not imported yet."""
    return type(module) is _Late


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
