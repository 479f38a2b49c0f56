"""Errors with their place: the user's mistakes are reported at the key of the scene that has them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from ...energies.staged_map import StagedMap
from ...engine import memory
from ...errors import (
    MinusgradError,
    PluginError,
    Problem,
    SceneError,
    TermError,
    UnknownFieldError,
    UpdateError,
    UserError,
)
from ...scene.addresses import value_at
from ...scene.document import Block
from ...scene.toml_positions import KeyPath
from ..registry import blamed
from ..validation import WHAT, ValidatedScene

T = TypeVar("T")
KEY_OF_ARGUMENT = re.compile(r"(?:[\w-]+\.)?(\w+): ")
"""How a message about an argument begins: `misfit.sigma: -0.005 is not within (0, inf)`."""


class ErrorPlaces:
    """The places of a scene's blocks, to which errors of terms, fields and updates are led back."""

    def __init__(self, validated: ValidatedScene):
        self.validated, self.scene = validated, validated.scene
        self.terms: dict[str, KeyPath] = {}
        """The block of each term and map, by its name."""

    @contextmanager
    def placed(self, path: KeyPath) -> Iterator[None]:
        """Raise the user's mistakes as `SceneError` with their place in the scene."""
        document = self.scene.document
        try:
            yield
        except SceneError:
            raise
        except TermError as error:
            raise SceneError([self._problem(self.terms.get(error.term, path), error)]) from error
        except UnknownFieldError as error:
            text = f"{error}{self._given_below(path, error.field)}"
            raise SceneError([document.problem((*path, *error.key), text)]) from error
        except UpdateError as error:
            place, text = (*path, "next", error.field), str(error)
            text = text.removeprefix("next: ").removeprefix(f"next.{error.field}: ")
            raise SceneError([document.problem(place, text)]) from error
        except UserError as error:
            raise SceneError([self._problem(path, error)]) from error
        except MemoryError as error:
            text = f"needs more memory than there is ({memory.free()})"
            raise SceneError([document.problem(path, text)]) from error

    def _problem(self, path: KeyPath, error: UserError) -> Problem:
        """A mistake at the key that it names, else in the line of the key with which its message begins."""
        document, text = self.scene.document, str(error)
        if error.key:
            return document.problem((*path, *error.key), text)
        found = document.problem(path, text)
        begins = KEY_OF_ARGUMENT.match(text)
        with suppress(LookupError, TypeError, AttributeError):  # of a table that the scene leaves out
            table = value_at(document.data, path)
            if begins and begins[1] in table and begins[1] not in (table.get("kind"), table.get("name")):
                return document.problem((*path, begins[1]), text)._replace(key=found.key)
        return found

    def made(self, block: Block, context: Any, wanted: type[T]) -> T:
        """The object that the block's model makes; a plugin that fails is named."""
        owner, what = self.validated.entries[block.path].owner, f"{WHAT[block.section]} '{block.kind}'"
        with self.placed(block.path):
            with blamed(owner, f"cannot make the {what}", but=(MinusgradError, MemoryError)):
                made = self.validated.models[block.path].make(context)
            if not isinstance(made, wanted):
                raise PluginError(f"{owner}: {what} makes a {type(made).__name__}, not a {wanted.__name__}")
            return made

    def _given_below(self, path: KeyPath, field: str) -> str:
        """A cure for a stage that reads a field which a later one gives; empty if none does."""
        given: dict[KeyPath, set[str]] = {}
        given |= {("slope", n): set(table.by.values()) for n, table in enumerate(self.scene.slope)}
        given |= {block.path: self._outputs(block) for block in self.scene.map}
        order = list(self.scene.in_order([*given]))
        below = order[order.index(path) :] if path in given else []
        found = next((place for place in below if field in given[place]), None)
        return f"; {'.'.join(map(str, found))} below gives it, list that first" if found else ""

    def _outputs(self, block: Block) -> set[str]:
        """The names of the fields that a map gives."""
        energy = self.validated.entries[block.path].energy
        gives = self.validated.models[block.path].gives
        outputs = energy.gives if isinstance(energy, StagedMap) else getattr(energy, "outputs", ())
        return {gives} if isinstance(gives, str) else {(gives or {}).get(name, name) for name in outputs}
