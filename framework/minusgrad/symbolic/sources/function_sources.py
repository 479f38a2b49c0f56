"""Sources of Python functions: their definitions as trees, and the names that they read.

Decisions 0030.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType
from weakref import WeakKeyDictionary

from ...errors import TraceError

_known: WeakKeyDictionary[Callable, tuple[frozenset[str], frozenset[str]]] = WeakKeyDictionary()


def names_read(function: Callable) -> tuple[frozenset[str], frozenset[str]]:
    """The names of variables, and those of attributes and texts, in a function's source; read once.

    Raises `TraceError` as `parse_definition`.
    """
    if function not in _known:
        definition, _ = parse_definition(function)
        nodes = [*ast.walk(definition)]
        variables = [one.id for one in nodes if isinstance(one, ast.Name)]
        attributes = [one.attr for one in nodes if isinstance(one, ast.Attribute)]
        texts = [one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        _known[function] = frozenset(variables), frozenset([*attributes, *filter(str.isidentifier, texts)])
    return _known[function]


def parse_definition(function: Callable) -> tuple[ast.FunctionDef, str]:
    """The definition, without decorators, docstring and the values of defaults."""
    own = _without_wrapped(function)
    file = inspect.getsourcefile(own) or "<unknown>"
    try:
        lines, first = inspect.getsourcelines(own)
    except OSError:
        raise TraceError(
            f"'{function.__qualname__}': has no source that can be read, got a function from"
            f" {function.__code__.co_filename}, which is no file; put it into a file, or into a cell of a"
            " notebook"
        ) from None
    try:
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except SyntaxError:  # a lambda in the middle of a statement
        tree = ast.Module([], [])
    definition = tree.body[0] if tree.body else None
    if not isinstance(definition, ast.FunctionDef):
        raise TraceError(f"{file}:{first}: energy: must be a function that begins with `def`")
    ast.increment_lineno(tree, first - 1)
    if function.__code__.co_name == "<lambda>":
        raise TraceError(f"{file}:{first}: energy: must be a function that begins with `def`")
    if definition.name != function.__code__.co_name:
        raise TraceError(
            f"{file}:{first}: '{function.__name__}': its file has changed since it was imported; start"
            " Python again"
        )
    definition.decorator_list = []
    definition.args.defaults = [ast.Constant(None) for _ in definition.args.defaults]
    definition.args.kw_defaults = [one and ast.Constant(None) for one in definition.args.kw_defaults]
    definition.body = _without_docstring(definition.body)
    return definition, file


def parsed_lambda(function: Callable) -> tuple[ast.FunctionDef, str]:
    """The definition that does what a lambda does, of the same name.

    Of several in one line it is the one whose text has the places of its instructions. Raises `TraceError`
    if it has no source.
    """
    code = function.__code__
    try:
        lines, _ = inspect.findsource(function)
        tree = ast.parse("".join(lines))
    except (OSError, SyntaxError):
        tree = ast.Module([], [])
    found_at = code.co_positions()
    places = [
        (line, column, end, last)
        for line, end, column, last in found_at
        if line and end and column is not None and last is not None and (line, column) != (end, last)
    ]
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and all(_encloses_place(node.body, place) for place in places)
    ]
    file = inspect.getsourcefile(function) or "<unknown>"
    if not places or not found:
        raise TraceError(f"{file}:{code.co_firstlineno}: a lambda whose source cannot be read; write a `def`")
    node = min(found, key=lambda one: len(ast.unparse(one)))  # one within another encloses it, too
    definition = ast.FunctionDef(code.co_name, node.args, [ast.Return(node.body)], [])
    node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
    node.args.kw_defaults = [one and ast.Constant(None) for one in node.args.kw_defaults]
    return ast.fix_missing_locations(ast.copy_location(definition, node)), file


def _encloses_place(node: ast.expr, place: tuple[int, int, int, int]) -> bool:
    """True if a node's text has this place: line and column of its begin and its end."""
    begin, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    return begin <= place[:2] and place[2:] <= end


def _without_wrapped(function: Callable) -> Callable:
    """The function, of which `inspect` would take what it wraps, as one that wraps nothing."""
    if not hasattr(function, "__wrapped__"):
        return function
    bare = FunctionType(function.__code__, {}, function.__name__, None, function.__closure__)
    bare.__module__ = function.__module__
    return bare


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    is_doc = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return body[1:] or [ast.Pass()] if is_doc else body
