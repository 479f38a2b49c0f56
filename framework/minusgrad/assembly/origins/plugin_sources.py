"""Source files of a plugin, with their hashes as they were when the plugin was imported.

A distribution counts as a whole: the Python files and compiled modules of its RECORD, and everything below
the top-level package of the plugin (of editable installs RECORD has nothing else). For a file of
`--plugin` and a module at hand it is the file, and the modules beside or below it that it imports, each with
their own imports.

Files are hashed once for each imported module: what is edited later is not what the process runs.

Decisions 0242.
"""

import ast
import hashlib
import io
import os
import sys
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType
from weakref import WeakKeyDictionary

from ..installed_plugins import OURS, Plugin
from .source_text import TEXT

_SUFFIXES = (".py", ".so", ".pyd")
_LOADED: WeakKeyDictionary[ModuleType, "PluginSources"] = WeakKeyDictionary()


@dataclass(frozen=True)
class PluginSources:
    """The hashes of a plugin's files by name, and the paths of the files.

    hashes: SHA-256 of the file, and that of its code alone if the plugin is not ours (16 digits each).
    files: their paths.
    """

    hashes: Mapping[str, str]
    files: frozenset[str]

    @cached_property
    def paths(self) -> frozenset[Path]:
        """The files without links."""
        return frozenset(Path(path).resolve() for path in self.files)

    @property
    def whole(self) -> str:
        """One hash of all files and their names."""
        return _sha("\0".join(f"{name} {one}" for name, one in self.hashes.items()).encode())


def sources(plugin: Plugin, module: ModuleType) -> PluginSources:
    """The files of a plugin, as they were at the first call for this module."""
    if module not in _LOADED and (text := getattr(module, TEXT, None)) is not None:
        data, file = text.encode(), getattr(module, "__file__", None)
        hashes = {f"{module.__name__}.py": f"{_sha(data)} {_sha(code_alone(data))}"}
        _LOADED[module] = PluginSources(hashes, frozenset([file] if file else []))
    if module not in _LOADED:
        hashed = _sha_of if plugin.distribution == OURS else _sha_and_code
        files = {name: path for name, path in sorted(_named(plugin, module)) if os.path.isfile(path)}
        hashes = {name: hashed(path) for name, path in files.items()}
        _LOADED[module] = PluginSources(hashes, frozenset(files.values()))
    return _LOADED[module]


@cache
def _sha_of(path: str) -> str:
    """Of a file of ours, read once: the core's are those of the framework, too."""
    with open(path, "rb") as file:
        return _sha(file.read())


def _sha_and_code(path: str) -> str:
    data = Path(path).read_bytes()
    return f"{_sha(data)} {_sha(code_alone(data) if path.endswith('.py') else data)}"


def _named(plugin: Plugin, module: ModuleType) -> Iterator[tuple[str, str]]:
    """The files by names that do not depend on where they are installed."""
    file = Path(getattr(module, "__file__", None) or "")
    if plugin.distribution in ("file", "module"):
        yield file.name, str(file)
        folder = file.parent.resolve()
        for name, beside in _imported_beside(module, folder, {module.__name__}):
            below = beside.relative_to(folder).as_posix() if beside.is_relative_to(folder) else name
            yield below, str(beside)
        return
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    for root in map(str, getattr(top, "__path__", [])):
        yield from _below_once(root) if plugin.distribution == OURS else _below(root)
    yield (f"{file.parent.name}/{file.name}" if hasattr(top, "__path__") else file.name), str(file)
    if plugin.distribution != OURS:
        yield from ((name, str(path)) for name, path in _recorded(plugin))


def _below(root: str) -> Iterator[tuple[str, str]]:
    """The files with code below a folder: the name that begins with the folder's, and the path."""
    for folder, folders, names in os.walk(root):
        folders[:] = [one for one in folders if one != "__pycache__"]
        below = f"{os.path.basename(root)}{folder.removeprefix(root)}".replace(os.sep, "/")
        yield from ((f"{below}/{n}", os.path.join(folder, n)) for n in names if n.endswith(_SUFFIXES))


@cache
def _below_once(root: str) -> tuple[tuple[str, str], ...]:
    return tuple(_below(root))


def _recorded(plugin: Plugin) -> Iterator[tuple[str, Path]]:
    try:
        of_it: Distribution = distribution(plugin.distribution)
    except (PackageNotFoundError, ValueError):
        return
    for one in of_it.files or ():
        if one.suffix in _SUFFIXES and ".." not in one.parts:
            yield one.as_posix(), Path(str(of_it.locate_file(one)))


def _imported_beside(module: ModuleType, folder: Path, seen: set[str]) -> Iterator[tuple[str, Path]]:
    """The modules beside or below a folder that a module's text imports, and those that they import."""
    for name in _imports(module):
        found = sys.modules.get(name)
        file = getattr(found, "__file__", None)
        if found is None or file is None or name in seen:
            continue
        seen.add(name)
        path = Path(file).resolve()
        if path.is_relative_to(folder) and "site-packages" not in path.relative_to(folder).parts:
            yield name, path
            yield from _imported_beside(found, folder, seen)


def _imports(module: ModuleType) -> Iterator[str]:
    """The full names of modules that may be meant by the imports in a module's text."""
    try:
        tree = ast.parse(Path(getattr(module, "__file__", None) or "").read_bytes())
    except (OSError, ValueError, SyntaxError):
        return
    package = getattr(module, "__package__", "") or ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                yield from (".".join(parts[: k + 1]) for k in range(len(parts)))
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            base = ".".join(part for part in (above, node.module or "") if part)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def code_alone(data: bytes) -> bytes:
    """A Python file without comments, docstrings and blank lines; other bytes as they are."""
    try:
        text = data.decode()
        cut = [*_comments(text), *_docstrings(text)]
    except (SyntaxError, ValueError, tokenize.TokenError):
        return data
    lines = text.splitlines()
    for (first, left), (last, right) in sorted(cut, reverse=True):
        lines[first - 1 : last] = [lines[first - 1][:left] + lines[last - 1][right:]]
    return "\n".join(line.rstrip() for line in lines if line.strip()).encode()


_Span = tuple[tuple[int, int], tuple[int, int]]


def _comments(text: str) -> Iterator[_Span]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start, token.end


def _docstrings(text: str) -> Iterator[_Span]:
    """Docstrings, in characters; `ast` counts bytes."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        first = node.body[0] if len(node.body) > 1 else None  # a body of its docstring alone needs it
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            begin, end = first.lineno, first.end_lineno or first.lineno
            left, right = (
                len(lines[line - 1].encode()[:column].decode())
                for line, column in ((begin, first.col_offset), (end, first.end_col_offset or 0))
            )
            yield (begin, left), (end, right)


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
