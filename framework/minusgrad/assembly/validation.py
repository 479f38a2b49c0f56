"""Validation of a scene: sections by the core, blocks by the models of their kinds; all mistakes at once.

Decisions 0223.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from ..engine import runtime
from ..errors import Problem, RuntimeUnavailableError, SceneError
from ..scene.document import Block, Document, Scene, unknown_kind
from ..scene.observation_times import in_steps, run_in_steps
from ..scene.toml_positions import KeyPath
from .building.old_names import with_new_names
from .installed_plugins import MOVED, installed
from .origins.plugin_names import defining
from .registry import Entry, PluginSource, Registry

if TYPE_CHECKING:
    from ..energies.fields import State
    from .fits.fitted import Fitted

WHAT = {
    "state": "initial state",
    "map": "map",
    "energy": "energy",
    "compound": "compound",
    "lagrangian": "Lagrangian",
    "dissipation": "dissipation",
    "magnetic": "magnetic field",
    "constraint": "constraint",
    "stepper": "stepper",
    "observe": "observer",
    "loss": "loss",
}
"""The name of a block of each section in messages."""


class MemberStart(Protocol):
    """Initial values of a member of an ensemble."""

    @property
    def put(self) -> Callable[[Any], list[str]]:
        """Called with the simulation before its stepper is made; may overwrite fields and parameters.

        Returns the names of parameters that are left for `put_rest`, when the stepper is made.
        """

    @property
    def put_rest(self) -> Callable[[Any, Sequence[str]], None]:
        """Called with the simulation and the names that `put` left."""

    @property
    def state(self) -> "State | None":
        """The initial state of the member; None: that of the scene."""


@dataclass
class ValidatedScene:
    """A scene whose every block has been validated, with its model; by the blocks' places.

    fitted: the values of an earlier fit that it starts with, if any. member: those of a member of its
    ensemble, which are put after them.
    """

    scene: Scene
    registry: Registry
    entries: dict[KeyPath, Entry]
    models: dict[KeyPath, Any]
    fitted: "Fitted | None" = None
    member: MemberStart | None = None


def validate(
    document: Document, plugins: Sequence[PluginSource] = (), registry: Registry | None = None
) -> ValidatedScene:
    """Judge a whole scene. Raises `SceneError` with all mistakes, in the skeleton and in every block.

    registry: that of the same scene with other values, which is then not made once more.

    While a plugin that the scene names is missing, its kinds are not reported one by one; without its engine,
    which plugins take as `ti`, none is imported.
    """
    try:
        runtime.engine(document.engine)
    except RuntimeUnavailableError as error:
        problems = [*document.skeleton()[1], document.problem(("runtime", "engine"), str(error))]
        raise SceneError(problems) from error
    names = _named(document)
    registry = registry or Registry.load(names, plugins)
    document = with_new_names(document, registry.old_names)
    scene, problems = document.skeleton()
    blocks = [(block, registry.entry(block.section, block.kind)) for block in document.blocks()]
    for number, name in enumerate(names or ()):
        if name in registry.broken:
            problems.append(document.problem(("plugins", number), str(registry.broken[name])))
    entries: dict[KeyPath, Entry] = {}
    models: dict[KeyPath, Any] = {}
    for block, entry in blocks:
        if entry is None:
            here = document.problem((*block.path, "kind"), "")
            problems = [one for one in problems if one[:4] != here[:4]]  # a name of a kind that there is not
            missing = any(name in registry.broken for name in names or ())
            problems += [] if missing else [_unknown(document, block, registry, names)]
        else:
            entries[block.path] = entry
            if scene is not None:
                block, more = in_steps(document, block, scene.units.build())
                problems += more
            models[block.path], more = document.validate(block, entry.model)
            problems += more
    if scene is not None:
        table, more = run_in_steps(document, scene.run, scene.units.build())
        scene, problems = replace(scene, run=table), [*problems, *more]
    if scene is None or problems:
        raise SceneError(problems)
    return ValidatedScene(scene, registry, entries, models)


def _named(document: Document) -> list[str] | None:
    """The plugins that a scene names; None, all that are installed, if it names none.

    And those of kinds that the core once had, which scenes of then do not name.
    """
    named = document.data.get("plugins")
    if not (isinstance(named, list) and all(isinstance(name, str) for name in named)):
        return None
    moved = [MOVED[key] for block in document.blocks() if (key := (block.section, block.kind)) in MOVED]
    return list(dict.fromkeys([*named, *moved]))


def _unknown(document: Document, block: Block, registry: Registry, names: list[str] | None) -> Problem:
    what = WHAT[block.section]
    if files := defining(document.path.parent, block.kind):
        cure = f"{files[0]} here defines it: add --plugin {files[0]}, in Python plugins=['{files[0]}']"
        return document.problem((*block.path, "kind"), f"no {what} named '{block.kind}'; {cure}")
    problem = unknown_kind(document, block, what, registry.kinds(block.section))
    if names is None:
        hint = "".join(f"; {error}" for error in registry.broken.values())
    else:
        unnamed = [name for name in installed() if name not in ("core", *names)]
        hint = f"; not in the scene's `plugins`: {', '.join(unnamed)}" if unnamed else ""
    return problem._replace(message=problem.message + hint)
