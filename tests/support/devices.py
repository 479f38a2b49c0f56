"""The device that the device path is tested on: Vulkan, on any machine by a software device (lavapipe).

The environment names the software device where it names none, so that a GPU with a display is left alone:
`VK_ICD_FILENAMES` of the loader of Vulkan. It must be set before an engine looks for devices.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from minusgrad.engine import runtime

_OF_PROCESS = os.environ.get("MINUSGRAD_ARCH", "cpu")
ARCH = "vulkan" if _OF_PROCESS in ("", "cpu") else _OF_PROCESS
"""The architecture of the device: that of the process if it is one, as `make devices ARCH=cuda` has it."""
FOLDERS = ("/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d")
CURE = f"no device of arch '{ARCH}'; of Vulkan: apt-get install mesa-vulkan-drivers libvulkan1"


def software_device() -> str:
    """The file that describes the software device; empty where it is not installed."""
    found = [path for folder in FOLDERS for path in sorted(Path(folder).glob("lvp_icd*.json"))]
    return str(found[0]) if found else ""


os.environ.setdefault("MINUSGRAD_SHORT_LOOPS", "1")  # the systems of tests are small
if "VK_ICD_FILENAMES" not in os.environ and software_device():
    os.environ["VK_ICD_FILENAMES"] = software_device()


needed = pytest.mark.skipif(not runtime.is_there(ARCH), reason=CURE)
"""The mark of a test, or `pytestmark` of a file, that computes on the device."""


@contextmanager
def on(arch: str = ARCH) -> Iterator[None]:
    """Context manager: the engine runs on the device inside, and as before behind it."""
    before = runtime._Running.options or runtime.Options()
    runtime.start(runtime.Options(arch=arch))
    try:
        yield
    finally:
        runtime.start(before)
