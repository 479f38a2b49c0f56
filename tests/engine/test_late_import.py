"""Modules that are imported when their first attribute is read."""

import sys
from contextlib import nullcontext
from importlib import invalidate_caches
from pathlib import Path

import pytest

from minusgrad.engine.loading import late_import

pytestmark = pytest.mark.unit


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package `slow_one` with a part that counts how often it is loaded."""
    folder = tmp_path / "slow_one"
    folder.mkdir()
    (folder / "__init__.py").write_text("loads = []\nfrom . import part\nvalue = 3\n")
    (folder / "part.py").write_text("import slow_one\nslow_one.loads.append(1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(late_import, "failed", [])
    for name in ("slow_one", "slow_one.part"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    invalidate_caches()
    return folder


def test_the_module_is_imported_at_its_first_attribute(package: Path) -> None:
    seen: list[str] = []
    module = late_import.imported_late("slow_one", nullcontext, lambda one: seen.append(one.__name__))
    assert late_import.waits(module)
    assert (module.__name__, Path(module.__file__).parent) == ("slow_one", package)
    assert not hasattr(module, "__wrapped__")
    assert not isinstance(module, int)
    assert "slow_one.part" not in sys.modules
    assert seen == []
    assert module.value == 3
    assert seen == ["slow_one"]
    assert not late_import.waits(module)
    assert sys.modules["slow_one"] is module


def test_a_part_is_loaded_once_though_it_is_asked_for_first(package: Path) -> None:
    module = late_import.imported_late("slow_one", nullcontext, lambda _: None)
    import slow_one.part  # type: ignore[import-not-found]

    assert module.loads == [1]
    assert slow_one.part is module.part
    assert slow_one.part.__spec__.origin == str(package / "part.py")


def test_an_import_that_fails_is_noted_and_done_anew(package: Path) -> None:
    (package / "part.py").write_text("raise MemoryError('no room')\n")
    module = late_import.imported_late("slow_one", nullcontext, lambda _: None)
    with pytest.raises(MemoryError, match="no room") as failure:
        print(module.value)
    assert late_import.failed == [failure.value]
    assert not {"slow_one", "slow_one.part"} & set(sys.modules)
    (package / "part.py").write_text("import slow_one\n")
    assert late_import.imported_late("slow_one", nullcontext, lambda _: None).value == 3


def test_what_is_not_installed_is_said_at_once() -> None:
    with pytest.raises(ModuleNotFoundError, match="nobody_has_this"):
        late_import.imported_late("nobody_has_this", nullcontext, lambda _: None)
