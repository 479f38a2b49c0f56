"""Input files: FIFOs, devices and files larger than the memory are refused before they are opened."""

import os
from pathlib import Path

import pytest

from minusgrad.assembly.contexts import StateContext
from minusgrad.check.kernel_file import load as load_kernels
from minusgrad.errors import SceneError, UserError
from minusgrad.scene import input_files
from minusgrad.scene.document import load
from minusgrad.scene.units import UnitSystem

pytestmark = pytest.mark.unit

CURE = "copy its contents into a file"


@pytest.fixture
def context(tmp_path: Path) -> StateContext:
    os.mkfifo(tmp_path / "fifo")
    return StateContext(UnitSystem.si(), 0, tmp_path)


def test_a_fifo_is_no_data_of_a_scene(context: StateContext) -> None:
    with pytest.raises(UserError) as refused:
        context.read("fifo")
    assert str(refused.value) == f"'fifo': must be a regular file, got a FIFO; {CURE}"
    assert context.files == {}


def test_a_socket_and_a_device_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=rf"^/dev/zero: must be a regular file, got a character device; {CURE}$"
    ):
        input_files.read(Path("/dev/zero"))


def test_a_fifo_is_no_scene_and_no_file_of_kernels(context: StateContext, tmp_path: Path) -> None:
    with pytest.raises(SceneError) as refused:
        load(tmp_path / "fifo")
    assert str(refused.value) == f"{tmp_path}/fifo: a scene: must be a regular file, got a FIFO; {CURE}"
    with pytest.raises(UserError, match=r"fifo: must be a regular file, got a FIFO"):
        load_kernels(tmp_path / "fifo")


def test_a_file_that_does_not_fit_is_not_read(context: StateContext, tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**43)  # sparse
    with pytest.raises(UserError, match=r"^'large': 8.8 TB of memory needed, .* free; an input file is"):
        context.read("large")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nul\0.csv", r"cannot read 'nul\\x00.csv' (embedded null byte)"),
        ("none.csv", "cannot read 'none.csv' (No such file or directory)"),
        (".", "cannot read '.' (Is a directory)"),
        ("x" * 300, "File name too long)"),
    ],
)
def test_names_that_lead_nowhere(context: StateContext, name: str, reason: str) -> None:
    with pytest.raises(UserError) as refused:
        context.read(name)
    assert reason in str(refused.value).replace("\\x00", r"\\x00")
    assert str(refused.value).endswith("; paths start at the scene's folder")


def test_the_scene_of_a_run_says_where_its_files_are(context: StateContext, tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").touch()
    with pytest.raises(UserError) as refused:
        context.read("arrays.h5")
    cure = f"this scene is that of a run, whose files are in {tmp_path / 'inputs'}: to repeat it, copy"
    assert cure in str(refused.value)


def test_the_scene_of_a_run_without_overrides_reads_the_files_of_the_run(
    context: StateContext, tmp_path: Path
) -> None:
    (tmp_path / "journal.jsonl").touch()
    (tmp_path / "overrides.json").write_text("[]\n")
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs/arrays.h5").write_bytes(b"of the run")
    assert context.read("arrays.h5") == b"of the run"
    (tmp_path / "overrides.json").write_text('["run.steps=5"]\n')
    with pytest.raises(UserError, match="with its overrides"):
        context.read("arrays.h5")
