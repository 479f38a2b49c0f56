"""Every name that Taichi has means something in an energy, or is refused with its cure."""

import importlib.util
import re
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType

import pytest

from minusgrad.codegen.tracing import trace
from minusgrad.engine import runtime
from minusgrad.errors import TraceError
from minusgrad.symbolic.error_explanations import CURE
from minusgrad.symbolic.graph import Graph
from minusgrad.symbolic.rewriting import CURES, LENT, METHODS
from minusgrad.symbolic.taichi_standin import Symbolic
from minusgrad.symbolic.tensors import Tensor
from tests.support.traced import energy_of, taichi

runtime.start()


def names_of(owner: object) -> list[str]:
    """The public names, without the combinations of letters that choose components."""
    letters = [set(swizzle) for swizzle in ("xyzw", "rgba", "stpq")]
    names = [n for n in dir(owner) if n.isidentifier() and not n.startswith("_")]
    return [n for n in names if not isinstance(owner, type) or not any(set(n) <= s for s in letters)]


def sayings() -> Iterator[str]:
    """How an energy would say each name that Taichi has, and the engine has not."""
    known = Symbolic(Graph())
    for text, owner, stand_in in (
        ("ti", taichi, known),
        ("ti.math", taichi.math, known),
        ("ti.types", taichi.types, known.types),
        ("ti.Matrix", taichi.Matrix, known.Matrix),
        ("ti.Vector", taichi.Vector, known.Vector),
        ("x[0]", taichi.Matrix, Tensor),
    ):
        provided = {*dir(stand_in), *(LENT if stand_in is known else ())}
        provided |= METHODS if stand_in is known.Matrix else set()
        yield from (f"{text}.{n}" for n in names_of(owner) if n not in provided)


@pytest.fixture(scope="module")
def saying(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Callable]:
    """An energy that says something, from a file."""
    folder = tmp_path_factory.mktemp("sayings")

    def made(text: str) -> Callable:
        path = folder / f"says_{re.sub(r'[^a-zA-Z0-9]+', '_', text)}.py"
        path.write_text(f"from minusgrad import ti\n\n\ndef energy(x):\n    return {text}\n")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.energy

    return made


@pytest.mark.parametrize("text", [*sayings()])
def test_every_other_name_of_taichi_is_refused_with_file_line_and_cure(text: str, saying: Callable) -> None:
    energy = saying(text)
    with pytest.raises(TraceError) as caught:
        trace(energy_of(energy), None, 2)
    message, name = str(caught.value), text.rpartition(".")[2]
    assert message.startswith(f"{energy.__code__.co_filename}:5: "), message
    assert name in message
    cures = [cure.partition("; ")[2] for cure in CURES]
    cures += [CURE, "read its entries: v[0], A[0, 1]", f"it makes a matrix: ti.Matrix.{name}(...)"]
    cures += ["arrays are arguments of the energy: a Node, Datum, Parameter or Table"]
    assert "" not in cures
    assert message.endswith(tuple(f"; {cure}" for cure in cures)) or re.search(
        "; did you mean '.+'[?]$", message
    )


@pytest.mark.parametrize("name", ["normalized", "norm_sqr", "sum"])
def test_a_method_of_vectors_may_be_called_as_a_function(name: str, saying: Callable) -> None:
    after = ".sum()" if name == "normalized" else ""
    values = []
    for text in (f"ti.Vector.{name}(x[0]){after}", f"x[0].{name}(){after}"):
        values.append(str(trace(energy_of(saying(text)), None, 2).value))
    assert values[0] == values[1]


only_taichi = pytest.mark.skipif(runtime.engine_name() != "taichi", reason="cures are for Taichi's names")


@only_taichi
@pytest.mark.parametrize("owner", [taichi, taichi.math], ids=lambda owner: owner.__name__)
def test_every_other_function_of_taichi_has_a_cure_of_its_own(owner: ModuleType) -> None:
    """A new function fails here: it needs a meaning in the stand-ins for `ti`, or a row in CURES."""
    cured = {name for names in CURES.values() for name in names.split()}
    functions = {n for n in names_of(owner) if isinstance(getattr(owner, n), FunctionType)}
    assert functions - {*dir(Symbolic(Graph())), *LENT} - cured == set()


@only_taichi
def test_cures_are_for_names_that_exist_and_have_no_meaning_here() -> None:
    names = {name for names in CURES.values() for name in names.split()}
    places = (taichi, taichi.math, taichi.Matrix)
    assert [n for n in names if not any(hasattr(p, n.rpartition(".")[2]) for p in places)] == []
    assert names & {*dir(Symbolic(Graph())), *LENT} == set()


def test_a_function_that_is_refused_says_what_to_write(saying: Callable) -> None:
    with pytest.raises(TraceError, match=r"ti\.random: differs at every call; .* pass it as a Datum$"):
        trace(energy_of(saying("ti.random(ti.f64)")), None, 2)
    with pytest.raises(TraceError, match=r"ti\.svd: takes other steps near equal .* in invariants"):
        trace(energy_of(saying("ti.svd(x[0].outer_product(x[1]))")), None, 2)
    with pytest.raises(TraceError, match=r": tensor: has no 'to_numpy'; read its entries: v\[0\]"):
        trace(energy_of(saying("x[0].to_numpy()[0]")), None, 2)
