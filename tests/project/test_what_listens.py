"""What listens: two rooms open ports, and no run, command or task of an array job does."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import SCENES

ROOT = Path(__file__).parents[2]
SERVERS = {
    *(
        "socket",
        "socketserver",
        "http",
        "xmlrpc",
        "asyncio",
        "ssl",
        "selectors",
        "websockets",
        "viser",
        "tornado",
    ),
    *(
        "distributed",
        "dask",
        "aiohttp",
        "flask",
        "uvicorn",
        "werkzeug",
        "bottle",
        "zmq",
        "grpc",
        "rpyc",
        "Pyro5",
    ),
}
"""Packages that can open ports."""
IMPORTED = {
    "framework/minusgrad/view/guard.py": {"socket", "http", "websockets", "viser"},
    "framework/minusgrad/view/server.py": {"socket", "viser"},
    **{
        f"framework/minusgrad/view/{name}.py": {"viser"}  # for types
        for name in ("around", "drawings", "maps", "scenery", "solids", "space")
    },
    "framework/minusgrad/sweeps/workers.py": {"distributed", "dask"},
}
"""Modules that import one of them."""


def imported(text: str) -> set[str]:
    """The packages of `SERVERS` that a module's text imports, also inside functions and by name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = {f"{node.module}.{one.name}" for one in node.names} | {node.module or ""}
            found |= names
        elif isinstance(node, ast.Call) and "import" in getattr(
            node.func, "attr", getattr(node.func, "id", "")
        ):
            found |= {str(one.value) for one in node.args if isinstance(one, ast.Constant)}
    return {name.split(".")[0] for name in found if name not in ("http.HTTPStatus",)} & SERVERS | (
        {"multiprocessing"}
        if {n for n in found if n.startswith("multiprocessing.") and SERVES & {*n.split(".")}}
        else set()
    )


SERVES = {"connection", "managers"}


@pytest.mark.unit
def test_no_other_module_can_open_a_port() -> None:
    found = {
        str(path.relative_to(ROOT)): packages
        for folder in ("framework", "plugins")
        for path in (ROOT / folder).rglob("*.py")
        if (packages := imported(path.read_text(encoding="utf-8")))
    }
    assert found == IMPORTED


@pytest.mark.unit
@pytest.mark.parametrize(
    "text",
    ["def f():\n import socket", "from http.server import HTTPServer", "import_module('viser.infra')",
     "__import__('asyncio')", "from multiprocessing.connection import Listener"],
)  # fmt: skip
def test_an_import_of_a_server_is_found(text: str) -> None:
    assert imported(text)
    assert not imported("from .socket import http\nfrom os import path")


WATCHED = """
import json, socket, sys
seen = []
sys.addaudithook(lambda event, given: seen.append(str(given[1:])) if event == "socket.bind" else None)
from minusgrad.app.cli import main
codes = [main(words) for words in json.loads(sys.argv[1])]
found = [*seen]
socket.socket().bind(("127.0.0.1", 0))
import psutil
listening = [str(c) for c in psutil.Process().net_connections("inet") if c.status == psutil.CONN_LISTEN]
print("\\n" + json.dumps([codes, found, listening, len(seen) - len(found)]))
"""


@pytest.mark.long
def test_runs_commands_and_tasks_of_an_array_job_bind_no_socket(tmp_path: Path) -> None:
    scene, vary = str(SCENES / "two_body.toml"), tmp_path / "sweep.toml"
    vary.write_text('[vary]\n"gravity.softening" = { list = [0.01, 0.02] }\n')
    sweep = ["sweep", scene, str(vary), "run.steps=10", "--out", "points"]
    words = [
        ["run", scene, "run.steps=20", "--out", "run"], ["info", "run"], ["verify", "run"], ["plot", "run"],
        ["export", "run"], ["resume", "run"], ["view", "run", "--save", "page.html"],
        [*sweep, "--slurm", "--max-hours", "1"], [*sweep, "--point", "1"], [*sweep, "--workers", "0"],
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, json.dumps(words)], cwd=tmp_path, capture_output=True, text=True
    )
    codes, bound, listening, own = json.loads(done.stdout.splitlines()[-1])
    assert codes == [0] * len(words), done.stderr
    assert (bound, listening) == ([], [])
    assert own == 1
