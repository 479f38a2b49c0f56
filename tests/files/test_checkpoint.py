"""Checkpoints: what comes back is what went in, bit for bit; what is strange is refused before it is read."""

import json
import math
import struct
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

import torch
from minusgrad.errors import CheckpointError
from minusgrad.files import checkpoint, durable, hdf5_trust
from minusgrad.files.checkpoint import Snapshot

pytestmark = pytest.mark.unit

ARRAYS = {
    "fields/x": np.random.default_rng(1).normal(size=(5, 3)),
    "fields/mass": np.float32([1, 2.5, -0.0, np.nan, np.inf]),
    "fields/pinned": np.array([True, False, True]),
    "stepper/gradient/x": np.arange(12, dtype=">f8").reshape(3, 4).T,
    "stepper/half": np.array(True),
    "stepper/dt": np.array(0.1, ">f4"),
    "stepper/count": np.array(2**63 - 1),
    "observers/2/rows": np.zeros((0, 4), np.float32),
    "observers/2/steps": np.zeros(0, np.int64),
    "observers/3/none": np.zeros((3, 0), np.uint8),
    "recorder/observables/potential/gravity/value": np.zeros(2),
    "recorder/observables/potential/value": np.zeros(2),
}
META = {
    "versions": {"h5py": "3"},
    "overrides": ["a=1"],
    "E0": 0.1 + 0.2,
    "none": None,
    "nested": [{"µ": True}],
}
(SMALLEST,) = struct.unpack("<d", b"\1" + 7 * b"\0")
"""2^-1074 by its bits: a library may have set the processor to take results like it for zero."""
SNAPSHOT = Snapshot(
    600, 0.1 + 0.2, SMALLEST, ARRAYS, {"fields/x": "µm", "fields/mass": ""}, META, b"# \xff\0 scene\r\n"
)


def _same(a: Snapshot, b: Snapshot) -> None:
    assert (a.step, a.time.hex(), a.dt.hex()) == (b.step, b.time.hex(), b.dt.hex())
    assert (a.units, a.meta, a.scene) == (b.units, b.meta, b.scene)
    assert a.arrays.keys() == b.arrays.keys()
    for name, array in a.arrays.items():
        other = b.arrays[name]
        assert isinstance(other, np.ndarray), name
        assert (array.dtype, array.shape, array.tobytes()) == (other.dtype, other.shape, other.tobytes()), (
            name
        )


def test_everything_comes_back_exactly(tmp_path):
    path = checkpoint.save(tmp_path, SNAPSHOT)
    assert path.name.startswith("000000000600.")
    _same(SNAPSHOT, checkpoint.load(path))


@pytest.mark.parametrize("value", [0.0, -0.0, math.pi, 1e308, 5e-324, math.inf, math.nan])
def test_time_and_step_length_keep_their_bits(tmp_path, value):
    back = checkpoint.load(checkpoint.save(tmp_path, Snapshot(0, value, -value, {})))
    assert np.float64(back.time).tobytes() == np.float64(value).tobytes()
    assert np.float64(back.dt).tobytes() == np.float64(-value).tobytes()


def test_the_order_of_names_does_not_matter(tmp_path):
    turned = replace(SNAPSHOT, arrays=dict(reversed(ARRAYS.items())), meta=dict(reversed(META.items())))
    assert checkpoint.save(tmp_path, turned) == checkpoint.save(tmp_path, SNAPSHOT)


def test_under_gives_a_folder_of_arrays():
    assert SNAPSHOT.arrays_under("stepper").keys() == {"gradient/x", "half", "dt", "count"}
    assert SNAPSHOT.arrays_under("step") == {}
    assert SNAPSHOT.arrays_under("fields/")["x"] is ARRAYS["fields/x"]


@pytest.mark.parametrize(
    ("snapshot", "message"),
    [
        (Snapshot(0, 0, 0, {"../x": np.zeros(1)}), "not a name for an array"),
        (Snapshot(0, 0, 0, {"a//b": np.zeros(1)}), "not a name for an array"),
        (Snapshot(0, 0, 0, {"": np.zeros(1)}), "not a name for an array"),
        (Snapshot(0, 0, 0, {"x": np.array([{}])}), "numbers and booleans, not object"),
        (Snapshot(0, 0, 0, {"x": np.array(["text"])}), "numbers and booleans"),
        (Snapshot(0, 0, 0, {"x": np.zeros(1)}, {"y": "m"}), "units for missing arrays: y"),
    ],
)
def test_what_cannot_be_held_is_refused_when_saving(tmp_path, snapshot, message):
    with pytest.raises(ValueError, match=message):
        checkpoint.save(tmp_path, snapshot)
    assert list(tmp_path.iterdir()) == []


