"""The records in docs/decisions: which modules each one binds, and the lines of docstrings that name them.

python -m tests.project.decision_records            prints what disagrees
python -m tests.project.decision_records --write    puts the numbers into docstrings, and writes the index

The files that a record names are the truth. The docstring of each of them that is a module of the framework
or of a plugin ends with a line such as "Decisions 0212, 0240."; a package's is that of its `__init__`.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.project.package_map import CORE, PACKAGES, ROOT, TEMPLATE, purpose

FOLDER = ROOT / "docs" / "decisions"
INDEX = FOLDER / "index.md"
LINE = re.compile(r"Decisions (\d{4}(?:, \d{4})*)\.")
DOCSTRING = re.compile(r'(?:#[^\n]*\n)*r?"""(.*?)"""', re.DOTALL)
NO_MODULE = "No module:"
"""How the files of a record begin that binds nothing but tests, benchmarks, pages or the build."""
PARTS = re.compile(r"^\*\*([A-Z][a-z ]+)\.?\*\*", re.MULTILINE)
FRONT = """# Decisions

One record for each decision: its context, the choice, what was not chosen, figures, and the files that
it binds. The docstring of a module ends with the numbers of its records. A record that another
one replaces says so.

Made by `python -m tests.project.decision_records --write`, from the records.

"""
TREE = "```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n"


@dataclass(frozen=True)
class Decision:
    """A record, read from its file."""

    path: Path
    text: str

    @property
    def number(self) -> str:
        return self.path.name[:4]

    @property
    def title(self) -> str:
        return self.text.partition("\n")[0].removeprefix(f"# {self.number}: ")

    def part(self, name: str) -> str:
        """The text below a heading in bold; nothing if the record has no such heading."""
        starts = list(PARTS.finditer(self.text))
        ends = [*(one.start() for one in starts[1:]), len(self.text)]
        found = {one[1]: self.text[one.end() : end].strip() for one, end in zip(starts, ends, strict=True)}
        return found.get(name, "")

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The files and folders that it names, also those that do not exist."""
        names = re.findall(r"`([\w./-]*[/.][\w./-]*)`", self.part("Files"))
        return tuple(_placed(name) for name in names if "/" in name or (ROOT / name).exists())

    @cached_property
    def modules(self) -> tuple[Path, ...]:
        """The modules of the framework and the plugins among its files, packages by their `__init__`."""
        found = (path / "__init__.py" if path.is_dir() else path for path in self.files)
        return tuple(path for path in found if path.suffix == ".py" and _ours(path) and path.is_file())

    @property
    def binds_no_module(self) -> bool:
        return self.part("Files").startswith(NO_MODULE)

    def binds(self, module: Path) -> bool:
        """True if the record names the module, or a package that it lies in."""
        return any(module == path or path in module.parents for path in self.files)

    def others(self, word: str) -> list[str]:
        """The numbers behind "Replaces" or "Replaced by"."""
        return re.findall(r"\d{4}", self.part(word))


def _placed(name: str) -> Path:
    return CORE / name if (CORE / name).exists() else ROOT / name


def _ours(path: Path) -> bool:
    return path.is_relative_to(CORE) or path.is_relative_to(ROOT / "plugins")


def records() -> list[Decision]:
    return [Decision(path, path.read_text()) for path in sorted(FOLDER.glob("[0-9]*.md"))]


def modules() -> Iterator[Path]:
    """The modules that may name decisions."""
    for folder in (CORE, ROOT / "plugins"):
        yield from (path for path in sorted(folder.rglob("*.py")) if not path.is_relative_to(TEMPLATE))


def named(text: str) -> list[str]:
    """The numbers in the last line of a module's docstring, found without parsing a thousand modules."""
    docstring = DOCSTRING.match(text)
    found = LINE.fullmatch(docstring[1].rstrip().rpartition("\n")[2]) if docstring else None
    return found[1].split(", ") if found else []


