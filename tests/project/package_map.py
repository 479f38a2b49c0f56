"""The packages of the framework and the imports between them, read from the source.

python -m tests.project.package_map    prints each package, its purpose, and the matrix of imports
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ROOT / "framework" / "minusgrad"
TEMPLATE = CORE / "app" / "plugin_kit" / "template"
"""What `minusgrad new-plugin` writes: files of a plugin, no modules of ours."""
PAGE = ROOT / "ARCHITECTURE.md"
LAYER = re.compile(r"^\*\*\d\. [\w ]+\*\* \((`[^)]*`)\):", re.MULTILINE)

PACKAGES = [
    *("engine", "scene", "files", "symbolic", "lint", "elements", "energies", "codegen", "potential"),
    *(
        "solvers",
        "interpreter",
        "check",
        "exam",
        "steppers",
        "adjoint",
        "plot",
        "view",
        "assembly",
        "app",
        "sweeps",
        "adapters",
        "torch",
        "scripting",
        "published",
    ),
]
"""A package imports from itself and from packages that stand before it. `errors` serves all; the modules
`__init__`, `plugin`, `testing`, `ase`, `openmm`, `__main__` are doors: no package imports from them."""

DOORS = ("", "plugin", "testing", "ase", "openmm", "__main__")


@dataclass(frozen=True)
class Import:
    """A module that imports another one of ours; names are dotted, without `minusgrad`."""

    module: str
    line: int
    imported: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.imported}"


def package(module: str) -> str:
    return module.split(".")[0]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(CORE).with_suffix("").parts).removesuffix("__init__").rstrip(".")


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name; "" is the front page."""
    found = (path for path in sorted(CORE.rglob("*.py")) if not path.is_relative_to(TEMPLATE))
    return {module_name(path): path for path in found}


def imports(module: str, source: str) -> Iterator[Import]:
    """Every import of ours, inside functions and for type checkers too."""
    path = modules()[module]
    home = path.relative_to(CORE).parts[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*home[: len(home) - node.level + 1], *(node.module or "").split(".")]
            names = [alias.name for alias in node.names if alias.name != "__version__"]
            yield from (_found(module, node.lineno, base, name) for name in names)
        elif isinstance(node, ast.ImportFrom) and package(node.module or "") == "minusgrad":
            base = (node.module or "").split(".")[1:]
            yield from (_found(module, node.lineno, base, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            ours = [alias.name for alias in node.names if package(alias.name) == "minusgrad"]
            yield from (_found(module, node.lineno, name.split(".")[1:], "") for name in ours)


def _found(module: str, line: int, base: list[str] | tuple[str, ...], name: str) -> Import:
    full = ".".join(filter(None, [*base, name]))
    return Import(module, line, full if full in modules() else ".".join(filter(None, base)))


@cache
def all_imports() -> tuple[Import, ...]:
    return tuple(i for module, path in modules().items() for i in imports(module, path.read_text()))


def climbs(found: Iterator[Import] | tuple[Import, ...]) -> list[str]:
    """The imports from a package that does not stand before one's own, or from a public door."""
    floors = {"errors": -1, **{name: k for k, name in enumerate(PACKAGES)}}
    bad = []
    for i in found:
        if i.module in DOORS:
            continue
        if i.imported in DOORS or floors[package(i.imported)] > floors[package(i.module)]:
            bad.append(str(i))
    return bad


def cycles() -> list[list[str]]:
    """Modules that import each other, however long the way round; of imports for type checkers too."""
    users: dict[str, set[str]] = {module: set() for module in modules()}
    for i in all_imports():
        if "." in i.module and "." in i.imported and i.imported != i.module:
            users[i.module].add(i.imported)
    reached = {module: _reached(module, users) for module in users}
    circles = {frozenset(m for m in reached[n] if n in reached[m]) for n in users if n in reached[n]}
    return sorted(sorted(circle) for circle in circles)


def _reached(start: str, users: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for other in users[waiting.pop()] - found:
            found.add(other)
            waiting.append(other)
    return found


def docstring(name: str) -> str:
    """That of a package, its lines joined."""
    text = ast.get_docstring(ast.parse((CORE / name / "__init__.py").read_text())) or ""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def purpose(name: str) -> str:
    """The first sentence of a package's docstring."""
    return docstring(name).split("\n\n")[0]


def allowed(name: str) -> list[str]:
    """What a package's docstring says that it may import."""
    _, _, rest = docstring(name).partition("May import: ")
    return rest.partition(".")[0].replace("`", "").split(", ")


def table() -> str:
    """The packages, lowest first, and how many imports lead from each row to each column."""
    counts = Counter((package(i.module), package(i.imported)) for i in all_imports() if i.module not in DOORS)
    sizes = Counter(package(module) for module in modules() if "." in module)
    lines = ["| package | modules | what it is for |", "|---|---|---|"]
    lines += [f"| `{name}` | {sizes[name]} | {purpose(name)} |" for name in PACKAGES]
    columns = ["errors", *PACKAGES]
    width = max(map(len, PACKAGES))
    grid = [" " * (width + 1) + " ".join(name[:5].rjust(5) for name in columns)]
    for row in PACKAGES:
        cells = [str(counts[row, column] or ".").rjust(5) for column in columns]
        grid.append(f"{row:>{width}} " + " ".join(cells))
    return "\n".join([*lines, "", *("    " + line.rstrip() for line in grid), ""])


def layers(text: str) -> list[list[str]]:
    """The packages of each layer, in the order of a page that describes them."""
    return [names.replace("`", "").split(", ") for names in LAYER.findall(text)]


if __name__ == "__main__":
    print(table())
