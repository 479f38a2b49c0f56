"""The house: who may import whom, what plugins may see, and that the light tools run clean."""

import ast
import importlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import minusgrad
from tests.project import package_map
from tests.project.package_map import CORE, ROOT, modules, package

PLUGINS = sorted(p for p in (ROOT / "plugins").iterdir() if (p / "__init__.py").is_file())

STRANGER = ROOT / "tests" / "stranger" / "springnet"
DOORS = (
    *("minusgrad", "minusgrad.plugin", "minusgrad.testing"),
    *("minusgrad.torch", "minusgrad.ase", "minusgrad.openmm"),
)
"""The modules that plugins import from, and of them only the names in `__all__`."""


def imports(source: str) -> Iterator[tuple[int, str, list[str]]]:
    """Line, module and names of every import, also inside functions; relative ones begin with dots.

    What stands under `if TYPE_CHECKING` never runs, and does not count.
    """
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or ""), [a.name for a in node.names]
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            pending += node.orelse
        else:
            pending += ast.iter_child_nodes(node)


def sources(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path.read_text()
        for path in sorted(folder.rglob("*.py"))
    }


def test_every_module_lies_in_a_package_of_the_list() -> None:
    found = {package(module) for module in modules() if module not in package_map.DOORS}
    assert found == {"errors", *package_map.PACKAGES}
    assert all((CORE / name / "__init__.py").is_file() for name in package_map.PACKAGES)


def test_a_package_imports_only_from_packages_before_it() -> None:
    assert package_map.climbs(package_map.all_imports()) == []


@pytest.mark.parametrize("name", package_map.PACKAGES)
def test_a_package_imports_what_its_docstring_says(name: str) -> None:
    used = {package(i.imported) for i in package_map.all_imports() if package(i.module) == name}
    assert used - {name} <= {*package_map.allowed(name)} <= {"errors", *package_map.PACKAGES}


def test_no_modules_import_each_other() -> None:
    """Imports for type checkers count."""
    assert package_map.cycles() == []


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("from ..assembly.built_scene import BuiltScene", ["assembly.built_scene"]),
        (
            "def f():\n    if True:\n        from .. import errors\n        from ..app import runs",
            ["app.runs"],
        ),
        ("from minusgrad.potential.potential import Potential", ["potential.potential"]),
        ("import minusgrad.potential.potential", ["potential.potential"]),
        ("from minusgrad import Potential", [""]),
        ("from minusgrad.plugin import Record", ["plugin"]),
        ("from .local_energy import Node", []),
        ("from ..errors import UserError", []),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..app.runs import run", ["app.runs"]),
    ],
)
def test_an_import_from_above_is_seen(line: str, seen: list[str]) -> None:
    found = package_map.climbs(package_map.imports("energies.term", line))
    assert [climb.rpartition(" ")[2] for climb in found] == seen


def test_no_package_is_ignored_by_git_or_named_like_a_public_function() -> None:
    folders = [str((CORE / name).relative_to(ROOT)) for name in package_map.PACKAGES]
    ignored = subprocess.run(["git", "check-ignore", *folders], cwd=ROOT, capture_output=True, text=True)
    assert ignored.returncode == 1, ignored.stdout + ignored.stderr
    assert not set(package_map.PACKAGES) & set(minusgrad.__all__)


def test_packages_are_neither_crowded_nor_empty() -> None:
    sizes = Counter(package(module) for module in modules() if module.count(".") == 1)
    assert {name: n for name, n in sizes.items() if n > 20} == {}


def test_the_layers_of_the_architecture_are_the_floors_of_the_code() -> None:
    """Every package stands in one layer, and no import leads to a package that the page names later."""
    named = [name for layer in package_map.layers(package_map.PAGE.read_text()) for name in layer]
    assert named == package_map.PACKAGES
    assert len(package_map.PAGE.read_text().split()) <= WORDS


WORDS = 2600
"""Four pages, which a newcomer reads once."""


