"""Lists of pairs that outgrow their arrays, and the memory of a liquid."""

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

from minusgrad import Fields, Node, Potential, bind, local_energy
from minusgrad.codegen.element_lanes import lane_loops
from minusgrad.engine import storage
from minusgrad.plugin import Cutoff


@local_energy("near", over="pairs", x=Node("m", ("d",)))
def near(x):
    r = x[0] - x[1]
    return 1.0 / (1.0 + r.dot(r))


@pytest.mark.parametrize("lanes", [True, False])
def test_a_list_that_was_outgrown_gives_its_memory_back(lanes, monkeypatch):
    if lanes:
        monkeypatch.setattr(lane_loops, "LEAST_TARGETS", 1)
    x = np.random.default_rng(1).uniform(0.0, 10.0, (200, 3))
    fields = Fields({"x": x, "box": 10.0 * np.eye(3)[None]})
    cutoff = Cutoff(2.0, images=True)
    one = Potential(fields, [bind(near, fields, cutoff=cutoff)])
    one.gradient("x")
    first = one.terms["near"].elements
    kept = first.in_blocks(8)._arrays["block_sources"] if lanes else first.arrays()["pairs_source"]
    memory = weakref.ref(storage.host(kept))
    del kept
    fields["x"].set(0.5 * x)
    fields["box"].set(0.5 * fields["box"].values)
    value = one.value()
    last = one.terms["near"].elements
    assert last is not first
    assert [*fields.lists.lists.values()] == [last]
    gc.collect()
    assert memory() is None
    again = bind(near, fields, cutoff=cutoff, name="again")
    assert again.elements is last
    assert Potential(fields, [again]).value() == pytest.approx(value, rel=1e-14)


PEAK = """
import resource
from minusgrad.plugin import Cutoff
from tests.support.lennard_jones_liquid import liquid

one = liquid({cells}, 0.8442, 0.722, Cutoff(2.5, skin=0.3), 0.005, hot=2.0)
one.advance(20)
one.potential.fields.list_afresh()
one.advance(20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.mark.long
def test_a_liquid_takes_less_than_a_kilobyte_an_atom() -> None:
    """The largest memory of 32,000 and of 131,072 atoms that melt, in f64, with whatever lists they need."""

    def peak(cells: int) -> int:
        code = PEAK.format(cells=cells)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return int(done.stdout.split()[-1])

    few, many = 20, 32
    assert (peak(many) - peak(few)) / (4 * (many**3 - few**3)) < 1000.0
