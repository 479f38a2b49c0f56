"""The house: who may import whom, what plugins may see, and that the light tools run clean."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import minusgrad

ROOT = Path(__file__).parent.parent
CORE = ROOT / "framework" / "minusgrad"
PLUGINS = sorted(p for p in (ROOT / "plugins").iterdir() if (p / "__init__.py").is_file())

FLOORS = {  # ground first; a room imports only from rooms that come before it, on its own floor too
    "ground": (
        "errors hooks entry_points memory blocks units toml_lines mistakes records scene_text cases fit_table"
        " scene schema runtime"
    ),
    "files": (
        "trust layout durable checkpoint h5md trajectory compaction virtual vtkhdf master rundir writer"
        " csv_table measurements"
    ),
    "language": (
        "folding graph whole tensors special random vectors numbers source plain kernel_source stacks"
        " places last_turns readings"
    ),
    "what exists": "fields interactions energy maps schedule reverse_rules stages terms misfit",
    "calculus": (
        "trace derive sweep kernels loops semidefinite statements proof emit lane_text node_lanes lanes"
        " hessian_loops lane_hessians map_loops window_proof window_loops window_lanes forward staged"
        " summand hessian potential instances anatomy"
    ),
    "truth": (
        "questions symmetries probe follow launches singles retraced stage_check asked_term kinks check asked"
        " reversals blame special_states kernel_check kernel_files dead"
    ),
    "motion": (
        "triggers schemes holds stepper tape bath moves integrators"
        " losses storage backward sensitivity adjoint"
        " outcomes unknowns minimisers line_search descent lbfgs gauss_newton objective standard_errors"
    ),
    "looking": (
        "reports style estimates surfaces mesh_artists mesh_pictures orbit_pictures grid_pictures"
        " fit_pictures pictures info verify compare export show progress signals"
    ),
    "time": "scheduler",
    "assembly": (
        "contexts builtin energy_block loss_block registry judge origin simulation"
        " observed parameters fitting"
    ),
    "doors": "door examined isolated cli guests torch_energy torch_rollout torch_layer torch_kernel torch",
}
ROOMS = [room for floor in FLOORS.values() for room in floor.split()]

PUBLIC = {
    "minusgrad": set(minusgrad.__all__),
    "minusgrad.contexts": None,  # what a maker is given
    "minusgrad.errors": None,  # what it may raise
    "minusgrad.fields": None,  # what a state is made of
    "minusgrad.stepper": None,  # what a stepper is
    "minusgrad.integrators": None,
    "minusgrad.schemes": None,  # their coefficients
    "minusgrad.minimisers": None,
    "minusgrad.unknowns": None,  # what they look for
    "minusgrad.outcomes": None,  # and how they end
    "minusgrad.memory": None,  # bounds for counts
    "minusgrad.random": None,  # numbers that are functions of seed, stream, step and index
    "minusgrad.records": None,  # blocks of a scene
    "minusgrad.reports": None,  # observers
    "minusgrad.units": None,
}
"""What plugins may import; None: every public name."""


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


def rooms_used(source: str) -> Iterator[tuple[int, str]]:
    """The core's rooms that a core file imports."""
    for line, module, names in imports(source):
        if module == ".":
            yield from ((line, name) for name in names if name != "__version__")
        elif module.startswith("."):
            yield line, module.removeprefix(".")
        elif module.split(".")[0] == "minusgrad":
            yield line, module


def climbs(room: str, source: str) -> list[str]:
    """What a room imports that does not come before it."""
    below = ROOMS[: ROOMS.index(room)]
    return [f"{room}.py:{line}: {other}" for line, other in rooms_used(source) if other not in below]


def sources(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted(folder.rglob("*.py"))}


def test_every_room_is_on_exactly_one_floor() -> None:
    assert sorted(ROOMS) == sorted(sources(CORE).keys() - {"__init__"})


def test_imports_only_go_down() -> None:
    """Hence no cycles; and inside the house always `from .room import thing`."""
    assert [climb for room in ROOMS for climb in climbs(room, (CORE / f"{room}.py").read_text())] == []


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("from .simulation import Simulation", ["simulation"]),
        ("def f():\n    if True:\n        from . import errors, door", ["door"]),
        ("from minusgrad.errors import UserError", ["minusgrad.errors"]),
        ("import minusgrad.fields", ["minusgrad.fields"]),
        ("from .energy import Node", ["energy"]),
        ("from .errors import UserError", []),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .door import run", []),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    from .door import run", ["door"]),
    ],
)
def test_a_room_that_climbs_is_seen(line: str, seen: list[str]) -> None:
    assert [climb.rpartition(" ")[2] for climb in climbs("energy", line)] == seen


def test_the_front_hall_is_lazy() -> None:
    """`import minusgrad` loads nothing of the house; the names that it promises exist."""
    assert {module for _, module, _ in imports((CORE / "__init__.py").read_text())} == {
        "__future__",
        "importlib",
    }
    assert all(hasattr(minusgrad, name) for name in minusgrad.__all__)


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda p: p.name)
def test_plugins_see_the_public_surface_only(plugin: Path) -> None:
    for name, source in sources(plugin).items():
        for line, module, names in imports(source):
            if module.split(".")[0] == "minusgrad":
                assert module in PUBLIC, f"{name}.py:{line}"
                allowed = PUBLIC[module]
                private = [
                    n for n in names if n.startswith("_") or (allowed is not None and n not in allowed)
                ]
                assert not private, f"{name}.py:{line}"


def test_one_room_alone_imports_the_engine() -> None:
    """Everybody else says `from minusgrad import ti`, or asks `runtime.engine()`."""
    owners, starters = set(), set()
    for folder in (CORE, *PLUGINS):
        for name, source in sources(folder).items():
            owners |= {
                name for _, module, _ in imports(source) if module.split(".")[0] in ("taichi", "quadrants")
            }
            calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
            starters |= {name for call in calls if ast.unparse(call.func) in ("ti.init", "ti.reset")}
    assert owners == starters == {"runtime"}


def test_the_core_knows_no_triangle() -> None:
    """Cells are tuples of nodes; only what draws surfaces, or names them for VTK, needs the word."""
    words = ("triang", "tetrah")
    knowing = {room for room, text in sources(CORE).items() if any(w in text.lower() for w in words)}
    assert knowing == {"surfaces", "mesh_artists", "vtkhdf"}


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
