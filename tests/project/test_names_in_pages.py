"""The pages about the code name modules, classes and files that exist."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.project.package_map import CORE, DOORS, PACKAGES, ROOT, modules

PAGES = ["ARCHITECTURE.md", "CONTRIBUTING.md", "tests/traps/README.md", "docs/plugins.md", "docs/python.md"]
PLANNED = ("steppers/constrained",)
"""Rooms that later work is to build."""
OTHERS = ("torch.compile", "torch.func")
"""Names of PyTorch, whose package is called like one of ours."""
GROUPS = ("minusgrad.commands",)
"""Entry-point groups."""
FOLDERS = ("tests", "plugins", "framework", "docs", "scenes", "benchmarks")
QUOTED = re.compile(r"(?<!`)`([\w./]+)`")
CLASS = re.compile(r"[A-Z][a-z]+[A-Za-z]*|LBFGS")


@cache
def defined(path: Path) -> frozenset[str]:
    """The names that a module defines or imports."""
    tree = ast.parse(path.read_text())
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names |= {alias.asname or alias.name for alias in node.names}
    return frozenset(names)


@cache
def classes() -> frozenset[str]:
    paths = [*modules().values(), *(ROOT / "plugins").rglob("*.py")]
    trees = (ast.parse(path.read_text()) for path in paths)
    return frozenset(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def missing(token: str) -> bool:
    """True for a name of ours that does not exist; others are not judged."""
    first = re.split(r"[./]", token)[0]
    if token in (*PLANNED, *OTHERS, *GROUPS):
        return False
    if "/" in token:
        roots = (ROOT,) if first in FOLDERS else (CORE,)
        ours = first in FOLDERS or first in PACKAGES
        return ours and not any((root / token).exists() for root in roots)
    if "." in token:
        name = token.removeprefix("minusgrad.")
        return (name != token or first in PACKAGES) and not exists(name)
    return CLASS.fullmatch(token) is not None and token not in classes()


def exists(name: str) -> bool:
    """`package.module`, a name that this module has, or one that a public door hands out."""
    owner, _, last = name.rpartition(".")
    if owner in DOORS:
        return name in modules() or last in dir(import_module(f"minusgrad.{owner}".rstrip(".")))
    return name in modules() or (owner in modules() and last in defined(modules()[owner]))


@pytest.mark.parametrize("page", PAGES)
def test_every_name_exists(page: str) -> None:
    tokens = QUOTED.findall((ROOT / page).read_text())
    assert tokens
    assert sorted({token for token in tokens if missing(token)}) == []


def test_names_that_do_not_exist_are_found() -> None:
    names = ["steppers.schemas", "steppers.schemes.SCHEMAS", "tests/nowhere.py", "app/nothing.py"]
    assert [name for name in names if not missing(name)] == []
    assert missing("minusgrad.plugins")
    assert missing("Integratorr")
    assert not missing("steppers.schemes.SCHEMES")
