"""The index of kinds: equal to what plugins register, and nothing is imported that a scene does not use."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import invalidate_caches
from pathlib import Path
from textwrap import dedent

import pytest

from minusgrad.assembly.installed_plugins import OURS, listed
from minusgrad.assembly.kinds import kind_index
from minusgrad.assembly.registry import Registry
from tests.project import kind_index as tool
from tests.support.command import SCENES

ENERGY = """
    from minusgrad.plugin import Node, Parameter, hookimpl, local_energy

    @local_energy("{0}", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m", bounds=(0.0, 1e9)))
    def energy(x, k):
        '''A spring to the origin.'''
        return 0.5 * k * x[0].norm_sqr()

    @hookimpl
    def register_energies():
        return [energy]
    """
Put = Callable[..., None]
COMMAND = """
import json, sys
from minusgrad.app.cli import main
code = main(sys.argv[1:])
sys.stdout = open("seen.json", "w")
json.dump([code, sorted(sys.modules)], sys.stdout)
"""


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    """Install a stranger's plugin `odd`, in module `strange`, with an energy of this name."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv(kind_index.VARIABLE, str(tmp_path / "cache"))

    def install(energy: str, version: str = "1.0", text: str = ENERGY) -> None:
        for old in site.glob("*.dist-info/*"):
            old.unlink()
        for old in site.glob("*.dist-info"):
            old.rmdir()
        info = site / f"strangers-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: strangers\nVersion: {version}\n")
        (info / "entry_points.txt").write_text("[minusgrad]\nodd = strange\n")
        (site / "strange.py").write_text(dedent(text).format(energy))
        sys.modules.pop("strange", None)
        invalidate_caches()

    yield install
    sys.modules.pop("strange", None)


def modules_of(tmp_path: Path, *arguments: object) -> tuple[int, set[str]]:
    """The exit code of a command in a process of its own, and the modules that it imported."""
    command = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    code, names = json.loads((tmp_path / "seen.json").read_text())
    return code, set(names)


@pytest.mark.unit
def test_the_shipped_index_is_what_our_plugins_register() -> None:
    cure = "python -m tests.project.kind_index --write"
    assert kind_index.SHIPPED.read_text() == tool.made(), cure


@pytest.mark.unit
def test_a_kind_of_the_index_is_the_kind_of_the_hook() -> None:
    """Entered one by one from where the index says, then as the hooks give them."""
    ours = [plugin.name for plugin in listed() if plugin.distribution == OURS]
    single, whole = Registry.load(ours), Registry.load(ours)
    rows = [(one.section, one.kind) for one in single.listed()]
    entries = {row: single.entry(*row) for row in rows}
    assert set(single._waiting) == set(ours)  # none was loaded as a whole
    assert rows == [(one.section, one.kind) for one in whole.listed()]
    for (section, kind), entry in entries.items():
        assert entry == whole.tables[section][kind]
        assert entry is single.tables[section][kind]
    assert [*single.tables["energy"]] == [*whole.tables["energy"]]


def test_a_mistyped_key_imports_neither_engine_nor_steppers(tmp_path: Path) -> None:
    code, seen = modules_of(tmp_path, "run", SCENES / "two_body.toml", "stepper.dtt=3")
    assert code == 2
    assert "minusgrad_gravity.states" in seen
    tops = {name.partition(".")[0] for name in seen}
    assert not tops & {"scipy", "h5py", "rich", "minusgrad_elastic", "minusgrad_laser"}
    assert not seen & {"taichi.lang", "minusgrad_gravity.orbits", "minusgrad.potential.potential"}
    assert not seen & {"minusgrad.assembly.built_scene", "minusgrad.steppers.integrator"}


def test_a_run_imports_what_it_uses(tmp_path: Path) -> None:
    scene, out = SCENES / "two_body.toml", tmp_path / "run"
    code, seen = modules_of(
        tmp_path, "run", scene, "run.steps=1", "--out", out, 'plugins=["gravity","elastic"]'
    )
    assert code == 0
    assert "taichi.lang" in seen
    unused = ("scipy.optimize", "scipy.special", "scipy.spatial", "scipy.linalg", "urllib.request")
    assert not seen & {*unused, "minusgrad_elastic", "minusgrad_elastic.networks"}
    assert not seen & {"minusgrad.assembly.fits.fit", "minusgrad.assembly.ensembles.ensemble"}
    assert not seen & {"minusgrad.steppers.minimisers.newton", "minusgrad_gravity.discs.galaxies"}


