"""No derivative of an energy is made from differences, and none is written by hand (ENGINE 12).

The shipped code is read as syntax trees. The mutants at the end prove that the reader sees what it should.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAM = ROOT / "framework/minusgrad/exam"
"""It judges energies by differences, and no run reads a number of it: only tests and reports import it."""
PUBLISHED = {*ROOT.glob("plugins/*/published/*.py")}
"""They compute numbers that others have published, slopes among them, and no run reads a number of them."""
SHIPPED = sorted(
    path
    for path in [*ROOT.glob("framework/**/*.py"), *ROOT.glob("plugins/**/*.py")]
    if not path.is_relative_to(EXAM) and path not in PUBLISHED
)
BY_HAND = re.compile(r"(^|_)(force|grad|gradient|stress|jacobian|hessian|derivative)s?(_|$)", re.IGNORECASE)
LIBRARIES = ("np", "math", "ti", "time", "len")
"""A difference of their functions (logarithms, cosines, clocks, lengths) is not one of energies."""
PLATES = (
    *("linear", "linear_corotated", "fixed_corotated", "hencky", "mooney_rivlin", "ogden"),
    *("neo_hookean", "stable_neo_hookean", "st_venant_kirchhoff"),
    *("compressible_mooney_rivlin", "compressible_ogden"),
)
ALLOWED = {
    "self._acceleration": "accelerations at two times, through which Gauss-Radau steps put a polynomial",
    "_recorded": "bytes that observers hold, before and after",
    "gradients": "of shape functions at rest: geometry of a mesh, not of an energy",
    "mean_gradients": "their means over cells",
    "least_jacobians": "of the map from reference cells: geometry of a mesh, too",
    "plane_stress_lame": "Lame's constants of plane stress; the energies of its name compute energies",
    **{f"{name}_plane_stress": "an energy, made by @local_energy" for name in PLATES},
    "body_force": "the field's name of a load; it is an energy, made by @local_energy",
    "momentum_with_force": "a map that takes a force, which a slope derives",
    "read_force": "the expression of a force in a file of OpenMM",
    "without_force": "what a System has that has no NonbondedForce",
    "remove_empty_forces": "from a System of OpenMM",
    "read_force_field": "a file",
    "force_field_files": "files",
    "momentum_with_stress": "a map that takes a stress, which a slope derives",
}
STAGED = (
    "minusgrad_rendering/marching.py",
    *(f"minusgrad_laser/machine/{name}.py" for name in ("corners", "moves", "planned_motion", "power_slew")),
)
"""Kernels of staged maps. Their `backward` is by hand, and `check` compares it with Taylor's remainder."""

FLOWS = ("minusgrad_gravity/kepler_drifts/kepler_flow.py",)
"""A `PartFlow` with derivatives by hand; tests compare its tangents with differences, and transpose them."""

OWNERS = {
    "potential/staged/staged_term.py": "drives Taichi's reverse mode",
    "interpreter/recorded_launches.py": "drives it for other people's kernels, to judge it",
    "check/kernels/tensor_reverses.py": "reads the adjoints that PyTorch gave to other people's kernels",
    "interpreter/program_arrays.py": "finds the adjoints of other people's arrays",
    "check/programs/program_run.py": "notes where other people's programs enter their tapes",
    "engine/runtime.py": "forgets arrays of an engine that ends",
}
"""Who may name Taichi's own derivative."""


def findings(text: str, plugin: bool) -> list[str]:
    """What is wrong with a file, as "line: what"."""
    tree = ast.parse(text)
    found = [f"{node.lineno}: difference quotient" for node in _quotients(tree)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("grad", "Tape"):
            found.append(f"{node.lineno}: Taichi's own derivative")
        if plugin and isinstance(node, (ast.FunctionDef, ast.Lambda)):
            found += [f"{node.lineno}: {what}" for what in _by_hand(node)]
        if plugin and isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            names = [t.id for t in node.targets if isinstance(t, ast.Name)]
            found += [f"{node.lineno}: derivative by hand" for name in names if BY_HAND.search(name)]
    return found


def _by_hand(node: ast.FunctionDef | ast.Lambda) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        if BY_HAND.search(node.name) and node.name not in ALLOWED:
            yield "derivative by hand"
        if any(re.search(r"\bkernel\b", ast.unparse(one)) for one in node.decorator_list):
            yield "kernel by hand"


def _quotients(tree: ast.Module) -> Iterator[ast.BinOp]:
    """Divisions (or products with a reciprocal) of a difference of two calls of one function."""
    for scope in (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda, ast.Module))):
        calls = _named_calls(scope)
        for node in ast.walk(scope):
            divides = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Mult))
            if divides and any(_is_difference(part, calls) for part in _factors(node)):
                yield node


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    """The factors of a product or quotient, signs and conversions left out."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Mult)):
        yield from _factors(node.left)
        yield from _factors(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield from _factors(node.operand)
    elif (
        isinstance(node, ast.Call)
        and len(node.args) == 1
        and ast.unparse(node.func) in ("abs", "float", "np.abs")
    ):
        yield from _factors(node.args[0])
    else:
        yield node


def _is_difference(node: ast.expr, calls: dict[str, str]) -> bool:
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)):
        return False
    left, right = _callee(node.left, calls), _callee(node.right, calls)
    alike = left is not None and left == right
    return alike and left not in ALLOWED and left.split(".")[0] not in LIBRARIES


def _callee(node: ast.expr, calls: dict[str, str]) -> str | None:
    """The function that was called for a value, also through a name."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func)
    return calls.get(node.id) if isinstance(node, ast.Name) else None


