"""Files laid out in pieces: HDF5 reads what was placed, equal content is equal bytes, nothing is copied."""

import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path

import h5py
import numpy as np
import pytest

from minusgrad.files import durable, hdf5_trust
from minusgrad.files.hdf5_layout import CHUNK, Draft, Later, laid_out, stretch

pytestmark = pytest.mark.unit

X = np.random.default_rng(0).random((1000, 3))


def filled(draft: Draft) -> None:
    later: Future[bytes] = Future()
    later.set_result(b"12345678")
    draft.file.attrs["unit"] = "µm"
    draft.file["small"] = np.arange(6.0)
    draft.array("deep/x", [X[:300], X[300:301], X[301:]], X.shape, X.dtype)
    draft.array("turned", [np.ascontiguousarray(X.T)], X.T.shape, X.dtype)
    draft.array("big endian", [X.astype(">f4")], X.shape, np.dtype(">f4"))
    draft.array("truth", [X[:, 0] > 0.5], (1000,), np.dtype(bool))
    draft.array("scalar", [np.array(3.5)], (), np.dtype(float))
    draft.array("nothing", [], (0, 3), np.dtype(np.float32))
    draft.array("later", [Later(later, 8)], (8,), np.dtype(np.uint8))
    draft.file["again"] = draft.file["deep/x"]


def test_hdf5_reads_what_was_placed() -> None:
    data = b"".join(laid_out(filled))
    assert data == b"".join(laid_out(filled))
    with hdf5_trust.open_bytes(data) as file:
        assert file.attrs["unit"] == "µm"
        assert np.array_equal(file["small"], np.arange(6.0))
        assert np.array_equal(file["deep/x"], X)
        assert np.array_equal(file["turned"], X.T)
        assert np.array_equal(file["big endian"], X.astype(">f4"))
        assert np.array_equal(file["truth"], X[:, 0] > 0.5)
        assert file["scalar"][()] == 3.5
        assert file["nothing"].shape == (0, 3)
        assert bytes(file["later"][...]) == b"12345678"
        assert file["again"] == file["deep/x"]


def test_an_image_knows_its_size_and_can_be_read_again() -> None:
    image = laid_out(filled)
    chunks = [bytes(chunk) for chunk in image]
    assert sum(map(len, chunks)) == image.size
    assert [bytes(chunk) for chunk in image] == chunks


def test_arrays_come_from_other_files(tmp_path: Path) -> None:
    """In stretches of a few megabytes; one that is not as long as it was is an error."""
    large = np.arange(CHUNK // 8 * 2 + 5, dtype=float)
    for name in ("a", "b"):
        durable.replace(tmp_path / name, durable.image(lambda file: file.__setitem__("x", large)))
    parts = []
    for name in ("a", "b"):
        with h5py.File(tmp_path / name) as file:
            parts.append(stretch(file["x"], tmp_path / name))
    image = laid_out(lambda draft: draft.array("x", parts, (2 * large.size,), large.dtype))
    assert max(map(len, image)) == CHUNK
    with hdf5_trust.open_bytes(b"".join(image)) as file:
        assert np.array_equal(file["x"], np.concatenate([large, large]))
    (tmp_path / "b").write_bytes((tmp_path / "b").read_bytes()[:-8])
    with pytest.raises(OSError, match="ends 8 bytes too early"):
        b"".join(image)


MEMORY = r"""
import re, sys
from pathlib import Path
import numpy as np
from minusgrad.files import checkpoint
from minusgrad.files.checkpoint import Snapshot

def most():
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024

x = np.random.default_rng(0).random(8 << 20)
checkpoint.save(Path(sys.argv[1]), Snapshot(0, 0.0, 0.0, {"x": x[:1000]}))
before = most()
checkpoint.save(Path(sys.argv[1]), Snapshot(1, 0.0, 0.0, {"x": x}))
print((most() - before) / x.nbytes)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks the kernel for the most memory")
def test_a_checkpoint_costs_no_memory_beyond_its_arrays(tmp_path: Path) -> None:
    """Hashed and written from where they lie: in parts of the state, of 64 MB."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, tmp_path],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < 0.25
