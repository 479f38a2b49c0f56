"""The public doors: they load lazily, show their names, and document them."""

import ast
import builtins
import inspect
import re
import rlcompleter
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest

import minusgrad
import minusgrad.plugin
import minusgrad.testing
import minusgrad.torch
from tests.project.package_map import CORE
from tests.project.test_packages import imports

LAZY = [minusgrad, minusgrad.plugin, minusgrad.testing]
ADAPTERS = [package for package in ("ase", "openmm") if find_spec(package)]
"""Those whose program is installed; `tests/adapters` skips the others with a reason."""
DOORS = [*LAZY, minusgrad.torch, *(import_module(f"minusgrad.{package}") for package in ADAPTERS)]
FILES = {
    minusgrad: CORE / "__init__.py",
    minusgrad.plugin: CORE / "plugin.py",
    minusgrad.testing: CORE / "testing.py",
}
CONSTANTS = {"SCHEMES", "hookimpl", "ti"}
"""Names of values, which their module documents."""


def called(door: ModuleType) -> str:
    return door.__name__


@pytest.mark.parametrize("door", LAZY, ids=called)
def test_a_door_loads_nothing_of_the_house(door: ModuleType) -> None:
    code = (
        f"import sys, {door.__name__}\n"
        "print([m for m in sys.modules if m.startswith('minusgrad.') and m != '"
        f"{door.__name__}'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    used = {module for _, module, _ in imports(FILES[door].read_text())}
    assert used <= {"__future__", "."}


@pytest.mark.parametrize("door", LAZY, ids=called)
def test_type_checkers_see_the_names_that_a_door_loads(door: ModuleType) -> None:
    """The imports for type checkers, the table of homes and `__all__` name the same things."""
    (block,) = (
        node
        for node in ast.parse(FILES[door].read_text()).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }
    homes = {name: home for home, names in door._HOMES.items() for name in names.split()}
    assert seen | ({"ti": "engine.runtime"} if "ti" in homes else {}) == homes
    assert door.__all__ == sorted((name for name in homes if not hasattr(builtins, name)), key=isort_key)
    assert all(hasattr(door, name) for name in homes)


@pytest.mark.parametrize("door", DOORS, ids=called)
def test_import_of_everything_replaces_no_function_of_python(door: ModuleType) -> None:
    assert [name for name in door.__all__ if hasattr(builtins, name)] == []
    space: dict[str, Any] = {}
    exec(f"from {door.__name__} import *", space)
    assert {*door.__all__} <= {*space}
    assert "open" not in space


def shown(door: ModuleType) -> set[str]:
    """The public names of a door, with those that Python has, too."""
    return {*door.__all__, *({"open"} if door is minusgrad else ())}


def isort_key(name: str) -> tuple[bool, bool, str]:
    """Constants, classes, functions."""
    return not name.isupper(), not name[0].isupper(), name


@pytest.mark.parametrize("door", DOORS, ids=called)
def test_dir_and_the_tab_key_show_the_public_names(door: ModuleType) -> None:
    assert shown(door) <= set(dir(door))
    completer = rlcompleter.Completer({"door": door})
    found = {text.partition("(")[0] for text in completer.attr_matches("door.")}
    assert {f"door.{name}" for name in shown(door)} <= found


@pytest.mark.parametrize("door", DOORS, ids=called)
def test_dir_shows_nothing_else(door: ModuleType) -> None:
    assert {name for name in dir(door) if not name.startswith("__")} == shown(door)
    with pytest.raises(AttributeError, match=f"module '{door.__name__}' has no attribute 'Recrod'"):
        _ = door.Recrod


def public() -> dict[str, Any]:
    """Every public name, and of modules among them every function; constants are left out."""
    found = {f"{door.__name__}.{n}": getattr(door, n) for door in DOORS for n in sorted(shown(door))}
    found = {name: value for name, value in found.items() if name.rpartition(".")[2] not in CONSTANTS}
    for name, value in list(found.items()):
        if inspect.ismodule(value):
            own = {n: f for n, f in vars(value).items() if inspect.isfunction(f) and n[0] != "_"}
            found |= {f"{name}.{n}": f for n, f in own.items() if f.__module__ == value.__name__}
    return found


def raises(value: Any) -> bool:
    """True if its own body, or that of its constructor, has a `raise`."""
    if inspect.isclass(value):
        made = (value.__dict__.get(n) for n in ("__init__", "__post_init__"))
        return any(raises(function) for function in made if function is not None)
    if not inspect.isfunction(value) or value.__code__.co_filename == "<string>":  # of a dataclass
        return False
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(value)))
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


@pytest.mark.parametrize("name", public())
def test_a_public_name_is_documented(name: str) -> None:
    """More than a sentence, and the errors that it raises itself."""
    value = public()[name]
    text = " ".join((value.__doc__ or "").split())
    assert len(re.findall(r"[.;:](?: |$)", text)) > 1, text
    if raises(value):
        assert "aises" in text, text


GIVEN = ("minusgrad.plugin.Term",)
"""Classes whose objects a function makes: `bind`."""
MANY = 15
"""More arguments than this are documented one by one, not in a paragraph."""


@pytest.mark.parametrize("name", public())
def test_many_arguments_are_documented_one_by_one(name: str) -> None:
    """Each has a row in the table of the docstring, and `help` of the constructor has the table, too."""
    value = public()[name]
    if name in GIVEN:
        return
    try:
        given = [p.name for p in inspect.signature(value).parameters.values() if p.kind != p.VAR_KEYWORD]
    except (TypeError, ValueError):
        return
    if len(given) <= MANY:
        return
    texts = [value.__doc__ or ""]
    if inspect.isclass(value) and value.__init__.__module__.startswith("minusgrad"):
        own = value.__init__.__doc__
        texts += [] if hasattr(value, "__dataclass_fields__") else [own or ""]
    for text in texts:
        rows = re.findall(r"^ *(\w+) {2,}\S", text, re.MULTILINE)
        assert [one for one in given if one not in ("energy", "fields") and one not in rows] == []


def test_constants_are_documented_by_their_module() -> None:
    for door in LAZY:
        missing = [n for n in CONSTANTS & set(door.__all__) if f"`{n}`" not in (door.__doc__ or "")]
        assert missing == []
