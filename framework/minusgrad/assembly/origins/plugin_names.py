"""Names that Python files beside a scene would register, found in their text: no file is executed."""

import ast
import stat
from collections.abc import Iterator
from pathlib import Path

_MAKERS = ("local_energy", "local_map", "staged_energy", "vector_potential")
_MOST_BYTES, _MOST_FILES = 200_000, 100


def defining(folder: Path, kind: str) -> list[str]:
    """The files of a folder, by name, whose text defines an energy, a map or another kind of that name."""
    return [path.name for path in _files(folder) if kind in _names(path)]


def _files(folder: Path) -> list[Path]:
    try:
        listed = sorted(folder.glob("*.py"))[:_MOST_FILES]
        states = [(path, path.stat()) for path in listed]
    except OSError:
        return []
    return [path for path, s in states if stat.S_ISREG(s.st_mode) and s.st_size <= _MOST_BYTES]


def _names(path: Path) -> set[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return set()
    return {name for node in ast.walk(tree) for name in _of_node(node)}


def _of_node(node: ast.AST) -> Iterator[str]:
    """`@local_energy("morse", ...)`, and the keys of the table that a hook returns."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _MAKERS:
        named = [k.value for k in node.keywords if k.arg == "name"]
        yield from _texts([*node.args[:1], *named])
    elif isinstance(node, ast.FunctionDef) and node.name.startswith("register_"):
        tables = [table for table in ast.walk(node) if isinstance(table, ast.Dict)]
        yield from _texts([key for table in tables for key in table.keys if key is not None])


def _texts(nodes: list[ast.expr]) -> Iterator[str]:
    yield from (n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
