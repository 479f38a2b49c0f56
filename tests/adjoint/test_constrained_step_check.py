"""What `minusgrad check` asks of the first step of a run with constraints, and that it sees damage."""

import numpy as np
import pytest

from minusgrad.adjoint.checks.first_step import of_first_step
from minusgrad.adjoint.constrained.constrained_adjoint import ConstrainedAdjoint
from minusgrad.check.questions import Finding
from tests.support.driven_chain import driven_chain


def asked() -> list[Finding]:
    return list(of_first_step(driven_chain(damped=False)))


@pytest.mark.long
def test_a_step_with_constraints_and_its_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start, masses, parameters and data; fields and data are as before. A damaged step is found."""
    one = driven_chain(damped=False)
    assert one.constraints
    rod, x = one.constraints.terms["rod"], one.potential.fields["x"].values.copy()
    lengths = np.array(rod.data["length"])
    found = list(of_first_step(one))
    assert all(finding.passed for finding in found), [f for f in found if not f.passed]
    names = [f.argument for f in found if f.question == "taylor"]
    assert names == ["x", "v", "m", "well.k", "rod.length", "drive.rate", "drive.phase", "pivot.velocity"]
    assert found[0].question == "transpose"
    np.testing.assert_array_equal(one.potential.fields["x"].values, x)
    np.testing.assert_array_equal(rod.data["length"], lengths)
    real = ConstrainedAdjoint._bent
    monkeypatch.setattr(ConstrainedAdjoint, "_bent", lambda *given: 1.001 * real(*given))
    bad = {(f.question, f.argument) for f in asked() if not f.passed}
    assert ("transpose", "") in bad
    assert ("taylor", "x") in bad
