"""`python tests/project/release_version.py vX.Y.Z`: may this tag be published? Needs Python alone, no
package.

The version stands in pyproject.toml, CITATION.cff, codemeta.json, .zenodo.json and CHANGELOG.md, whose
section has
a date, and no placeholder is left in what is published with a release.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OWNER = "OWNER:"
"""Begins what only the owner can fill in: authors, addresses, identifiers."""
FILLED = ("CITATION.cff", "codemeta.json", ".zenodo.json", ".paper/paper.md")


def versions(root: Path = ROOT) -> dict[str, str]:
    """The version that each file names."""
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    found = re.search(r"^version: (\S+)$", citation, re.MULTILINE)
    return {
        "pyproject.toml": tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "version"
        ],
        "CITATION.cff": found[1] if found else "",
        "codemeta.json": json.loads((root / "codemeta.json").read_text(encoding="utf-8"))["version"],
        ".zenodo.json": json.loads((root / ".zenodo.json").read_text(encoding="utf-8"))["version"],
    }


def placeholders(root: Path = ROOT) -> dict[str, int]:
    """How many places of each file wait for the owner."""
    return {name: (root / name).read_text(encoding="utf-8").count(OWNER) for name in FILLED}


def hindrances(tag: str, root: Path = ROOT) -> list[str]:
    """Why a tag may not be published; nothing where it may."""
    found = [
        f"{name}: version {v!r}, the tag is {tag!r}" for name, v in versions(root).items() if tag != f"v{v}"
    ]
    found += [
        f"{name}: {n} places wait for the owner ({OWNER})" for name, n in placeholders(root).items() if n
    ]
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(tag.removeprefix('v'))}, \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        found.append(f"CHANGELOG.md: no heading '## {tag.removeprefix('v')}, YYYY-MM-DD'")
    return found


if __name__ == "__main__":
    problems = hindrances(sys.argv[1])
    print(*problems, sep="\n")
    sys.exit(bool(problems))
