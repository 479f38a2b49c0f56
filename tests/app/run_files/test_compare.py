"""`minusgrad compare`: the first step and field in which two runs differ."""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minusgrad.app.compare import compare
from minusgrad.files import checkpoint, compaction, trajectory
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.run_folder import RunDir
from tests.support import long_runs as joined
from tests.support import saved_runs as standin
from tests.support.looked_at import complaint, copied, flipped, unbroken, wrong


def test_a_run_and_its_copy_are_the_same(made: Path, invoke: Callable) -> None:
    copied(made, "two")
    code, out, err = invoke("compare", "two", made / "two")
    assert (code, err) == (0, "")
    arrays = sum(len(checkpoint.load(p).arrays) for p in checkpoint.list_checkpoints(Path("two/ckpt")))
    rows = sum(len(trajectory.series(Path("two"), name).step) for name in trajectory.names(Path("two")))
    assert out == f"the same, bit for bit: {arrays} arrays of checkpoints, {rows} rows of series\n"
    code, out, _ = invoke("compare", "two", made / "two", "--json")
    assert (code, json.loads(out)) == (0, {"differences": [], "arrays": arrays, "rows": rows, "until": None})


def bumped(path: Path, end: int, first: int, by: Callable[[float], float]) -> Path:
    """A stand-in run whose total is another from a step on; its fields are not."""
    run, x, rows = standin.start(path), np.zeros((4, 2)), standin.recorder()
    for step in range(1, end + 1):
        x = 0.99 * x + np.sin(step)
        if step % 3 == 0:
            rows.record_frame(step, 0.1 * step, {"position": x})
        total = float(x.sum())
        rows.record_observables(step, 0.1 * step, {"total": by(total) if step >= first else total})
        if step % 10 == 0:
            run.save(standin.snapshot(step, x), rows, standin.KEEP)
    run.close()
    return path


@pytest.mark.parametrize("step", [1, 10, 11, 27, 40])
def test_the_first_step_and_field_that_differ_are_found(step: int, here: Path, invoke: Callable) -> None:
    one = unbroken(here / "one")
    bumped(here / "other", 40, step, lambda total: float(np.nextafter(total, np.inf)))
    code, out, err = invoke("compare", "one", "other")
    right = trajectory.series(one, "observables/total").value[step - 1]
    other = float(np.nextafter(right, np.inf))
    assert (code, err) == (1, "")
    assert out == f"observables/total: step {step}: {float(right)!r} / {other!r} (1 of 1 numbers differ)\n"
    (difference,) = json.loads(invoke("compare", "one", "other", "--json")[1])["differences"]
    assert (difference["step"], difference["what"]) == (step, "observables/total")


def test_the_order_of_both_and_the_sign_of_zero(here: Path) -> None:
    bumped(here / "one", 10, 4, lambda total: 0.0)
    bumped(here / "other", 10, 4, lambda total: -0.0)
    (found,) = compare(here / "one", here / "other").differences
    assert found == (4, "observables/total", "0.0 / -0.0 (1 of 1 numbers differ)")
    bumped(here / "nan", 10, 4, lambda total: float("nan"))
    shutil.copytree("nan", "same")
    assert compare(here / "nan", here / "same").differences == []


def test_of_each_thing_the_first_difference_is_told(here: Path) -> None:
    unbroken(here / "one")
    standin.start(here / "other").close()
    with RunDir.open(here / "other") as run:
        run.restore()
        standin.simulate(run, np.full((4, 2), 1e-9), standin.recorder(), 0, 40)
    found = compare(here / "one", here / "other").differences
    assert [(d.step, d.what) for d in found] == [
        (1, "observables/total"),
        (3, "particles/all/position"),
        (20, "fields/x"),
    ]
    assert found[2].text.startswith("[0, 0]: ")
    assert found[2].text.endswith("(8 of 8 numbers differ)")


def test_where_a_resumed_run_parts_that_was_changed(made: Path, invoke: Callable) -> None:
    """Stopped at step 20, and gone on with another dt: equal until then."""
    run = copied(made, "two")
    for path in checkpoint.list_checkpoints(run / "ckpt")[1:]:
        path.unlink()
    changed = [*json.loads((run / "overrides.json").read_text()), "stepper.dt=0.004"]
    (run / "overrides.json").write_text(json.dumps(changed))
    assert invoke("resume", run)[0] == 2
    assert invoke("resume", run, "--allow-changed")[0] == 0
    code, out, _ = invoke("compare", made / "two", run)
    assert code == 1
    found = compare(made / "two", run).differences
    assert found[0].step == 25
    assert {d.what for d in found if d.step == 25} == {
        f"observables/{name}" for name in ("drift", "kinetic", "potential/gravity", "total")
    }
    assert out.splitlines()[0].startswith("observables/drift: step 25: ")
    assert next(d for d in found if d.what == "fields/x").step == 30
    assert wrong(run) == []