def _tampered(tmp_path, change):
    """A checkpoint whose content was changed and its name made to fit: only our own checks can see it."""

    with hdf5_trust.open_bytes(checkpoint.save(tmp_path, SNAPSHOT).read_bytes()) as whole:

        def fill(file):
            for name in whole:
                whole.copy(name, file)
            for name, value in whole.attrs.items():
                file.attrs[name] = value
            change(file)

        return durable.write_new(tmp_path, "000000000600", durable.image(fill))


def _new_x(**options):
    def change(file):
        del file["arrays/fields/x"]
        file.create_dataset("arrays/fields/x", **options)

    return change


def _virtual(file):
    layout = h5py.VirtualLayout((3,), "f8")
    layout[:] = h5py.VirtualSource("/etc/other.h5", "x", (3,))
    file.create_virtual_dataset("arrays/fields/secret", layout)


def _set(name, value):
    return lambda file: file.__setitem__(name, value)


def _attr(name, value):
    return lambda file: file.attrs.__setitem__(name, value)


STRANGE = {
    "soft link": (_set("arrays/a", h5py.SoftLink("/scene")), "'arrays/a' is a link"),
    "external link": (_set("arrays/a", h5py.ExternalLink("/etc/passwd", "/")), "'arrays/a' is a link"),
    "hard link": (lambda f: _set("arrays/a", f["scene"])(f), "second name of another object"),
    "loop": (lambda f: _set("arrays/a", f["arrays"])(f), "second name of another object"),
    "virtual": (_virtual, "'arrays/fields/secret' keeps its data in another file"),
    "raw data outside": (_new_x(shape=(3,), dtype="f8", external=[("/etc/passwd", 0, 24)]), "another file"),
    "object dtype": (_new_x(data=["text"], dtype=h5py.string_dtype()), "holds object"),
    "reference": (_new_x(shape=(1,), dtype=h5py.ref_dtype), "holds object"),
    "compound": (_new_x(shape=(1,), dtype=[("a", "f8")]), "plain arrays only"),
    "named type": (_set("arrays/t", np.dtype("f8")), "is not an array"),
    "filter": (_new_x(data=np.zeros(9), compression="gzip"), "'arrays/fields/x' is stored through a filter"),
    "pieces": (_new_x(data=np.zeros(9), chunks=(3,)), "is not contiguous"),
    "bomb": (_new_x(shape=(10**12,), dtype="f8"), "claims more bytes than are stored"),
    "unknown name": (_set("extra", 1.0), "unknown names: extra"),
    "changed": (lambda f: f["arrays/fields/x"].__setitem__((0, 0), 7), "'fields/x' does not match"),
    "another shape": (_new_x(data=np.zeros(3)), "array 'fields/x' does not match"),
    "another unit": (lambda f: f["arrays/fields/x"].attrs.__setitem__("unit", "m"), "units, scene or meta"),
    "another time": (_attr("time", 0.5), "step, time, names, units, scene or meta do not match"),
    "an array less": (lambda f: f.__delitem__("arrays/fields/x"), "needs one SHA-256 for each"),
    "an array more": (_set("arrays/fields/y", np.zeros(3)), "needs one SHA-256 for each"),
    "another name": (lambda f: f.move("arrays/fields/x", "arrays/fields/w"), "units, scene or meta"),
    "no hashes": (lambda f: f.__delitem__("sha256"), "not a readable checkpoint"),
    "no meta": (lambda f: f.__delitem__("meta"), "not a readable checkpoint"),
    "list as meta": (lambda f: (f.pop("meta"), _set("meta", np.uint8([91, 93]))(f)), "is not a JSON object"),
    "other format": (_attr("format", np.bytes_("else")), "not a minusgrad checkpoint"),
    "other major": (_attr("version", np.int32([4, 0])), "written by format 4, this is 3: resume it with the"),
}  # fmt: skip


