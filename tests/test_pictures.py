"""Pictures: the right files appear, with something on them, and nothing global of Matplotlib changes."""

import subprocess
import sys

import matplotlib
import matplotlib.image
import numpy as np
import pytest

from minusgrad import pictures
from minusgrad.checkpoint import Snapshot
from minusgrad.errors import RunFolderError, UserError
from minusgrad.rundir import RunDir
from minusgrad.trajectory import Recorder

T = np.linspace(0, 6, 40)


def _run(path, frames=None, observables=None, meta=None):
    """A finished run: frames label -> (T, N, ...), observables name -> (T,)."""
    recorder = Recorder({"position": ("AU", 1.5e11), "phi": ("rad", 1.0)}, ("yr", 3e7))
    with RunDir.create(path, b"", []) as run:
        for step, time in enumerate(T):
            recorder.record_frame(step, time, {label: x[step] for label, x in (frames or {}).items()})
            recorder.record_observables(
                step, time, {name: y[step] for name, y in (observables or {}).items()}
            )
            if step in (15, len(T) - 1):
                run.save(Snapshot(step, time, 0.1, {}, meta=meta or {}), recorder, keep=2)
    return path


def _circles(radii, dimension=2):
    radii = np.asarray(radii, float)
    angle = T[:, None] * 9 / radii**0.5 + radii
    x = np.stack([radii * np.cos(angle), radii * np.sin(angle), 0 * angle], axis=-1)
    return x[..., :dimension]


def _size(path):
    picture = matplotlib.image.imread(path)
    assert picture.shape[0] > 300
    assert np.ptp(picture[..., :3]) > 0.5, "not blank"
    return picture.shape[:2]


ENERGIES = {"kinetic": 1 + 0.1 * np.sin(T), "potential/gravity": -2 - 0.1 * np.sin(T), "total": -1 + 1e-9 * T}


def test_a_few_bodies(tmp_path):
    run = _run(
        tmp_path / "run", {"position": _circles([1, 2, 3])}, ENERGIES, {"names": ["a", "b"], "title": "Three"}
    )
    out = pictures.plot(run)
    assert out == [run / "pictures" / "orbits.png", run / "pictures" / "energy.png"]
    for path in out:
        _size(path)
    again = {path: path.read_bytes() for path in out}
    assert {path: path.read_bytes() for path in pictures.plot(run)} == again, "the same run, the same bytes"


def test_a_crowd_inside_a_wide_system_gets_its_own_panel(tmp_path):
    wide = _circles([0.4, 0.7, 1, 1.5, 5, 10, 30])
    assert pictures._crowd(wide).tolist() == [True] * 4 + [False] * 3
    assert not pictures._crowd(_circles([1, 2, 3, 4])).any()
    (path,) = pictures.plot(_run(tmp_path / "run", {"position": wide}))
    height, width = _size(path)
    assert width > 1.7 * height


def test_many_bodies(tmp_path):
    run = _run(tmp_path / "run", {"position": _circles(np.linspace(1, 9, 500), 3)})
    (path,) = pictures.plot(run, tmp_path / "elsewhere")
    assert path == tmp_path / "elsewhere" / "orbits.png"
    height, width = _size(path)
    assert width > 1.7 * height
    assert not (run / "pictures").exists()


def test_first_and_last_frame_are_the_very_first_and_last(tmp_path):
    x = _circles(np.linspace(1, 9, 100), 3)
    first, last = pictures._ends(_run(tmp_path / "run", {"position": x}))
    assert (first[0], last[0]) == (T[0], T[-1])
    np.testing.assert_array_equal(first[1], x[0, :, :2])
    np.testing.assert_array_equal(last[1], x[-1, :, :2])


@pytest.mark.parametrize("lowest", [-1.0, 0.0])
def test_scalar_fields(tmp_path, lowest):
    phi = np.maximum(np.sin(T[:, None] - np.linspace(0, 9, 80)), lowest)
    out = pictures.plot(_run(tmp_path / "run", {"phi": phi, "energy": phi}, {"total": 0 * T}))
    assert sorted(path.name for path in out) == ["energy.png", "energy_field.png", "phi.png"]
    for path in out:
        _size(path)


def test_nothing_to_draw_says_so(tmp_path):
    run = _run(tmp_path / "run", {"velocity": _circles([1, 2])}, {"height": T})
    with pytest.raises(
        UserError, match=r"nothing to draw \(there are: observables/height, particles/all/velocity\)"
    ):
        pictures.plot(run)
    with pytest.raises(RunFolderError, match="not a run"):
        pictures.plot(tmp_path)


def test_positions_on_a_line_have_no_orbits(tmp_path):
    run = _run(tmp_path / "run", {"position": _circles([1, 2], 1)}, ENERGIES)
    assert [path.name for path in pictures.plot(run)] == ["energy.png"]


def test_nothing_global_changes(tmp_path):
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        before = dict(matplotlib.rcParams)
        pictures.plot(_run(tmp_path / "run", {"position": _circles([1, 2])}))
        assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_cure_is_named(tmp_path, monkeypatch):
    run = _run(tmp_path / "run", {"position": _circles([1, 2])})
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"pictures need matplotlib: pip install 'minusgrad\[plot\]'"):
        pictures.plot(run)


def test_looking_at_files_loads_neither_taichi_nor_matplotlib():
    code = "import sys, minusgrad.pictures; print({'taichi', 'matplotlib', 'pluggy'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"
