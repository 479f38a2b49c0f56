"""The engine: started in one place with the options that hold, changed from scene to scene, never leaking."""

import gc
import inspect
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad import ti
from minusgrad.app.runs import build, run
from minusgrad.engine import kernels, runtime
from minusgrad.engine.loading import source_texts
from minusgrad.engine.runtime import Options
from minusgrad.errors import RuntimeUnavailableError, SceneError
from minusgrad.files import trajectory
from tests.support.command import SCENES, files, minusgrad
from tests.support.engine import resident, restarted

TWO_BODY = SCENES / "two_body.toml"


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    runtime.start(Options())


def config() -> Any:
    return runtime.engine().lang.impl.current_cfg()


def ours() -> str:
    """How the names of this engine's variables begin."""
    return runtime.PREFIXES[runtime.engine_name()]


def settings(**values: str) -> dict[str, str]:
    """Variables of this engine."""
    return {ours() + name: value for name, value in values.items()}


def works() -> None:
    """The engine can still do what it is for."""
    simulation = build(TWO_BODY)
    simulation.stepper.advance(10)
    assert simulation.stepper.step == 10
    assert np.isfinite(simulation.fields["x"].values).all()


def test_the_options_that_hold() -> None:
    """`force_scalarize_matrix` is not cosmetic: without it engines miscompile writes to vector elements."""
    ti, one = runtime.engine(), Options(threads=1, fast_math=False)
    for options in (Options(), one, Options(threads=2)):
        runtime.start(options)
        assert config().force_scalarize_matrix is True
        assert config().real_matrix_scalarize is True
        assert config().default_fp == ti.f64
        assert config().fast_math is options.fast_math
        assert config().debug is False
        assert ti.lang.impl.current_cfg().arch == ti.cpu
        if options.threads:
            assert config().cpu_max_num_threads == options.threads