@pytest.mark.parametrize("what", STRANGE)
def test_a_strange_file_is_refused(tmp_path, what):
    change, message = STRANGE[what]
    path = _tampered(tmp_path, change)
    with pytest.raises(CheckpointError, match=message) as caught:
        checkpoint.load(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("shift", [0, 8, 10**6])
def test_arrays_that_share_bytes_or_leave_the_file_are_refused(tmp_path, shift):
    """Else a small file with many arrays at one place fills the memory."""
    arrays = {"a": np.full(1000, 1), "b": np.full(1000, 2)}
    image = checkpoint.save(tmp_path, Snapshot(0, 0, 0, arrays)).read_bytes()
    with hdf5_trust.open_bytes(image) as file:
        first, second = (struct.pack("<qq", file[f"arrays/{name}"].id.get_offset(), 8000) for name in arrays)
        moved = struct.pack("<qq", file["arrays/a"].id.get_offset() + shift, 8000)
    assert image.count(first) == image.count(second) == 1
    with pytest.raises(CheckpointError, match=r"claim more bytes than the file has|not a readable"):
        checkpoint.load(durable.write_new(tmp_path, "000000000000", image.replace(second, moved)))


def test_the_logical_hash_sees_dtype_shape_and_bytes():
    zero = np.zeros(4)
    others = [zero.reshape(2, 2), zero.astype(np.int64), zero.astype(">f8"), zero[:3], -zero]
    assert len({checkpoint._logical_sha(array) for array in [zero, *others]}) == 6


def test_a_later_minor_version_loads_with_what_it_added(tmp_path):
    def later(file):
        file.attrs["version"] = np.int32([3, 7])
        file["news"] = 1.0

    _same(SNAPSHOT, checkpoint.load(_tampered(tmp_path, later)))


def test_what_is_no_hdf5_file_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="not a readable checkpoint"):
        checkpoint.load(durable.write_new(tmp_path, "000000000600", b"x" * 999))


def test_hdf5_is_not_called_on_damaged_bytes(tmp_path, monkeypatch):
    path = checkpoint.save(tmp_path, SNAPSHOT)
    path.write_bytes(path.read_bytes()[:-1])
    monkeypatch.setattr(hdf5_trust, "open_bytes", lambda _: pytest.fail("HDF5 was called"))
    with pytest.raises(CheckpointError, match="damaged"):
        checkpoint.load(path)


def test_newest_passes_over_the_damaged_and_says_so(tmp_path):
    paths = [checkpoint.save(tmp_path, Snapshot(step, 0, 0, {})) for step in (2, 10, 300)]
    (tmp_path / "notes.h5").touch()
    assert checkpoint.newest(tmp_path) == (paths[2], [])
    paths[2].write_bytes(b"")
    best, remarks = checkpoint.newest(tmp_path)
    assert best == paths[1]
    assert len(remarks) == 1
    assert paths[2].name in remarks[0]
    assert "damaged" in remarks[0]
    assert checkpoint.newest(tmp_path / "nowhere") == (None, [])


def test_prune_keeps_the_newest_and_all_interrupted(tmp_path):
    kinds = {5: checkpoint.INTERRUPTED}
    paths = [
        checkpoint.save(tmp_path, Snapshot(step, 0, 0, {}), kinds.get(step, "")) for step in (1, 5, 7, 30)
    ]
    assert [checkpoint.is_scheduled(path) for path in checkpoint.list_checkpoints(tmp_path)] == [
        True,
        False,
        True,
        True,
    ]
    assert checkpoint.prune(tmp_path, 2) == [paths[0]]
    assert checkpoint.list_checkpoints(tmp_path) == paths[1:]
    with pytest.raises(ValueError, match="at least one"):
        checkpoint.prune(tmp_path, 0)


def test_the_file_says_what_it_is(tmp_path):
    with h5py.File(checkpoint.save(tmp_path, SNAPSHOT)) as file:
        assert file.attrs["format"] == b"minusgrad checkpoint"
        assert file.attrs["version"].tolist() == [3, 0]
        assert file["arrays/fields/x"].attrs["unit"] == "µm"
        assert json.loads(file["meta"][()].tobytes()) == META


FORMATS = Path(__file__).parents[1] / "formats"


def test_a_checkpoint_loads_where_the_processor_takes_subnormal_numbers_for_zero():
    """Libraries set it so for the whole process; dt here is the smallest number that there is."""
    (path,) = (FORMATS / "2.0").iterdir()
    torch.set_flush_denormal(True)
    try:
        dt = checkpoint.load(path).dt
    finally:
        torch.set_flush_denormal(False)
    assert np.float64(dt).tobytes() == np.float64(SNAPSHOT.dt).tobytes()


@pytest.mark.parametrize("version", ["1.0", "2.0", "3.0"])
def test_a_checkpoint_of_each_format_that_was_ever_written_loads(version):
    """Their content is that of SNAPSHOT."""
    (path,) = (FORMATS / version).iterdir()
    with h5py.File(path) as file:
        assert ".".join(map(str, file.attrs["version"])) == version
    _same(SNAPSHOT, checkpoint.load(path))
