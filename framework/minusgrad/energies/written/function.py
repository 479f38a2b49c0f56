"""Functions in the language of energies that the framework writes: traced and compiled as those of users."""

import linecache
from collections.abc import Mapping
from hashlib import sha256
from types import FunctionType
from typing import Any

from ...engine import runtime


def function_from_source(name: str, source: str, scope: Mapping[str, Any]) -> FunctionType:
    """The function of this source, which `inspect` can read: for energies and maps that a program writes.

        double = function_from_source("double", "def double(x):\\n    return 2.0 * x[0]\\n", {})

    name: of the function in the source, which runs as any other Python. scope: the names that it uses besides
    `ti`. Give it no text of a stranger. Raises `SyntaxError` for what is no Python.
    """
    file = f"<minusgrad {name} {sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    engine = {"ti": runtime.engine()} if "ti." in source else {}
    names: dict[str, Any] = {**engine, "__name__": __name__, **scope}
    exec(compile(source, file, "exec"), names)
    return names[name]
