"""Old names of kinds and of their keys, which scenes may go on using with a warning.

    OldName("energy", "linear_plane_stress", "linear", {"plane_stress": True})      a kind
    OldName("energy", "gravity.eps", "gravity.softening")                           a key of a kind

A scene is read as if it had the new name. A part keeps the old kind as its name, so that results, addresses
and checkpoints of it go on. Old names of Python are rows of the doors' tables (`minusgrad._door`).

Decisions 0111.
"""

import warnings
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import MinusgradDeprecationWarning
from ...scene.addresses import SYSTEM, value_at
from ...scene.document import LOSS, Block, Document

_SHOWN: dict[Any, Any] = {}
"""What Python has shown already, by place and text, so that it is shown once."""


@dataclass(frozen=True)
class OldName:
    """An old kind of a section, or an old key of a kind as "kind.key", and the new one.

    keys: what the block of an old kind has besides, which makes the new kind the old one.
    """

    section: str
    old: str
    new: str
    keys: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cure(self) -> str:
        """What to write in its place."""
        kind, _, key = self.new.partition(".")
        more = "".join(f" and {name} = {str(value).lower()}" for name, value in self.keys.items())
        return f"write {key}" if key else f'write kind = "{kind}"{more}'

    def of(self, block: Block) -> bool:
        """True if a block has this name; kinds of losses are those of energies."""
        kind, _, key = self.old.partition(".")
        sections = (self.section, LOSS) if self.section == "energy" else (self.section,)
        return block.section in sections and block.kind == kind and (not key or key in block.values)

    def replaced(self, table: dict[str, Any]) -> dict[str, Any]:
        """The table of a block with the new name. Raises nothing: where it has both keys, it keeps both."""
        key, new = self.old.partition(".")[2], self.new.partition(".")[2]
        if key:
            return table if new in table else {new if k == key else k: v for k, v in table.items()}
        named = {"name": self.old} if self.section in SYSTEM else {}
        return {**named, **self.keys, **table, "kind": self.new}


def with_new_names(document: Document, names: Iterable[OldName]) -> Document:
    """The document as it would be with the new names; warns of each old one at its place."""
    known = list(names)
    for block in document.blocks():
        for one in known:
            if not one.of(block):
                continue
            kind, _, key = one.old.partition(".")
            problem = document.problem(
                (*block.path, key or "kind"), f"'{key or kind}' is an old name; {one.cure}"
            )
            text = f"{problem.key}: {problem.message}"
            warnings.warn_explicit(
                text, MinusgradDeprecationWarning, problem.file, problem.line, "minusgrad", _SHOWN
            )
            data = deepcopy(document.data)
            value_at(data, block.path[:-1])[block.path[-1]] = one.replaced(value_at(data, block.path))
            document = replace(document, data=data, as_written=document.as_written or document.data)
    return document
