"""What `minusgrad check` asks of the first step of Gauss-Radau, and that it sees damage."""

from itertools import islice

import pytest

from minusgrad.adjoint.checks.substep_check import of_gauss_radau
from minusgrad.adjoint.implicit.gauss_radau.transposed_substep import TransposedSubstep
from minusgrad.engine.kernels import Code
from tests.adjoint.test_radau_runs import two


@pytest.mark.long
def test_a_step_along_its_substeps() -> None:
    """The start, masses and parameters; fields and steps are as before."""
    one = two(0.2)
    before = one.memory()
    found = list(of_gauss_radau(one))
    assert all(finding.passed for finding in found), [f for f in found if not f.passed]
    assert [f.argument for f in found[1:]] == ["x", "v", "m", "gravity.G", "gravity.softening"]
    assert found[0].question == "transpose"
    for name, values in before[0].items():
        assert one.state()[name].tobytes() == values.tobytes()


def test_damage_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """By both questions, which a right step passes."""
    assert all(finding.passed for finding in islice(of_gauss_radau(two(0.1)), 2))
    right = TransposedSubstep.finish_transposed

    def wrong(self: TransposedSubstep) -> Code:
        code = right(self)
        return Code(code.text.replace("+ ih * radau_lx[i]", "+ 1.001 * ih * radau_lx[i]"), code.arrays)

    monkeypatch.setattr(TransposedSubstep, "finish_transposed", wrong)
    of_transpose, _, of_v = islice(of_gauss_radau(two(0.1)), 3)
    assert (of_transpose.question, of_transpose.passed) == ("transpose", False)
    assert (of_v.question, of_v.argument, of_v.passed) == ("taylor", "v", False)
