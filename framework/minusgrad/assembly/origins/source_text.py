"""The text of an energy at hand: of a notebook's cell, a script, or a module with others."""

import inspect
import textwrap
from typing import Any

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
    """The source of one function."""
    function = inspect.unwrap(function)
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return "# no source" if code is None else f"# no source: compiled code {code.co_code.hex()}"
