"""Hostile HDF5 at every place that reads it: each answer comes within seconds, from a process of its own."""

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from minusgrad.errors import CheckpointError, UserError
from minusgrad.files import durable, hdf5_trust

pytestmark = pytest.mark.unit

HEADERS = {"free": (0, 0), "none": (1, 0), "back": (1, 2**64 - 16), "beyond": (1, 2**40)}
"""Number and size of a heap object at which HDF5 walks on the spot, back, or beyond the file."""


def _measurements(file: h5py.File) -> None:
    """A trajectory of one node, whose unit is a text of variable length and so lies in a heap."""
    file["particles/all/position/time"] = np.arange(3.0)
    file["particles/all/position/value"] = np.zeros((3, 1, 2))
    for leaf in ("time", "value"):
        file[f"particles/all/position/{leaf}"].attrs["unit_symbol"] = "km and something that is long"
        file[f"particles/all/position/{leaf}"].attrs["unit_si"] = 1000.0


def _virtual(file: h5py.File) -> None:
    """A virtual dataset, whose sources lie in a heap."""
    layout = h5py.VirtualLayout((2,), float)
    layout[:] = h5py.VirtualSource("traj/000000000002.0123456789abcdef.h5", "x", (2,))
    file.create_virtual_dataset("x", layout)


def _hostile(fill, number: int, size: int) -> bytes:
    """The file with another number and size of the first object in its heap."""
    data = bytearray(durable.image(fill))
    at = data.index(b"GCOL\1\0\0\0") + 16
    data[at : at + 2] = number.to_bytes(2, "little")
    data[at + 8 : at + 16] = size.to_bytes(8, "little")
    return bytes(data)


CHILD = """
import sys
from pathlib import Path
from minusgrad.app import verify
from minusgrad.files.measurements import Wanted, read_measurements
from minusgrad.errors import UserError

class Run:
    path = Path(sys.argv[1]).parent

    @staticmethod
    def events():
        return []

class Newest:
    meta, step = {}, 2

for name in sys.argv[1:]:
    try:
        if name.endswith("trajectory.h5"):
            print(*(a.text for a in verify._master(Run, Newest, False, False)), flush=True)
        else:
            read_measurements("x.h5", Path(name).read_bytes(), Wanted("x", "position", (2,), [0], 1))
            print("read", flush=True)
    except UserError as error:
        print(error, flush=True)
"""


def test_every_reader_answers_to_a_heap_without_end(tmp_path: Path) -> None:
    """Measurements of a fit, and the master file in `verify`, whose virtual sources lie in a heap too."""
    files = []
    for name, header in HEADERS.items():
        files.append(tmp_path / f"{name}.h5")
        files[-1].write_bytes(_hostile(_measurements, *header))
    (tmp_path / "trajectory.h5").write_bytes(_hostile(_virtual, 0, 0))
    child = [sys.executable, "-c", CHILD, *map(str, files), str(tmp_path / "trajectory.h5")]
    said = subprocess.run(child, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    endless = "reading its texts would not end; do not trust it"
    assert said == [
        *[f"'x.h5': {endless}"] * 4,
        f"cannot be read: {endless}; `minusgrad resume` rewrites it",
    ]


@pytest.mark.parametrize("header", HEADERS.values())
def test_both_ways_of_opening_look_at_the_heap(tmp_path: Path, header: tuple[int, int]) -> None:
    data = _hostile(_measurements, *header)
    (tmp_path / "x.h5").write_bytes(data)
    for way, what in ((hdf5_trust.open_bytes, data), (hdf5_trust.opened_file, tmp_path / "x.h5")):
        with pytest.raises(CheckpointError, match="reading its texts would not end"), way(what):
            pass


def test_an_honest_file_is_opened_both_ways(tmp_path: Path) -> None:
    data = durable.image(_measurements)
    (tmp_path / "x.h5").write_bytes(data)
    for way, what in ((hdf5_trust.open_bytes, data), (hdf5_trust.opened_file, tmp_path / "x.h5")):
        with way(what) as file:
            assert file["particles/all/position/value"].attrs["unit_symbol"].startswith("km and")


# Files of other programs ---------------------------------------------------------------------------------


def _of_others(file: h5py.File) -> None:
    """Compressed data, a loop of groups, a second name and a link within the file."""
    file.create_dataset("a/x", data=np.arange(9.0), compression="gzip")
    file["a/again"] = file["a"]
    file["b"] = h5py.SoftLink("/a/x")


def _linked(file: h5py.File) -> None:
    file["a/b"] = h5py.ExternalLink("/etc/passwd", "/x")


def _stored_elsewhere(file: h5py.File) -> None:
    file.create_dataset("a/b", (3,), "f8", external=[("/etc/passwd", 0, 24)])


def test_files_of_others_may_be_compressed_and_have_links_inside() -> None:
    with hdf5_trust.contained_hdf5(durable.image(_of_others)) as file:
        np.testing.assert_array_equal(file["b"][()], np.arange(9.0))
        assert file.mode == "r"


@pytest.mark.parametrize(
    ("fill", "said"),
    [
        (_linked, "'a/b' is a link to another file"),
        (_stored_elsewhere, "'a/b' keeps its data in another file"),
        (_virtual, "'x' keeps its data in another file"),
    ],
)
def test_files_of_others_lead_nowhere(fill, said: str) -> None:
    with pytest.raises(UserError, match=said), hdf5_trust.contained_hdf5(durable.image(fill)):
        pass


@pytest.mark.parametrize("data", [b"", b"\x89HDF\r\n\x1a\n", b"\x89HDF\r\n\x1a\n" + bytes(5000)])
def test_other_bytes_are_no_hdf5(data: bytes) -> None:
    with pytest.raises(UserError, match="it is no HDF5 file, or damaged"), hdf5_trust.contained_hdf5(data):
        pass