def test_the_printed_matrix_is_empty_above_its_diagonal() -> None:
    """Imports count from row to column; the columns are `errors`, then each package, lowest first."""
    _, rows = package_map.table().split("\n\n", 1)
    cells = [line.split()[1:] for line in rows.strip("\n").splitlines()[1:]]
    assert [len(row) for row in cells] == [1 + len(package_map.PACKAGES)] * len(package_map.PACKAGES)
    above = [cell for k, row in enumerate(cells) for cell in row[k + 2 :]]
    assert set(above) == {"."}
    within = sum(int(cell) for row in cells for cell in row if cell != ".")
    ours = [i for i in package_map.all_imports() if package(i.module) in package_map.PACKAGES]
    assert within == len(ours)


def beyond_the_doors(source: str) -> list[str]:
    """What a plugin's source imports of minusgrad, except public names of the doors."""
    found = []
    for line, module, names in imports(source):
        if module.split(".")[0] == "minusgrad":
            public = importlib.import_module(module).__all__ if module in DOORS else []
            wrong = [name for name in names if name not in public] if module in DOORS else [module]
            found += [f"{line}: {module}: {name}" for name in wrong]
    return found


@pytest.mark.parametrize(
    "plugin", [*PLUGINS, ROOT / "tests" / "stranger" / "springnet"], ids=lambda p: p.name
)
def test_plugins_import_from_the_public_doors_only(plugin: Path) -> None:
    assert {name: wrong for name, text in sources(plugin).items() if (wrong := beyond_the_doors(text))} == {}


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("from minusgrad.plugin import Record, State", 0),
        ("from minusgrad import hookimpl\nimport minusgrad.plugin", 0),
        ("from minusgrad.errors import UserError", 1),
        ("def f():\n    import minusgrad.app.runs", 1),
        ("from minusgrad.plugin import Simulation, Record", 1),
        ("from minusgrad.plugin import _door", 1),
        ("from numpy import array", 0),
    ],
)
def test_an_import_beyond_the_doors_is_seen(line: str, wrong: int) -> None:
    assert len(beyond_the_doors(line)) == wrong


def test_one_room_alone_imports_the_engine() -> None:
    """Everybody else says `from minusgrad import ti`, or asks `runtime.engine()`."""
    owners, starters = set(), set()
    for folder in (CORE, *PLUGINS):
        for name, source in sources(folder).items():
            owners |= {
                name for _, module, _ in imports(source) if module.split(".")[0] in ("taichi", "quadrants")
            }
            calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
            called = [ast.unparse(call.func) for call in calls]
            owners |= {name for one in called if one.endswith("imported_late")}
            starters |= {name for one in called if one in ("ti.init", "ti.reset")}
    assert owners == starters == {"engine/runtime"}


def test_the_core_knows_no_triangle() -> None:
    """Cells are tuples of nodes; only what draws surfaces, or names them for VTK, needs the word."""
    words = ("triang", "tetrah")
    knowing = {room for room, text in sources(CORE).items() if any(w in text.lower() for w in words)}
    assert knowing == {"plot/shapes/cell_shapes", "plot/shapes/surfaces", "files/vtkhdf"}


PHYSICS = re.compile(
    "gravit|kepler|planet|orbit|galax|megno|elastic|hookean|molecul|protein|lennard|argon|water|crystal|laser"
    "|engrav|fluid|pendul"
)
"""Words of the physics of plugins."""
BOX = {"elastic", "crystal"}
"""Elastic constants are second derivatives by the box, of any energy in one."""
UNITS = {"molecul"}
"""A system of units has that name."""
LINES = {"orbit", "megno"}
"""Pictures of the paths of nodes, and of what observers of plugins recorded, by its label."""
KNOWN = {
    **dict.fromkeys(("app/elastic", "app/verbs/elastic", "steppers/pressure/elasticity", "plugin"), BOX),
    "steppers/pressure/strained_crystal": BOX,
    **dict.fromkeys(("app/modes", "scene/units"), UNITS),
    **dict.fromkeys(("plot/bodies/few_bodies", "plot/curves/maps", "plot/curves/observables"), LINES),
    **dict.fromkeys(("plot/movies/subjects", "plot/bodies/orbits", "plot/pictures", "view/scenery"), LINES),
}
"""The modules that may have such words."""


