"""Parallel loops over jobs: each job is done once, whatever their number."""

import numpy as np
import pytest

from minusgrad.engine.kernels import GROUP, BoundKernel, Code, dealt, dealt_in_groups


@pytest.mark.parametrize("loop", [dealt, dealt_in_groups])
def test_every_job_is_done_once(loop) -> None:
    text = "\n".join([*loop("job", "many[0]", ["done[job] = done[job] + job + 1"]), ""])
    many, done = np.zeros(1, np.int32), np.zeros(4 * GROUP, np.int32)
    kernel = BoundKernel(Code(text, {"many": many, "done": done}))
    for count in (0, 1, GROUP - 1, GROUP, GROUP + 1, 3 * GROUP + 1):
        many[0], done[:] = count, 0
        kernel()
        assert done[:count].tolist() == [*range(1, count + 1)]
        assert not done[count:].any()
