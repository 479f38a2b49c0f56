"""The data of a fit beside its model: curves over time, or measured over model, with residuals."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from minusgrad.plot.curves import fit_data
from minusgrad.plot.pictures import plot
from tests.support.recorded_runs import recorded_run

pytestmark = pytest.mark.unit
HEAD = "loss,member,time,node,component,measured,model,sigma,unit,field"


def _run(path: Path, rows: list[str]) -> Path:
    loss = np.array([4.0, 1.0, 0.5])
    run = recorded_run(
        path, observables={"loss": loss}, times=np.arange(3.0), meta={"names": ["sun", "moon"]}
    )
    (run / "fit.csv").write_text("\n".join([HEAD, *rows, ""]))
    return run


def _drawn(run: Path):
    """The axes of data and residuals."""
    (draw,) = fit_data.jobs(run, ["sun", "moon"]).values()
    figure = Figure()
    draw(figure)
    return figure.axes


def test_data_over_time_have_error_bars_and_residuals_in_sigma(tmp_path: Path) -> None:
    rows = [f"misfit,0,{t},1,{c},{t + 0.3},{t},0.1,AU,position" for c in (0, 1) for t in (0.0, 1.0, 2.0)]
    rows += [f"misfit,0,{t},0,0,5.0,5.0,0.1,AU,position" for t in (0.0, 1.0, 2.0)]  # it does not move
    above, below = _drawn(_run(tmp_path / "run", rows))
    assert [text.get_text() for text in above.get_legend().get_texts()] == ["moon, x", "moon, y"]
    assert len(above.containers) == 2, "error bars"
    assert above.get_ylabel() == "position [AU]"
    assert below.get_ylabel() == "residual / σ"
    every, _, first, *_ = (line.get_ydata() for line in (*below.lines[:1], *below.lines))
    np.testing.assert_allclose(sorted(every), [0.0] * 3 + [3.0] * 6, atol=1e-12)
    assert len(first) == 3


@pytest.mark.parametrize(
    ("field", "components", "labels"),
    [
        ("phi", 1, ["phi"]),
        ("velocity", 2, ["velocity x", "velocity y"]),
        ("q", 2, ["q 0", "q 1"]),
        ("position", 1, ["position"]),
    ],
)
def test_what_was_measured_is_named(tmp_path: Path, field: str, components: int, labels: list[str]) -> None:
    rows = [f"misfit,0,{t},1,{c},{t},{t},,rad,{field}" for c in range(components) for t in (0.0, 1.0, 2.0)]
    above, below = _drawn(_run(tmp_path / "run", rows))
    assert [text.get_text() for text in above.get_legend().get_texts()] == [f"moon, {one}" for one in labels]
    assert above.get_ylabel() == f"{field} [rad]"
    assert below.get_ylabel() == "residual [rad]"


def test_a_fit_of_an_earlier_version_has_no_field(tmp_path: Path) -> None:
    rows = [f"misfit,0,{t},1,{c},{t},{t},,m" for c in range(2) for t in (0.0, 1.0, 2.0)]
    run = _run(tmp_path / "run", [])
    (run / "fit.csv").write_text("\n".join([HEAD.removesuffix(",field"), *rows, ""]))
    above, _ = _drawn(run)
    assert [text.get_text() for text in above.get_legend().get_texts()] == ["moon, x", "moon, y"]
    assert above.get_ylabel() == "value [m]"


def test_one_moment_is_measured_over_model(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", [f"misfit,0,0.0,{n},0,{n + 0.5},{float(n)},,m,heat" for n in range(4)])
    above, below = _drawn(run)
    assert above.get_ylabel() == "measured heat [m]"
    assert below.get_xlabel() == "heat of the model [m]"
    assert below.get_ylabel() == "residual [m]"
    assert not above.containers, "no error bars without sigma"
    np.testing.assert_allclose(below.lines[0].get_ydata(), 0.5)
    assert [path.name for path in plot(run)] == ["fit.png", "fit_data.png"]


def test_a_fit_without_data_has_its_course_alone(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", [])
    assert [path.name for path in plot(run)] == ["fit.png"]
    (run / "fit.csv").unlink()
    assert [path.name for path in plot(run)] == ["fit.png"]


def test_two_misfits_have_two_pictures(tmp_path: Path) -> None:
    rows = [f"{name},0,{t},0,0,1.0,{t},0.1,m,position" for name in ("near", "far") for t in (0.0, 1.0)]
    assert list(fit_data.jobs(_run(tmp_path / "run", rows))) == ["fit_data_near", "fit_data_far"]