def named(source: str) -> set[str]:
    """Everything that a module defines, calls or uses by a name."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        found |= {getattr(node, key) for key in ("name", "id", "attr", "arg") if hasattr(node, key)}
    return {name for name in found if isinstance(name, str)}


def test_the_core_has_no_word_of_physics() -> None:
    """No module, class, function, argument or variable is called by the physics of a plugin."""
    found = {}
    for room, text in sources(CORE).items():
        names = {*room.split("/"), *named(text)}
        words = {word for name in names for word in PHYSICS.findall(name.lower())}
        if strange := words - KNOWN.get(room, set()):
            found[room] = strange
        assert room not in KNOWN or words, f"{room}: has none of its words; take it off the list"
    assert found == {}


def test_no_file_is_called_utils() -> None:
    words = {"utils", "util", "helpers", "common", "misc", "manager"}
    rooms = {
        path.stem for folder in ("framework", "plugins", "tests") for path in (ROOT / folder).rglob("*.py")
    }
    assert not rooms & words


@pytest.mark.parametrize("command", ["ruff check", "ruff format --check", "mypy"])
def test_the_light_tools_run_clean(command: str) -> None:
    tool, *options = command.split()
    done = subprocess.run(
        [sys.executable, "-m", tool, *options], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_hdf5_is_opened_for_reading_in_one_module() -> None:
    """`files.hdf5_trust` looks for heaps without end before HDF5 does; other modules open only to write."""
    openers = {"h5py.File", "File", "h5py.h5f.open", "h5py.h5f.open_file_image", "h5f.open"}
    found = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in [*CORE.rglob("*.py"), *(p for plugin in PLUGINS for p in plugin.rglob("*.py"))]
        if path.name != "hdf5_trust.py"
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in openers
        if not (len(call.args) > 1 and ast.unparse(call.args[1]) == "'w'")
    ]
    assert found == []


def test_plugins_read_files_through_their_context() -> None:
    """`StateContext.read` confines, copies and hashes a file; bytes in memory may be decoded anywhere.

    Commands of plugins, which are no part of a scene, read and write what the user names.
    """
    readers = {"open", "io.open", "read_bytes", "read_text", "fromfile", "loadtxt", "genfromtxt", "memmap"}
    decoders = {"load", "read", "open"}
    found = []
    for path in (p for plugin in PLUGINS for p in plugin.rglob("*.py")):
        if "tool" in path.parts:
            continue
        for call in ast.walk(ast.parse(path.read_text())):
            if not isinstance(call, ast.Call):
                continue
            *owner, name = ast.unparse(call.func).split(".")
            of_bytes = bool(call.args) and ast.unparse(call.args[0]).startswith("BytesIO(")
            if name in readers | decoders and not of_bytes and owner[:1] not in (["context"], ["self"]):
                found.append(f"{path.parent.name}/{path.name}: {ast.unparse(call)}")
    assert [one for one in found if not one.endswith(READ_FROM_BYTES)] == []


READ_FROM_BYTES = (
    "parsed.py: meshlane.read(path, name)",
    "foreign.py: gmsh.read(file, data)",
    "file_ends.py: super().read(size)",
    "states.py: gmsh.read(self.file, data)",
    "targets/image.py: images.read(self.file, data)",
    "stencils.py: images.read(self.file, data)",
    "initial_fields.py: images.read(self.file, context.read(self.file))",
    "solar_system.py: TABLE.read_bytes()",
    "convert.py: input_files.read(Path(name))",
    "reading.py: read(stream, **options)",
    "published/nafems.py: minusgrad.load(scene, energies=[swinging_wall])",
)
"""Calls with bytes that came from the context; the first, with a copy of them in a folder of its own, which
it opens by the second. The three before the last read a table that is part of the plugin, the file that a
user names to a command, and a stream in memory; the very last is a scene of tables, which names no file."""


def test_a_class_name_stands_in_one_module() -> None:
    """Of the core, so that a search for a name finds one thing."""
    homes: dict[str, list[str]] = {}
    for room, text in sources(CORE).items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(room)
    twice = {name: rooms for name, rooms in homes.items() if len(rooms) > 1}
    assert twice == {}