def disagreements(decisions: list[Decision], sources: dict[Path, str]) -> list[str]:
    """What the records and the modules say of each other and is not so, in words."""
    bad = []
    by_number = {one.number: one for one in decisions}
    for path, text in sources.items():
        where = path.relative_to(ROOT).as_posix()
        for number in named(text):
            if number not in by_number:
                bad.append(f"{where}: names decision {number}, which does not exist")
            elif not by_number[number].binds(path):
                bad.append(f"{where}: names decision {number}, whose files leave it out")
    for one in decisions:
        where = one.path.name
        bad += [
            f"{where}: names {p.relative_to(ROOT)}, which is no file" for p in one.files if not p.exists()
        ]
        if one.binds_no_module and one.modules:
            bad.append(f"{where}: says that it binds no module, and names one")
        elif not one.binds_no_module and not one.modules:
            bad.append(f"{where}: names no module, and does not say '{NO_MODULE}'")
        bad += [
            f"{where}: its module {path.relative_to(ROOT)} does not name it"
            for path in one.modules
            if one.number not in named(sources[path])
        ]
        bad += _unanswered(one, by_number)
    return bad


def _unanswered(one: Decision, by_number: dict[str, Decision]) -> list[str]:
    """What replaces what is said on both sides."""
    pairs = (("Replaces", "Replaced by"), ("Replaced by", "Replaces"))
    return [
        f"{one.path.name}: {word} {other}, which does not answer '{answer}'"
        for word, answer in pairs
        for other in one.others(word)
        if other not in by_number or one.number not in by_number[other].others(answer)
    ]


def with_numbers(text: str, numbers: list[str]) -> str:
    """A module whose docstring ends with these numbers; unchanged if it ends with them already."""
    if named(text) == numbers:
        return text
    head = ast.parse(text).body[0]
    lines = text.splitlines(keepends=True)
    docstring, rest = "".join(lines[: head.end_lineno]), "".join(lines[head.end_lineno :])
    body = docstring.rstrip().removesuffix('"""').rstrip()
    body = re.sub(r"\n+Decisions [\d, ]+\.$", "", body)
    if not numbers:
        return f'{body}"""\n{rest}' if "\n" not in body else f'{body}\n"""\n{rest}'
    return f'{body}\n\nDecisions {", ".join(numbers)}.\n"""\n{rest}'


def kept(path: Path, text: str, decisions: list[Decision]) -> list[str]:
    """The numbers that a module should name: of the records that name it, and its own that are right."""
    own = named(text)
    return [one.number for one in decisions if path in one.modules or (one.number in own and one.binds(path))]


def group(one: Decision) -> str:
    """The package of the first file of a record."""
    first = one.files[0]
    if first.is_relative_to(CORE):
        return first.relative_to(CORE).parts[0]
    return "plugins" if first.is_relative_to(ROOT / "plugins") else ""


def index(decisions: list[Decision]) -> str:
    """The page that lists the records by package."""
    groups: dict[str, list[Decision]] = {}
    for one in decisions:
        groups.setdefault(group(one), []).append(one)
    text = FRONT
    for name in [*PACKAGES, "plugins", *sorted(set(groups) - {*PACKAGES, "plugins", ""}), ""]:
        if name in groups:
            heading = f"`{name}`" if name in (*PACKAGES, "plugins") else name
            text += f"## {heading or 'Tests, pages and the build'}\n\n"
            text += f"{purpose(name)}\n\n" if name in PACKAGES else ""
            text += "".join(_entry(one) for one in groups[name]) + "\n"
    return text + TREE


def _entry(one: Decision) -> str:
    later = one.others("Replaced by")
    note = f" (replaced by {', '.join(later)})" if later else ""
    return f"- [{one.number}]({one.path.name}): {one.title}{note}\n"


def write() -> None:
    decisions = records()
    for path in modules():
        text = path.read_text()
        if numbers := kept(path, text, decisions) or named(text):
            numbers = kept(path, text, decisions)
            path.write_text(with_numbers(text, numbers))
    INDEX.write_text(index(decisions))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    print("\n".join(disagreements(records(), {path: path.read_text() for path in modules()})))
