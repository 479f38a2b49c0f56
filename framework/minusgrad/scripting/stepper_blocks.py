"""Steppers of Python: `Leapfrog(dt=0.01)` is the table [stepper] kind = "leapfrog", dt = 0.01.

There is a class for every kind of stepper of the core and of the plugins beside it, made from the model of
its block when it is first asked for: its keywords, their defaults and its docstring are those of the model.

Decisions 0115, 0397.
"""

from collections.abc import Mapping
from functools import cache
from inspect import Parameter, Signature, cleandoc
from typing import Any

from pydantic import BaseModel

from ..errors import UserError, unknown
from ..scene.key_table import REQUIRED, Key, rows

ACRONYMS = {"npt": "NPT", "bdf2": "BDF2", "lbfgs": "LBFGS", "fire": "FIRE", "mclachlan8": "McLachlan8"}


class StepperBlock:
    """The stepper of a scene in Python: its kind and the keys of its table."""

    kind = ""

    def __init__(self, **values: Any):
        self.values: Mapping[str, Any] = values

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.values.items())
        return f"{class_name(self.kind)}({given})"

    @property
    def table(self) -> dict[str, Any]:
        """The table of the scene."""
        return {"kind": self.kind, **self.values}


def stepper(kind: str, **values: Any) -> StepperBlock:
    """A stepper by its kind in scenes, for those of plugins: stepper("leapfrog", dt=0.01).

    values: the keys of its table, which are validated with the whole simulation.
    """
    made = StepperBlock(**values)
    made.kind = kind
    return made


def class_name(kind: str) -> str:
    """The name of a kind's class: "implicit_euler" -> "ImplicitEuler"."""
    return ACRONYMS.get(kind) or "".join(word[:1].upper() + word[1:] for word in kind.split("_"))


Models = Mapping[str, tuple[str, type[BaseModel]]]


@cache
def models() -> Models:
    """Kind and model of each stepper of the core and of our plugins, by the name of its class."""
    from ..assembly.installed_plugins import OURS, described, installed, only
    from ..assembly.registry import Registry

    ours = [name for name, points in installed().items() if described(only(points)).distribution == OURS]
    table = Registry.load(ours).tables["stepper"]
    return {class_name(kind): (kind, entry.model) for kind, entry in table.items()}


@cache
def _of_core() -> Models:
    """Those of the core, for which no plugin is loaded."""
    from ..assembly.core_plugin import register_steppers

    return {class_name(kind): (kind, model) for kind, model in register_steppers().items()}


@cache
def _class(name: str) -> type[StepperBlock]:
    kind, model = _of_core().get(name) or models()[name]
    keys = [
        Parameter(
            key,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if info.is_required() else info.get_default(call_default_factory=True),
            annotation=info.annotation,
        )
        for key, info in model.model_fields.items()
    ]
    required = [key.name for key in keys if key.default is Parameter.empty]

    def begin(self: StepperBlock, *places: Any, **values: Any) -> None:
        if places:
            cure = f"write {name}({_call(keys)})"
            raise UserError(f"{name}: takes values by keyword, got {places[0]!r}; {cure}")
        if strange := [key for key in values if key not in model.model_fields]:
            raise UserError(f"{name}: {unknown('key', strange[0], model.model_fields)}")
        if missing := [key for key in required if key not in values]:
            raise UserError(f"{name}: needs {', '.join(missing)}, got none; write {name}({_call(keys)})")
        StepperBlock.__init__(self, **values)

    begin.__name__ = "__init__"
    made = type(name, (StepperBlock,), {"kind": kind, "__init__": begin, "__doc__": _doc(name, model)})
    made.__signature__ = Signature(keys)  # type: ignore[attr-defined]
    made.__module__ = __name__
    return made


def _doc(name: str, model: type[BaseModel]) -> str:
    """The docstring of a class: that of the model, and a line for each key."""
    lines = [cleandoc(model.__doc__ or name), ""]
    for key in rows(model):
        kind = ", ".join(part for part in (key.values, key.unit, _default(key)) if part)
        lines.append(f"{key.name} ({kind}): {key.meaning}")
    return "\n".join(
        [*lines, "", "Raises `UserError` for a key that it does not have, and without one it needs."]
    )


def _default(key: Key) -> str:
    return REQUIRED if key.default == REQUIRED else f"default: {key.default}"


def _call(keys: list[Parameter]) -> str:
    shown = [key for key in keys if key.default is Parameter.empty] or keys[:1]
    return ", ".join(f"{key.name}=..." for key in shown)


def __getattr__(name: str) -> Any:
    if name[:1].isupper() and (name in _of_core() or name in models()):
        return _class(name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*models(), "class_name", "models", "stepper"]
