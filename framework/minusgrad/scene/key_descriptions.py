'''Descriptions of the keys of records: the text below a field in the source of its class.

    class Disc(Record):
        radius: Length
        """Radius of the disc."""

The source is read when a description is asked for, so that declaring records costs no time. Records that
have no source, because they are made from a declaration, have pydantic's `Field(description=...)`.
'''

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from pydantic import BaseModel


def descriptions(model: type[BaseModel]) -> dict[str, str]:
    """The description of each field of a model that has one, by name; those of base classes are inherited."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found |= _of_class(base)
    found |= {name: field.description for name, field in model.model_fields.items() if field.description}
    return {name: text for name, text in found.items() if name in model.model_fields}


def _of_class(model: type[BaseModel]) -> dict[str, str]:
    try:
        source = inspect.getsource(sys.modules[model.__module__])
    except (OSError, TypeError, KeyError):
        return {}
    return _of_source(source).get(model.__qualname__, {})


@lru_cache(maxsize=256)
def _of_source(source: str) -> dict[str, dict[str, str]]:
    """By the qualified name of a class: the texts that stand below its annotated names."""
    return dict(_record_classes(ast.parse(source), ""))


def _record_classes(tree: ast.Module | ast.ClassDef, outer: str) -> Iterator[tuple[str, dict[str, str]]]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield outer + node.name, _key_texts(node)
            yield from _record_classes(node, f"{outer}{node.name}.")


def _key_texts(node: ast.ClassDef) -> dict[str, str]:
    return {
        name.target.id: " ".join(text.value.value.split())
        for name, text in pairwise(node.body)
        if isinstance(name, ast.AnnAssign) and isinstance(name.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        if isinstance(text.value.value, str)
    }
