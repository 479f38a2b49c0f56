"""Kinds of files of other programs, known by their contents; names of files do not count.

kind        first words                                     program
prmtop      %VERSION, then %FLAG                            AMBER, from version 7
top         lines of [ sections ] and #include              GROMACS
psf         PSF                                             CHARMM, NAMD, X-PLOR
pdb         records ATOM, HETATM, CRYST1                    many
pdbx        data_                                           PDBx/mmCIF
gro         a title, a number, columns of 5 and 8           GROMACS
inpcrd      a title, a number, numbers of 12 columns        AMBER, rst7 too; NetCDF begins with CDF
crd         lines of *, then a number                       CHARMM
parameters  lines of *, then sections of words              CHARMM: par, prm, rtf, str
system, force_field     <System, <ForceField                OpenMM
"""

import re

from minusgrad.plugin import UserError, printable

WORDS = {
    "prmtop": "an AMBER prmtop",
    "old_prmtop": "an AMBER prmtop of a version before 7",
    "top": "a GROMACS topology",
    "psf": "a CHARMM psf",
    "pdb": "a PDB file",
    "pdbx": "a PDBx/mmCIF file",
    "gro": "GROMACS coordinates (gro)",
    "inpcrd": "AMBER coordinates (inpcrd)",
    "crd": "CHARMM coordinates (crd)",
    "parameters": "CHARMM parameters",
    "system": "an OpenMM System",
    "force_field": "an OpenMM force field",
}
TOPOLOGIES = ("prmtop", "top", "psf")
POSITIONS = ("pdb", "pdbx", "gro", "inpcrd", "crd")
APPLIED = ("pdb", "pdbx")
"""Positions that a force field is applied to: they have residues and elements."""
HEAD = 1 << 16
"""Bytes that are looked at."""
_SECTION = re.compile(r"^\s*\[\s*\w+\s*\]", re.MULTILINE)
_INCLUDE = re.compile(r"^\s*#\s*(include|define|ifdef|ifndef)\b", re.MULTILINE)
_RECORD = re.compile(
    r"^(ATOM  |HETATM|CRYST1|HEADER|TITLE |REMARK|COMPND|MODEL |SEQRES|EXPDTA|AUTHOR)", re.MULTILINE
)
_WORDS_OF_PARAMETERS = re.compile(
    r"^\s*(MASS|ATOMS?|BONDS?|ANGLES?|THETAS?|DIHEDRALS?|PHI|IMPROPERS?|NONBONDED|RESI|READ|READ\s+\w+)\b",
    re.MULTILINE | re.IGNORECASE,
)


def kind_of(data: bytes) -> str | None:
    """The kind of a file by its bytes; None for one that is of no kind here."""
    if data.startswith(b"CDF"):
        return "inpcrd"
    text = data[:HEAD].decode("utf-8", "replace").lstrip("\ufeff")
    lines = text.splitlines()[:40]
    begin = text.lstrip()
    if begin.startswith(("%VERSION", "%FLAG")):
        return "prmtop"
    if begin.startswith("PSF"):
        return "psf"
    if begin.startswith("<"):
        return next((kind for tag, kind in XML.items() if re.search(f"<{tag}[\\s>/]", text)), None)
    if begin.startswith("data_") or b"\n_atom_site." in data:
        return "pdbx"
    if begin.startswith("*"):  # titles of AMBER may, too
        return _kind_of_columns(lines) or _kind_of_charmm(lines, text)
    if (kind := _kind_of_columns(lines)) is not None:
        return kind
    looks = (("top", _SECTION), ("top", _INCLUDE), ("pdb", _RECORD), ("parameters", _WORDS_OF_PARAMETERS))
    return next((kind for kind, look in looks if look.search(text)), None)


XML = {"System": "system", "ForceField": "force_field"}


def require_kind(key: str, file: str, data: bytes, kinds: tuple[str, ...], cures: dict[str, str]) -> str:
    """The kind of a file that a key names; `cures`: by kinds that are wrong here.

    Raises `UserError` that names the key, the file, what it is, and where it belongs.
    """
    kind = kind_of(data)
    if kind in kinds:
        return kind
    wanted = " or ".join(filter(None, (", ".join(WORDS[one] for one in kinds[:-1]), WORDS[kinds[-1]])))
    got = WORDS[kind] if kind is not None else f"another kind of file, or an empty one ({len(data)} bytes)"
    cure = cures.get(kind or "", f"name {wanted}")
    raise UserError(f"{key}: must be {wanted}, got '{printable(file)}', which is {got}; {cure}")


def _kind_of_charmm(lines: list[str], text: str) -> str:
    """Behind the title of stars coordinates have a number, parameters a word."""
    rest = [line.split("!")[0].split() for line in lines if not line.lstrip().startswith("*")]
    first = next((words for words in rest if words), [])
    is_counted = len(first) in (1, 2) and first[0].isdigit()
    return "crd" if is_counted and not _WORDS_OF_PARAMETERS.search(text) else "parameters"


def _kind_of_columns(lines: list[str]) -> str | None:
    """Of files whose second line is a number: by the columns of the third."""
    words = lines[1].split() if len(lines) > 2 else []
    if not words or not words[0].isdigit():
        rows = [line.split() for line in lines[1:3]]
        is_old = len(rows) == 2 and all(len(row) >= 10 and all(w.isdigit() for w in row) for row in rows)
        return "old_prmtop" if is_old else None
    if len(words) >= 10 and all(word.isdigit() for word in words):
        return "old_prmtop"
    if len(words) == 1 and _is_number(lines[2][20:28]) and not _is_number(lines[2][:12]):
        return "gro"
    return "inpcrd" if len(words) in (1, 2, 3) and _is_number(lines[2][:12]) else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