def test_the_engines_decorators_need_no_search_for_their_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the import of an engine; they see the same line, and so whether they are in a class."""
    asked: list[Any] = []
    search = inspect.getmodule
    monkeypatch.setattr(inspect, "getmodule", lambda *of: asked.append(of) or search(*of))

    def kinds() -> list[bool]:
        @ti.data_oriented
        class Class:
            @ti.kernel
            def kernel(self):
                pass

        @ti.kernel
        def kernel():
            pass

        return [Class.__dict__["kernel"]._is_classkernel, kernel._is_classkernel]

    with source_texts.lines_of_frames():
        assert kinds() == [True, False]
    assert asked == []
    assert kinds() == [True, False]
    assert asked


def test_what_the_environment_says_changes_nothing() -> None:
    """TI_ARCH and its like (QD_ARCH) would overrule the scene without a word."""
    code = (
        "from minusgrad.engine import runtime; runtime.start(); "
        "import os; from minusgrad import ti; c = ti.lang.impl.current_cfg(); "
        "print(c.arch, c.default_fp, c.fast_math, c.debug, c.opt_level, c.advanced_optimization, "
        f"os.environ['{ours()}ARCH'], 'TI_SKIP_VERSION_CHECK' in os.environ)"
    )
    env = settings(ARCH="cuda", FAST_MATH="0", DEBUG="1", OPT_LEVEL="0", DEFAULT_FP="32")
    env |= settings(ADVANCED_OPTIMIZATION="0")
    plain, set_ = (
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **settings(ARCH="x64"), **more},
            capture_output=True,
            text=True,
        )
        for more in ({}, env)
    )
    assert (plain.stderr, set_.stderr) == ("", "")
    assert plain.stdout.split()[:-2] == set_.stdout.split()[:-2]
    assert plain.stdout.split()[-2:] == ["x64", "False"], "what others put there is put back"
    assert set_.stdout.split()[-2:] == ["cuda", "False"]


def test_a_run_is_the_same_whatever_the_environment_says(tmp_path: Path) -> None:
    expected = files(run(TWO_BODY, {"run.steps": 50}, tmp_path / "expected").folder)
    env = settings(ARCH="cuda", FAST_MATH="0", DEBUG="1", CPU_MAX_NUM_THREADS="1")
    done = minusgrad("run", TWO_BODY, "run.steps=50", "--out", tmp_path / "run", **env)
    assert (done.returncode, done.stderr) == (0, "")
    actual = files(tmp_path / "run")
    assert actual.pop("overrides.json")
    expected.pop("overrides.json")
    assert actual == expected


def test_taichi_asks_no_server_for_its_version() -> None:
    code = "import taichi._version_check as v; v.try_check_version = lambda: print('asked'); "
    code += "from minusgrad.engine import runtime; runtime.start()"
    env = {**os.environ, runtime.VARIABLE: "taichi", "ENABLE_TAICHI_HEADER_PRINT": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_another_engine_is_refused_with_its_place() -> None:
    ours = runtime.engine_name()
    (other,) = {*runtime.PREFIXES} - {ours}
    text = f"this process computes with engine '{ours}'; '{other}' needs a process of its own"
    with pytest.raises(RuntimeUnavailableError, match=text):
        runtime.engine(other)
    with pytest.raises(SceneError) as refusal:
        build(TWO_BODY, {"runtime.engine": other})
    (problem,) = refusal.value.problems
    assert (problem.key, problem.message) == ("runtime.engine", text)
    assert refusal.value.exit_code == 2
    works()


@pytest.mark.parametrize("arch", ["cuda", "vulkan", "metal"])
def test_an_absent_architecture_is_refused_and_the_process_goes_on(
    arch: str, capfd: pytest.CaptureFixture[str]
) -> None:
    ti = runtime.engine()
    if ti.lang.misc.is_arch_supported(getattr(ti, arch)):
        pytest.skip(f"this machine has {arch}")
    before = build(TWO_BODY)
    with pytest.raises(SceneError) as refusal:
        build(TWO_BODY, {"runtime.arch": arch})
    assert str(refusal.value).endswith(
        f"runtime.arch: arch '{arch}' is not available on this machine; use arch = \"cpu\""
    )
    before.stepper.advance(10)
    works()
    assert capfd.readouterr() == ("", "")


def test_an_architecture_that_breaks_while_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that is there and cannot be used: the next scene starts the engine again."""
    ti = runtime.engine()

    def refuse(**_: Any) -> None:
        ti.reset()
        raise RuntimeError("out of device memory")

    runtime.start(Options())
    with monkeypatch.context() as patch:
        patch.setattr(ti, "init", refuse)
        with pytest.raises(
            RuntimeUnavailableError, match=r"'cpu' is not available .* \(out of device memory\)"
        ):
            runtime.start(Options(threads=1))
    works()


# Many scenes in one process -------------------------------------------------------------------------

SETTINGS = [
    {"runtime.precision": "f32", "runtime.threads": 2, "runtime.fast_math": False},
    {"runtime.precision": "f64", "runtime.threads": 1},
    {"runtime.precision": "f32", "runtime.threads": 1},
    {"runtime.precision": "f64", "runtime.threads": 2, "runtime.fast_math": False},
    {"runtime.precision": "f32", "runtime.threads": 2, "runtime.fast_math": False},
]


def test_scenes_of_other_seeds_share_an_engine() -> None:
    runtime.start(Options())
    starts, states = runtime.start_count(), []
    for seed in (1, 2, 1):
        simulation = build(SCENES / "plummer.toml", {"state.n": 20, "runtime.seed": seed})
        states.append(simulation.fields["x"].values.copy())
    assert runtime.start_count() == starts
    assert np.array_equal(states[0], states[2])
    assert not np.array_equal(states[0], states[1])


SPHERE = {"state.n": 700, "run.steps": 20, "checkpoint.every": 10}