def test_lists_import_no_plugin(tmp_path: Path) -> None:
    for verb in ("kinds", "energies"):
        code, seen = modules_of(tmp_path, verb)
        assert code == 0
        assert not [name for name in seen if name.startswith(("minusgrad_", "taichi.lang", "scipy"))]


@pytest.mark.unit
def test_a_strangers_index_is_made_once_and_remade_when_it_is_stale(put: Put) -> None:
    put("bubble")
    assert [*Registry.load(["odd"])._waiting] == ["core"]  # loaded, and written down
    assert "strange" in sys.modules
    del sys.modules["strange"]
    again = Registry.load(["odd"])
    assert "bubble" in again.kinds("energy")
    assert "strange" not in sys.modules
    assert again.entry("energy", "bubble").owner.distribution == "strangers"
    assert "strange" in sys.modules

    put("bobbles")  # the file alone
    assert "bubble" not in (edited := Registry.load(["odd"])).kinds("energy")
    assert edited.entry("energy", "bobbles") is not None
    put("bobbles", version="1.1")
    assert [*Registry.load(["odd"])._waiting] == ["core"]
    assert [*Registry.load(["odd"])._waiting] == ["core", "odd"]


@pytest.mark.unit
def test_a_damaged_index_of_a_stranger_is_made_again(put: Put, tmp_path: Path) -> None:
    put("bubble")
    Registry.load(["odd"])
    (file,) = (tmp_path / "cache" / "kinds").iterdir()
    right = file.read_text()
    for wrong in (
        "",
        "[]",
        "{",
        right.replace('"about"', '"abuot"'),
        right.replace('"kinds": {', '"kinds": [{'),
    ):
        file.write_text(wrong)
        assert Registry.load(["odd"]).entry("energy", "bubble") is not None
        assert file.read_text() == right


@pytest.mark.unit
def test_a_stranger_that_breaks_later_is_reported_where_it_is_used(put: Put, tmp_path: Path) -> None:
    """Its own file is as it was; a module that it needs has gone."""
    (tmp_path / "site" / "helper.py").write_text("")
    put("bubble", text="    import helper\n" + ENERGY)
    Registry.load(["odd"])
    (tmp_path / "site" / "helper.py").unlink()
    sys.modules.pop("helper"), sys.modules.pop("strange")
    invalidate_caches()
    registry = Registry.load(["odd"])
    assert not registry.broken
    assert registry.entry("energy", "bubble") is None
    assert "cannot be imported at strange.py" in str(registry.broken["odd"])
    assert "bubble" not in registry.kinds("energy")


@pytest.mark.unit
def test_a_stranger_that_claims_our_kind_is_loaded_and_refused(put: Put) -> None:
    """Also where its index is known: the plugin is broken, as without an index."""
    put("spring")
    assert not Registry.load(["odd"]).broken
    registry = Registry.load(["elastic", "odd"])
    assert "registers energy 'spring', which belongs to plugin 'elastic'" in str(registry.broken["odd"])
    assert registry.entry("energy", "spring").owner.name == "elastic"


@pytest.mark.unit
def test_a_kind_that_a_checkout_has_and_its_index_not_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    known = kind_index.shipped()
    table = {k: row for k, row in known["gravity"].kinds["energy"].items() if k != "gravity"}
    older = kind_index.PluginKinds({**known["gravity"].kinds, "energy": table}, (), True)
    monkeypatch.setattr(kind_index, "shipped", lambda: {**known, "gravity": older})
    monkeypatch.setattr(kind_index, "may_be_behind", lambda: False)
    assert Registry.load(["gravity"]).entry("energy", "gravity") is None
    monkeypatch.setattr(kind_index, "may_be_behind", lambda: True)
    assert Registry.load(["gravity"]).entry("energy", "gravity").owner.name == "gravity"
