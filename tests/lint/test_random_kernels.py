"""Random kernels: those that stages take have a true gradient. Those that are refused are not run."""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minusgrad import Fields, Node
from minusgrad.energies.staged_energy import Stage, staged_energy
from minusgrad.errors import EnergyError
from minusgrad.potential.staged.staged_binding import bind_staged
from minusgrad.potential.staged.staged_term import StagedTerm
from tests.support.random_kernels import Kernels

START = np.array([0.31, 0.87, 1.22, 0.55])
STEP = 1e-3
COUNT = 60


def taken(kernel: Callable) -> StagedTerm | None:
    """The kernel as a stage; None where it is refused."""
    try:
        energy = staged_energy("e", stages=[Stage(kernel, ("U",))], x=Node())
    except EnergyError:
        return None
    return bind_staged(energy, Fields({"x": START}))


def differences(term: StagedTerm, h: float) -> np.ndarray:
    """Of fourth order."""

    def value(at: np.ndarray) -> float:
        term.fields["x"].set(at)
        return term.value()

    found = [
        (8.0 * (value(START + e) - value(START - e)) - (value(START + 2.0 * e) - value(START - 2.0 * e)))
        for e in h * np.eye(4)
    ]
    term.fields["x"].set(START)
    return np.array(found) / (12.0 * h)


@pytest.mark.parametrize("seed", [1, 2])
def test_what_stages_take_is_reversed_rightly(seed: int, tmp_path: Path) -> None:
    (file := tmp_path / f"random_{seed}.py").write_text(Kernels(seed, COUNT).text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    right = refused = 0
    for n in range(COUNT):
        if (term := taken(getattr(module, f"k{n}"))) is None:
            refused += 1
            continue
        slope, rough, fine = term.gradient("x"), differences(term, STEP), differences(term, 0.5 * STEP)
        size = max(np.abs(fine).max(), 1e-3)
        if np.isfinite(slope).all() and np.abs(rough - fine).max() < 1e-6 * size:  # else a kink is near
            assert np.abs(slope - fine).max() < 1e-5 * size, f"k{n} of seed {seed}"
            right += 1
    assert right > 0.4 * COUNT
    assert refused > 0.1 * COUNT
