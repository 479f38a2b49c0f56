"""Systems of openmmtools, which the extra `test` does not have: pip cannot leave out its dependencies."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from minusgrad.errors import MinusgradError
from tests.plugins.molecular.openmmtools_systems import SYSTEMS, compare

pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not find_spec("openmmtools"), reason="needs pip install --no-deps openmmtools"),
]
REFUSED = ("AMOEBAIonBox",)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_is_that_of_openmm(name: str, tmp_path: Path) -> None:
    _, _, found = compare(name, tmp_path)
    if name in REFUSED:
        assert isinstance(found, MinusgradError)
        assert "AmoebaTorsionTorsionForce is not supported; take a force field with fixed" in str(found)
    else:
        assert found.error < 1e-7
        assert found.error_of_forces < 1e-7
