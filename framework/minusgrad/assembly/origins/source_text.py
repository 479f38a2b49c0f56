"""The text of an energy at hand: of a notebook's cell, a script, or a module with others."""

import inspect
import textwrap
from typing import Any

from ...symbolic.sources.snapshots import compiled_function

TEXT = "__minusgrad_text__"
"""The attribute of a module at hand with the text of its energy."""


def source_text(declared: Any) -> str:
    """The Python source of an energy's function, or of its kernels.

    A function without source, of an interactive interpreter, gives its compiled code.
    """
    functions = (
        [stage.kernel for stage in declared.stages] if hasattr(declared, "stages") else [declared.function]
    )
    return "\n\n".join(map(of_function, functions))


def of_function(function: Any) -> str:
    """The source of one function; of a decorated one that of its wrappers, too, the outermost first."""
    wrapped = getattr(function, "__wrapped__", None)
    own = compiled_function(function)
    if own is function and wrapped is not None:
        inner = of_function(wrapped)
        file = getattr(getattr(function, "__code__", None), "co_filename", "")
        return inner if file.startswith("<minusgrad") else f"{_text(function)}\n\n{inner}"
    return _text(function) if own is function else of_function(own)


def _text(function: Any) -> str:
    code = getattr(function, "__code__", None)
    try:
        return textwrap.dedent(inspect.getsource(function if code is None else code))
    except (OSError, TypeError):
        return "# no source" if code is None else f"# no source: compiled code {code.co_code.hex()}"