def _named_calls(scope: ast.AST) -> dict[str, str]:
    """Names that hold what a function returned: `up = u(x + h)`, `up, down = u(x + h), u(x - h)`."""
    found = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name, value in _matched(target, node.value):
                    if isinstance(name, ast.Name) and isinstance(value, ast.Call):
                        found[name.id] = ast.unparse(value.func)
    return found


def _matched(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield target, value


def test_only_the_plugin_kit_imports_the_exam() -> None:
    imports = re.compile(r"^ *(from|import) [\w.]*\bexam\b", re.MULTILINE)
    found = {path.relative_to(ROOT / "framework/minusgrad").parts[:2] for path in SHIPPED
             if "framework" in path.parts and imports.search(path.read_text())}  # fmt: skip
    assert found == {("app", "plugin_kit"), ("testing.py",)}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: str(p.relative_to(ROOT)))
def test_shipped_code(path: Path) -> None:
    found = findings(path.read_text(), plugin="plugins" in path.relative_to(ROOT).parts)
    owner = any(path.as_posix().endswith(f"minusgrad/{name}") for name in OWNERS)
    staged = path.as_posix().endswith(STAGED)
    flow = path.as_posix().endswith(FLOWS)
    kept = [f for f in found if not (owner and "Taichi" in f) and not (staged and "kernel" in f)]
    kept = [f for f in kept if not (flow and "by hand" in f)]
    assert kept == []


def test_there_is_shipped_code() -> None:
    assert {"differentiation.py", "term_check.py", "gravity.py"} <= {path.name for path in SHIPPED}


MUTANTS = {
    "central": "def f(u, x, h):\n    return (u(x + h) - u(x - h)) / (2 * h)\n",
    "one-sided": "def f(u, x, h):\n    return -(u(x + h) - u(x)) / h\n",
    "factor in front": "def f(u, x, h):\n    return 0.5 * (u(x + h) - u(x - h)) / h\n",
    "reciprocal": "def f(u, x, rh):\n    return (u(x + rh) - u(x)) * rh\n",
    "method": "def f(p, h):\n    return (p.value(h) - p.value(-h)) / (2 * h)\n",
    "names": "def f(u, x, h):\n    up = u(x + h)\n    low = u(x - h)\n    return (up - low) / (2.0 * h)\n",
    "pair of names": "def f(u, x, h):\n    up, low = u(x + h), u(x - h)\n    return (up - low) / (2.0 * h)\n",
    "converted": "def f(u, x, h):\n    return float(u(x + h) - u(x)) / h\n",
    "lambda": "f = lambda u, x, h: (u(x + h) - u(x)) / h\n",
    "at the top": "slope = (u(1.0) - u(0.9)) / 0.1\n",
    "in a loop": "def f(u, xs, h):\n    return [(u(x + h) - u(x)) / h for x in xs]\n",
    "reverse mode": "def f(kernel):\n    kernel.grad()\n",
    "tape": "def f(ti, loss):\n    with ti.ad.Tape(loss):\n        pass\n",
}
PLUGIN_MUTANTS = {
    "force": "def gravity_force(x, m, G):\n    return -G * m / x**2\n",
    "forces": "def forces(x):\n    return x\n",
    "stress": "def first_piola_stress(F):\n    return F\n",
    "hessian": "class A:\n    def hessian(self, x):\n        return x\n",
    "named lambda": "jacobian = lambda F: F\n",
    "kernel": "from minusgrad import ti\n\n\n@ti.kernel\ndef step(n: ti.i32):\n    pass\n",
}


@pytest.mark.parametrize(
    "text", [*MUTANTS.values(), *PLUGIN_MUTANTS.values()], ids=[*MUTANTS, *PLUGIN_MUTANTS]
)
def test_mutants_are_seen_in_plugins(text: str) -> None:
    assert findings(text, plugin=True)


@pytest.mark.parametrize("text", MUTANTS.values(), ids=MUTANTS)
def test_mutants_are_seen_in_the_framework(text: str) -> None:
    assert findings(text, plugin=False)


@pytest.mark.parametrize(
    "text",
    [
        "def order(a, b, h):\n    return (np.log(a) - np.log(b)) / h\n",
        "def mean(a, b, n):\n    return (a - b) / n\n",
        "def energy(x, k):\n    return 0.5 * k * (x[0] - x[1]).norm_sqr()\n",
        "def enforce(x):\n    return x\n",
    ],
)
def test_what_is_no_derivative_is_left_in_peace(text: str) -> None:
    assert findings(text, plugin=True) == []
