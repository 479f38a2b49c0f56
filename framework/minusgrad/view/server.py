"""The server of a page: viser as it is needed, on a port that is free.

Decisions 0094, 0396.
"""

import io
import socket
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingPackageError, UserError, pip_line
from ..plot import mesh_artists, picture_files
from .guard import Guard, NoPort, serving
from .scenery import Scenery
from .space import SIDE

if TYPE_CHECKING:
    from viser import ViserServer

HOST, PORT = "127.0.0.1", 8080
TRIED = 100
"""So many ports from the usual one on are tried."""


def viser() -> Any:
    """The package. Raises `MissingPackageError` where it is not installed, `UserError` without Matplotlib."""
    picture_files.matplotlib()
    try:
        import viser
    except ImportError:
        raise MissingPackageError(
            f"an interactive view needs viser: {pip_line('view')}", name="viser"
        ) from None
    return viser


def start_server(guard: Guard, port: int) -> "ViserServer":
    """A server behind a guard on a port that is free. Raises `MissingPackageError` without viser."""
    return _make_server(guard, guard.host, port)


def _make_server(by: Guard | NoPort, host: str, port: int) -> "ViserServer":
    package = viser()
    with redirect_stdout(io.StringIO()), serving(by):  # a table of addresses; ours is one line
        return package.ViserServer(host=host, port=port, verbose=False)


def stop(server: "ViserServer") -> None:
    """Close a server and its connections."""
    with redirect_stdout(io.StringIO()):
        server.stop()


@contextmanager
def running() -> "Iterator[ViserServer]":
    """A server without a port, whose messages are recorded."""
    server = _make_server(NoPort(), HOST, PORT)
    try:
        yield server
    finally:
        stop(server)


def prepare(server: "ViserServer", scenery: Scenery) -> None:
    """Put a scenery on a page, with its camera; the first frame is shown."""
    _place_lights(server, scenery.view)
    scenery.put(server.scene)
    scenery.space.aim(server, scenery.view)
    scenery.show(0)


def _place_lights(server: "ViserServer", view: np.ndarray) -> None:
    """Light from the upper left of the usual view as in pictures, some from behind, and some everywhere."""
    scene, place = server.scene, SIDE * (mesh_artists.LIGHT @ view)
    scene.configure_default_lights(enabled=False)
    scene.configure_environment_map(None)
    scene.add_light_ambient("/lights/everywhere", intensity=2.1)
    scene.add_light_directional("/lights/main", intensity=1.3, position=tuple(place))
    scene.add_light_directional("/lights/behind", intensity=0.5, position=tuple(-place))


def free(host: str, port: int | None) -> int:
    """The port, or the first free one from `PORT` on. Raises `UserError` if there is none."""
    if port is not None and not 0 < port < 65536:
        raise UserError(f"view: a port is a number from 1 to 65535, got {port}; see --port")
    failure = ""
    for number in range(PORT, PORT + TRIED) if port is None else [port]:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, number))
                return number
            except OSError as error:
                failure = error.strerror or str(error)
    wanted = f"{PORT} to {PORT + TRIED - 1}" if port is None else str(port)
    raise UserError(f"view: cannot listen at {host}, port {wanted}: {failure}; give another --port or --host")