def test_what_only_one_has(here: Path) -> None:
    unbroken(here / "one", 40)
    unbroken(here / "short", 20)
    found = {d.what: d for d in compare(here / "one", here / "short").differences}
    assert found["observables/total"] == (21, "observables/total", "continues only in the first")
    assert found["particles/all/position"][0] == 21
    swapped = {d.what: d for d in compare(here / "short", here / "one").differences}
    assert swapped["observables/total"].text == "continues only in the second"
    with standin.start(here / "more") as run:
        rows = standin.recorder()
        rows.record_observables(10, 1.0, {"heat": 1.0})
        run.save(Snapshot(10, 1.0, 0.1, {"fields/y": np.zeros(2)}), rows, 3)
    differences = [tuple(d) for d in compare(here / "short", here / "more").differences]
    assert differences[:3] == [
        (None, "observables/heat", "recorded only in the second"),
        (None, "observables/total", "recorded only in the first"),
        (None, "particles/all/position", "recorded only in the first"),
    ]
    assert {(10, "fields/x", "only in the first"), (10, "fields/y", "only in the second")} <= set(differences)


def test_other_shapes_and_types_are_told(here: Path) -> None:
    for name, array in (("a", np.zeros(3)), ("b", np.zeros(4)), ("c", np.zeros(3, np.float32))):
        with standin.start(here / name) as run:
            rows = standin.recorder()
            rows.record_frame(1, 0.1, {"position": array})
            run.save(Snapshot(1, 0.1, 0.1, {"fields/x": array}), rows, 3)
    for other, text in (("b", "float64[3] / float64[4]"), ("c", "float64[3] / float32[3]")):
        assert [tuple(d) for d in compare(here / "a", here / other).differences] == [
            (1, "fields/x", text),
            (1, "particles/all/position", f"a row is {text}"),
            (1, "recorder/particles/all/position/value", text.replace("[", "[0, ")),
        ]


def test_how_segments_were_cut_does_not_matter(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with joined.started(here / "many") as run:
        joined.simulate(run, joined.recorder(), 0, 30)
    monkeypatch.setattr(compaction, "JOINED", 4)
    with joined.started(here / "few") as run:
        joined.simulate(run, joined.recorder(), 0, 30)
    with joined.started(here / "one") as run:
        rows = joined.recorder()
        for step in range(1, 31):
            joined.record(rows, step)
        run.save(joined.moment(30), rows, 3)
    counts = {name: len(trajectory.segments(here / name)) for name in ("many", "few", "one")}
    assert counts["one"] == 1 < counts["few"] < counts["many"]
    for one, other in (("many", "few"), ("few", "many"), ("one", "few")):
        found = compare(here / one, here / other)
        assert (found.differences, found.rows) == ([], 30 + 15 + 10 + 4)


def test_versions_machines_and_hours_do_not_count(here: Path, invoke: Callable) -> None:
    for name, meta in (("one", {"machine": "a", "versions": {"numpy": "1"}}), ("other", {"machine": "b"})):
        with RunDir.create(here / name, name.encode(), []) as run:
            run.save(Snapshot(0, 0.0, 0.1, {"fields/x": np.ones(2)}, {}, meta, name.encode()), None, 3)
            time.sleep(0.002)
    assert invoke("compare", "one", "other")[0] == 0


def test_two_checkpoints(made: Path, invoke: Callable) -> None:
    first, second = checkpoint.list_checkpoints(made / "two/ckpt")[:2]
    assert invoke("compare", first, first)[1].startswith(
        "the same, bit for bit: 34 arrays of checkpoints, 0 rows"
    )
    code, out, _ = invoke("compare", first, second)
    assert code == 1
    assert "step: 20 / 30\n" in out
    assert "time: step 20: 0.1 / 0.15\n" in out
    assert "fields/x: step 20: [0, 0]: " in out


def test_what_cannot_be_compared(made: Path, invoke: Callable, here: Path) -> None:
    file = checkpoint.list_checkpoints(made / "two/ckpt")[0]
    assert complaint(invoke, "compare", file, made / "two").endswith(
        ": cannot be compared; give two runs or two checkpoints"
    )
    missing = "does not exist; give a run folder or a checkpoint"
    assert complaint(invoke, "compare", made / "two", "nowhere") == f"nowhere: {missing}"
    assert complaint(invoke, "compare", "nothing", "nowhere") == f"nothing and nowhere: {missing}"
    run = copied(made, "two")
    flipped(checkpoint.list_checkpoints(run / "ckpt")[0])
    assert "damaged: its bytes have SHA-256" in complaint(invoke, "compare", run, made / "two")
    run = Path(shutil.copytree(made / "two", "again"))
    flipped(trajectory.segments(run)[0])
    assert "damaged: its bytes have SHA-256" in complaint(invoke, "compare", made / "two", run)


def test_runs_that_have_nothing_in_common(here: Path, invoke: Callable) -> None:
    for name, step in (("one", 1), ("other", 2)):
        with RunDir.create(here / name, b"", []) as run:
            run.save(Snapshot(step, 0.0, 0.1, {"fields/x": np.ones(2)}), None, 3)
    code, out, _ = invoke("compare", "one", "other")
    assert (code, out) == (
        1,
        "checkpoints: the two have no checkpoint of the same step and no series in common\n",
    )