ALONE = """
import json, sys
from minusgrad.app.runs import run
run(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3])
"""


@pytest.mark.exam
def test_one_after_another_they_compute_the_bits_that_they_compute_alone(tmp_path: Path) -> None:
    folders = [
        run(SCENES / "plummer.toml", SPHERE | settings, tmp_path / str(number)).folder
        for number, settings in enumerate(SETTINGS)
    ]
    assert files(folders[0]) == files(folders[-1])
    ends = {trajectory.series(folder, "particles/all/position").value[-1].tobytes() for folder in folders}
    assert len(ends) == 4, "each setting has bits of its own"
    for number in (1, 2, 3):
        out = tmp_path / f"alone{number}"
        arguments = [str(SCENES / "plummer.toml"), json.dumps(SPHERE | SETTINGS[number]), str(out)]
        subprocess.run([sys.executable, "-c", ALONE, *arguments], check=True)
        assert files(out) == files(folders[number]), SETTINGS[number]


@pytest.mark.skipif(runtime.engine_name() != "taichi", reason="its fork does so by itself")
def test_an_array_of_an_ended_engine_frees_no_other() -> None:
    """Taichi frees by address, in the engine of that moment: an old array took a living one with it."""
    held: list[Any] = []
    for k in range(12):
        runtime.start(Options(threads=1 + k % 2))
        held, _old = [ti.ndarray(ti.f64, 3) for _ in range(200)], held
        del _old
        for number, array in enumerate(held):
            array.from_numpy(np.full(3, float(number)))
        assert [array.to_numpy()[0] for array in held] == list(range(200))


@pytest.mark.exam
@pytest.mark.long
def test_thirty_scenes_leave_nothing_behind_and_compile_nothing_anew(tmp_path: Path) -> None:
    def scene(number: int) -> None:
        overrides = SPHERE | {
            "state.n": 20 + number + 700 * (number % 2),
            "run.steps": 5,
            "runtime.threads": 2,
        }
        run(SCENES / "plummer.toml", overrides, tmp_path / str(number))
        gc.collect()

    for number in range(10):
        scene(number)
    compiled, memory = kernels.compiled_count(), resident()
    for number in range(10, 30):
        scene(number)
    assert kernels.compiled_count() == compiled
    assert resident() - memory < 5.0, "megabytes"


def test_another_size_compiles_nothing(tmp_path: Path) -> None:
    """Small systems have a kernel of many steps, larger ones do not: two texts, each for all its sizes."""
    restarted()
    counts = []
    for n in (700, 3, 701, 8, 1000):
        simulation = build(SCENES / "plummer.toml", {"state.n": n})
        simulation.stepper.advance(2)
        simulation.look()
        counts.append(kernels.compiled_count())
    assert counts[1] > counts[0]
    assert counts[1:] == counts[1:2] * 4


def test_a_normal_run_is_silent_on_both_streams(tmp_path: Path) -> None:
    """Taichi prints banners and warnings; a program that reads our output shall not meet them."""
    done = minusgrad("run", SCENES / "plummer.toml", "state.n=300", "run.steps=5", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert lines[0] == "runs/plummer: 5 steps, t = 0.05"
    assert len(lines) == 3
    assert lines[1].startswith("  energy drift: ")
    assert lines[2] == "  pictures: minusgrad plot runs/plummer"
    for verb in (["check", "gravity", "--json"], ["energies", "--json"], ["schema"]):
        done = minusgrad(*verb)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout[0] in "[{"


def test_warnings_of_the_sources_of_an_engine_are_not_shown() -> None:
    """Python 3.12 and later warn of Taichi's escapes where its modules are not compiled yet."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with runtime._import_of_engine():
            warnings.warn("invalid escape sequence", SyntaxWarning, stacklevel=1)
            warnings.warn("another", RuntimeWarning, stacklevel=1)
    assert [one.category for one in shown] == [RuntimeWarning]
