"""A kernel's text rewritten for members in lanes: hand-written loops, against the loops themselves."""

import numpy as np
import pytest

from minusgrad.engine import runtime
from minusgrad.engine.kernels import BoundKernel, Code
from minusgrad.engine.members.member_kernels import MemberArrays, MemberKernel
from minusgrad.engine.members.member_source import MemberSource
from minusgrad.engine.members.text_survey import NotWideError

STEPS = "ti.loop_config(serialize=True)\nfor sub in range(steps):\n"
ORBITS = """    h = rates[1] * dt
    for n in range(x.shape[0]):
        r = x[n, 0] * x[n, 0] + x[n, 1] * x[n, 1]
        s = ti.sqrt(r) + ti.sin(k[0])
        far = r > 1.0
        pull = ti.select(far, s / m[n], -ti.abs(s - 2.0))
        if pull > 0.5:
            v[n, 0] -= ti.f64(h) * pull
        else:
            v[n, 1] += ti.f64(h) * ti.exp(-s)
        for c in range(2):
            x[n, c] = x[n, c] + ti.f64(h) * v[n, c]
    for e in range(pairs.shape[0]):
        n = pairs[e, 0]
        total[0] += x[n, 0] * x[pairs[e, 1], 1] * ti.f64(pairs[e, 1])
"""
REAL = {"f64": np.float64, "f32": np.float32}


def arrays(precision: str) -> dict[str, np.ndarray]:
    real = REAL[precision]
    return {
        "x": np.zeros((3, 2), real),
        "v": np.zeros((3, 2), real),
        "m": np.array([1.0, 2.0, 3.0], real),
        "k": np.zeros(1, real),
        "rates": np.array([0.5, 1.0]),
        "total": np.zeros(1, real),
        "pairs": np.array([[0, 1], [2, 0]], np.int32),
    }


def text(precision: str, body: str = ORBITS) -> str:
    return STEPS + body.replace("ti.f64(h)", f"ti.{precision}(h)")


def starts(precision: str, count: int) -> list[dict[str, np.ndarray]]:
    """The numbers of each member; member k's are the same for every count."""
    made = []
    for k in range(count):
        rng = np.random.default_rng(k)
        own = {"x": rng.normal(size=(3, 2)), "v": rng.normal(size=(3, 2)), "k": rng.normal(size=1)}
        made.append({name: values.astype(REAL[precision]) for name, values in own.items()})
    return made


def in_lanes(precision: str, members: list[dict[str, np.ndarray]], *launches: int) -> dict[str, np.ndarray]:
    one = arrays(precision)
    every = MemberArrays(len(members), REAL[precision])
    kernel = MemberKernel(Code(text(precision), one), ("steps", "dt"), every, [one["k"]])
    for row, own in enumerate(members):
        for name, values in own.items():
            every.put_row(one[name], row, values)
    for steps in launches:
        kernel(steps, 0.1)
    return {name: every.rows(one[name]) for name in ("x", "v", "total")}


def alone(precision: str, own: dict[str, np.ndarray], steps: int) -> dict[str, np.ndarray]:
    one = arrays(precision)
    for name, values in own.items():
        one[name][...] = values
    BoundKernel(Code(text(precision), one), "steps", "dt", exact=True)(steps, 0.1)
    return one


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_each_lane_computes_what_the_loops_compute(precision: str) -> None:
    runtime.start()
    members = starts(precision, 21)
    found = in_lanes(precision, members, 12)
    eps = np.finfo(REAL[precision]).eps
    for row, own in enumerate(members):
        one = alone(precision, own, 12)
        for name, rows in found.items():
            np.testing.assert_allclose(rows[row], one[name], rtol=64 * eps, atol=64 * eps, err_msg=name)


def test_bits_depend_neither_on_the_others_nor_on_the_launches() -> None:
    runtime.start()
    members = starts("f64", 21)
    whole, alone = in_lanes("f64", members, 12), in_lanes("f64", members[17:18], 5, 6, 1)
    for name in whole:
        assert whole[name][17].tobytes() == alone[name][0].tobytes()


def test_a_large_text_keeps_its_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime.start()
    whole = in_lanes("f64", starts("f64", 3), 4)
    monkeypatch.setattr("minusgrad.engine.members.text_survey.MOST_STATEMENTS", 5)
    looped = in_lanes("f64", starts("f64", 3), 4)
    for name in whole:
        np.testing.assert_allclose(looped[name], whole[name], rtol=1e-13, atol=1e-13)


def test_an_array_that_another_kernel_wrote_differs_between_members() -> None:
    """Such as a tape: read as a shared array, all members would get the numbers of the template."""
    runtime.start()
    tape, end = np.zeros((2, 1)), np.zeros(1)
    every = MemberArrays(3, np.float64)
    every.write_members(tape, np.arange(6.0).reshape(3, 2, 1))
    MemberKernel(Code("row = at\nend[0] = tape[row, 0]\n", {"tape": tape, "end": end}), ("at",), every, [])(1)
    assert every.rows(end)[:, 0].tolist() == [1.0, 3.0, 5.0]


@pytest.mark.parametrize(
    "branch", ["if at > 0:\n    row = 0\n", "for k in range(at):\n    row = 0\n"], ids=["if", "for"]
)
def test_a_number_that_a_branch_may_set_is_not_known_after_it(branch: str) -> None:
    """Neither is what was computed from it before the steps."""
    runtime.start()
    one = {"x": np.zeros(2), "m": np.array([1.0, 2.0])}
    every = MemberArrays(3, np.float64)
    text = f"row = 1\nw = m[1]\n{branch}{branch.replace('row = 0', 'w = m[0]')}x[0] = w * x[row]\n"
    kernel = MemberKernel(Code(text, one), ("at",), every, [one["x"]])
    for at, wanted in ((0, [6.0, 6.0, 6.0]), (1, [2.0, 2.0, 2.0])):
        every.write_members(one["x"], np.tile([2.0, 3.0], (3, 1)))
        kernel(at)
        assert every.rows(one["x"])[:, 0].tolist() == wanted


REFUSED = {
    "while x[0, 0] < 1.0:\n    x[0, 0] += 1.0\n": "loop whose length differs",
    "place = ti.cast(x[0, 0], ti.i32)\nx[0, 1] = m[place]\n": "place that differs",
    "for n in range(x.shape[0]):\n    if x[n, 0] > 0.0:\n        break\n    x[n, 1] = 0.0\n": "leaves a loop",
    "pairs[0, 0] = 1\n": "whole numbers",
    "print(x[0, 0])\nx[0, 0] = 1.0\n": "calls print",
}


@pytest.mark.parametrize("body", REFUSED)
def test_texts_whose_way_differs_between_members_are_refused(body: str) -> None:
    with pytest.raises(NotWideError, match=REFUSED[body]):
        MemberSource(body, arrays("f64"), {"x"}, np.float64).lines()
