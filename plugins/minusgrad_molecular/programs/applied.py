"""Force fields of OpenMM applied to a PDB or PDBx/mmCIF file: in the child of `bounded_read`.

OpenMM executes the scripts of force-field files, and evaluates one attribute of theirs. A scene is data, so
that its files must have neither; the files that come with OpenMM are part of it, and files that are given to
`python -m minusgrad_molecular.convert` are its user's own.

Decisions 0105, 0146.
"""

import posixpath
from collections.abc import Mapping, Sequence
from contextlib import chdir
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from minusgrad.plugin import UserError, printable

SCRIPTS = ("Script", "InitializationScript")
EVALUATED = "useDispersionCorrection"
TRUTHS = ("True", "False", "0", "1")


def read_structure(file: str, data: bytes, kind: str) -> Any:
    """A PDB or PDBx/mmCIF file, by OpenMM. Numbers of residues in hybrid-36 are those modulo 10,000."""
    from openmm import app

    text = data.decode("utf-8", "replace")
    if kind == "pdbx":
        return app.PDBxFile(StringIO(text))
    return app.PDBFile(StringIO(_with_decimal_numbers(text)))


def read_force_field(names: Sequence[str], files: Mapping[str, bytes], folder: str, scripts: bool) -> Any:
    """The force field of some files: those of `files`, written to an empty folder, and OpenMM's own.

    scripts: files may have scripts. Raises `UserError` for those that must not, and for names that OpenMM
    does not have.
    """
    from openmm import app

    for name, data in files.items():
        if not scripts:
            refuse_scripts(name, data)
        place = Path(folder) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    try:
        with chdir(folder):
            return app.ForceField(*names)
    except ValueError as error:
        if "Could not locate file" not in str(error):
            raise
        raise UserError(
            f"force_field: {' '.join(str(error).split())[:200]}: neither beside the scene nor one of"
            " OpenMM's;"
            ' copy it to the scene, or name one of OpenMM\'s, such as "amber14-all.xml"'
        ) from None


def refuse_scripts(name: str, data: bytes) -> None:
    """Raise `UserError` for a force-field file that OpenMM would execute, and for one that is no XML."""
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        raise UserError(f"'{name}': is no XML ({error}); correct it") from None
    for one in root.iter():
        value = one.get(EVALUATED, "True")
        if one.tag in SCRIPTS or value not in TRUTHS:
            what = f"<{one.tag}>" if one.tag in SCRIPTS else f"{EVALUATED} = '{printable(value)}'"
            raise UserError(
                f"'{name}': must have no script, which OpenMM would execute, got {what}; if you trust the"
                " file,"
                " make the System by `python -m minusgrad_molecular.convert`, and name it as `system`"
            )
        inner = one.get("file", "") if one.tag == "Include" else ""
        if posixpath.isabs(inner) or ".." in inner or ":" in inner or "\\" in inner:
            raise UserError(
                f"'{name}': must include files beside it, got '{printable(inner)}'; copy the file there"
            )


def _with_decimal_numbers(text: str) -> str:
    """A PDB file whose numbers of residues are decimal: OpenMM may join those that are not."""
    lines = text.splitlines(keepends=True)
    for k, line in enumerate(lines):
        if line.startswith(("ATOM  ", "HETATM", "TER   ")) and (number := hybrid_36(line[22:26])) is not None:
            lines[k] = f"{line[:22]}{number % 10_000:>4}{line[26:]}"
    return "".join(lines)


def hybrid_36(word: str) -> int | None:
    """The number of a word of hybrid-36, "A000" is 10000; None for another word.

    cci.lbl.gov/hybrid_36: behind 9999 come A000 to ZZZZ, then a000 to zzzz, digits of base 36.
    """
    width = len(word)
    if not word.isalnum() or not word[0].isalpha() or not (word.isupper() or word.islower()):
        return None
    letters = 26 * 36 ** (width - 1)
    found = int(word, 36) - 10 * 36 ** (width - 1) + 10**width
    return found + (letters if word.islower() else 0)
