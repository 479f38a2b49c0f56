"""Expressions of OpenMM: values and forces beside OpenMM's own parser, and messages for mistakes."""

import ast

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy
from minusgrad.check import term_check
from minusgrad.errors import UserError
from minusgrad.symbolic.plain_python import evaluate
from minusgrad_molecular.custom.emission import (
    Symbols,
    argument_names,
    compiled_function,
    write_function,
)
from minusgrad_molecular.custom.expressions import DEEPEST, LONGEST, parse_expression

openmm = pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'")

PLACE = (2.0, 3.0, 0.5)
GLOBALS = {"g": 1.7, "lambda": -0.6}
OPENING = ["px, y, z = x[0][0], x[0][1], x[0][2]"]

VALUES = [
    # precedence of signs, powers and quotients
    "-x^2", "x^-2", "2^3^2+x", "-2^2*x", "2^-x^2", "x*-y", "x--y", "--x", "2*-x^2", "-x*y", "x/-y", "x^-y^2",
    "-x^-2", "-x^2^0.5", "x-y-z", "x/y/z", "x/y*z", "-x-y", "2---x", "x^y^z", "x^-(1+1)", "-x^y*z", "2^-3*x",
    "2^-(x*y)", "2*3^-x+1", "-(x)^2", "x*-y^2", "x^y^-z", "x-(-y)", "x--y^2", "-x^2*-y^2",
    # powers
    "x^0", "x^0.5", "x^12", "x^17", "x^-6", "x^2.0", "(x-y)^3", "(x-y)^3.0+z", "x^1.5", "(x-5)^y", "x^g",
    # numbers and spaces
    ".5*x", "5.*x", "1.e2*x", "1E-5*x", "1.0e+02*x", " x\n+\ty ", "2 ^ - x",
    # functions
    "sec(z)+csc(x)+cot(x)", "sinh(z)+cosh(x)+tanh(y)", "asin(z)+acos(z)+atan(x)+atan2(y,-x)",
    "erf(z)+erfc(x)", "exp(-x)*log(y)*sqrt(z)", "sin(x)*cos(y)*tan(z)", "square(x)+cube(-y)+recip(z)",
    "min(x,y)*max(y,z)", "abs(x-y)+floor(x*y+z)+ceil(-y*z)", "step(x-2)*x+step(2.5-y)*y", "delta(x-2)*y+x",
    "select(x-2,y,z)+x", "select(step(y-x),x^2,y)+select(delta(y-x),x,y*z)", "select(step(x-3)+step(z),x,y)",
    "sqrt(sqrt(sqrt(x)))", "max(min(x,max(y,z)),min(y,z)+x)", "exp(sin(exp(cos(x*y))))*z",
    # definitions
    "a;a=x*b;b=y+c;c=z^2", "a*b;a=sin(x);b=a;a=cos(y)", "x;x=y", "a;a=x;a=y", "sin(x)+sin;sin=y",
    "q.1*$+é;q.1=x;$=y;é=z",
    # global parameters, one with the name of a keyword of Python
    "g*x+lambda*y^2", "x^lambda",
]  # fmt: skip


def source_of(text: str) -> str:
    expression = parse_expression("CustomExternalForce 0", text, ["x", "y", "z", *GLOBALS])
    names = argument_names([*GLOBALS], ["y", "z", "px"])
    symbols = Symbols({"x": "px", "y": "y", "z": "z"} | names)
    return write_function("custom", ["x", *names.values()], OPENING, expression, symbols)


def energy_of(text: str):
    names = argument_names([*GLOBALS], ["y", "z", "px"])
    roles = {names[name]: Parameter(default=value) for name, value in GLOBALS.items()}
    made = local_energy("custom", over="nodes", x=Node("m", (3,)), **roles)
    return made(compiled_function("custom", source_of(text)))


def openmm_answer(text: str) -> tuple[float, np.ndarray]:
    """U and the forces of one particle."""
    system = openmm.System()
    system.addParticle(1.0)
    force = openmm.CustomExternalForce(text)
    for name, value in GLOBALS.items():
        force.addGlobalParameter(name, value)
    force.addParticle(0, [])
    system.addForce(force)
    reference = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), reference)
    context.setPositions([openmm.Vec3(*PLACE)])
    state = context.getState(getEnergy=True, getForces=True)
    return state.getPotentialEnergy()._value, np.array([*state.getForces()[0]._value])


def own_answer(text: str) -> tuple[float, np.ndarray]:
    fields = Fields({"x": [PLACE]})
    potential = Potential(fields, [bind(energy_of(text), fields)])
    return potential.value(), -potential.gradient("x")[0]


@pytest.mark.parametrize("text", VALUES)
def test_values_are_those_of_openmm(text: str) -> None:
    """In plain Python, without a kernel."""
    names = argument_names([*GLOBALS])
    given = {names[name]: value for name, value in GLOBALS.items()}
    found = evaluate(energy_of(text).function, {"x": [np.array(PLACE)]} | given)
    assert found == pytest.approx(openmm_answer(text)[0], rel=1e-12)


@pytest.mark.parametrize("first", range(0, len(VALUES), 24))
def test_forces_of_kernels_are_those_of_openmm(first: int) -> None:
    """The sum of 24 expressions each, whose definitions are named apart."""
    some = [one for one in VALUES[first : first + 24] if ";" not in one]
    u, f = own_answer(" + ".join(f"0.{k + 11}*({one})" for k, one in enumerate(some)))
    answers = [openmm_answer(one) for one in some]
    weights = [float(f"0.{k + 11}") for k in range(len(some))]
    assert u == pytest.approx(sum(w * one for w, (one, _) in zip(weights, answers, strict=True)), rel=1e-12)
    expected = sum(w * one for w, (_, one) in zip(weights, answers, strict=True))
    np.testing.assert_allclose(f, expected, rtol=1e-9)


def test_the_source_is_short_and_only_ours() -> None:
    """Each name and number is one that was checked; long sums and products are cut into lines."""
    source = source_of("lambda*(x-y)^2 + a; a = sin(x)*exp(-b); b = cube(y)/(1+z)")
    tree = ast.parse(source)
    names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    assert names == {"px", "x", "y", "z", "lambda_", "ti", "v1_", "v2_"}
    long = source_of("+".join(f"sin({k}.5*x)*cos(y)" for k in range(400)))
    assert max(map(len, long.splitlines())) < 200
    found = evaluate(
        energy_of("+".join(["x*y*z"] * 3000)).function, {"x": [np.array(PLACE)], "g": 0, "lambda_": 0}
    )
    assert found == pytest.approx(9000.0)


def test_derivatives_pass_the_check() -> None:
    fields = Fields({"x": [PLACE, (1.0, 0.7, 1.4)]})
    text = "g*sinh(0.1*x)*cosh(z)+lambda*select(step(x-y),x^4,y^-2)+cot(z)*atan(x/y)+x^lambda"
    found = [*term_check.of_potential(Potential(fields, [bind(energy_of(text), fields)]))]
    assert {one.argument for one in found} >= {"x", "g", "lambda_"}
    assert [one for one in found if not one.passed] == []


KNOWN = "(there are: g, lambda, x, y, z)"
MISTAKES = {
    "k*x": f"1: no variable named 'k' {KNOWN}",
    "x+Lambda": f"3: no variable named 'Lambda'; did you mean 'lambda'? {KNOWN}",
    "x+ a*y; a = q": "13: no variable named 'q' (there are: a, g, lambda, x, y, z)",
    "2*sine(x)": "3: no function named 'sine'; did you mean 'sin'? (there are: abs, acos, asin, atan, atan2,"
    " ceil, cos, cosh, cot, csc, cube, delta, erf, erfc, exp, floor, log, max, min, recip, sec, select, sin,"
    " sinh, sqrt, square, step, tan, tanh)",
    "2*(x+(y)": "9: the bracket of character 3 is not closed, got its end; write a )",
    "(x y)": "4: the bracket of character 1 is not closed, got 'y)'; write a )",
    "x)": "2: a value ends here, got ')'; join values by + - * / or ^, and close each bracket once",
    "2x": "2: a value ends here, got 'x'; join values by + - * / or ^, and close each bracket once",
    "x*": "3: a value is missing, got its end; write a number, a name, a function or ( )",
    "x+*y": "3: a value is missing, got '*y'; write a number, a name, a function or ( )",
    "": "1: a value is missing, got its end; write a number, a name, a function or ( )",
    "x/0": "2: divides by zero, got '/0'; divide by another number",
    "x/(2-2)": "2: divides by zero, got '/(2-2)'; divide by another number",
    "x+sqrt(-1)": "3: its numbers have no finite value, got 'sqrt(-1)'; correct them",
    "x+(-8)^(1/3)": "3: its numbers have no finite value, got '(-8)^(1/3)'; correct them",
    "1e999": "1: its numbers have no finite value, got '1e999'; correct them",
    "1e*x": "1: is no number, got '1e*x'; write it as 1.5 or 1.5e-3",
    "sin(x,y)": "1: 'sin' must have 1 argument, got 2; correct them",
    "min(x)": "1: 'min' must have 2 arguments, got 1; correct them",
    "a; a = b; b = a+x": "15: must not be defined by itself, got 'a' in a circle; define it by others",
    "a; a = a": "8: must not be defined by itself, got 'a' in a circle; define it by others",
    "x; y": "3: after ';' comes a definition, got 'y'; write name = value",
    "x; 2=y": "3: after ';' comes a definition, got '2=y'; write name = value",
    "(" * 200 + "x" + ")" * 200: f"{DEEPEST + 1}: values lie at most {DEEPEST} deep within one another, got"
    f" '{'(' * 20}'; name some of them",
    "-" * 200 + "x": f"{DEEPEST + 1}: values lie at most {DEEPEST} deep within one another, got '{'-' * 20}';"
    " name some of them",
    "x^" * 200 + "x": f"{2 * DEEPEST + 1}: values lie at most {DEEPEST} deep within one another, got"
    f" '{'x^' * 10}'; name some of them",
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_has_one_message_with_its_place(text: str) -> None:
    with pytest.raises(UserError) as refusal:
        source_of(text)
    assert str(refusal.value) == f"CustomExternalForce 0: expression, character {MISTAKES[text]}"


def test_long_texts_and_many_definitions_are_refused() -> None:
    with pytest.raises(UserError) as refusal:
        source_of("x+" * LONGEST + "x")
    assert str(refusal.value) == (
        "CustomExternalForce 0: an expression has at most 50,000 characters, got 100,001; shorten it, or"
        " divide it among forces"
    )
    with pytest.raises(UserError, match="an expression has at most 1,000 definitions, got 1,001; join some"):
        source_of("x" + "".join(f";a{k}=x" for k in range(1001)))
    chain = "a0" + "".join(f";a{k}=a{k + 1}+1" for k in range(999)) + ";a999=x"
    names = dict.fromkeys(argument_names([*GLOBALS]).values(), 0.0)
    found = evaluate(energy_of(chain).function, {"x": [np.array(PLACE)]} | names)
    assert found == pytest.approx(1001.0)


def test_squares_of_definitions_are_written_once() -> None:
    """A power of two to the 40 if each use of a definition were written out."""
    chain = "(a0)^2" + "".join(f";a{k}=a{k + 1}*a{k + 1}*0.5" for k in range(40)) + ";a40=r"
    expression = parse_expression("F", chain, ["r"])
    source = write_function("custom", ["r", "rr"], [], expression, Symbols({"r": "r"}, {"r": "rr"}))
    assert len(source) < 10_000


def test_mutants_are_read_or_refused_in_one_line() -> None:
    """Whatever is written, Python compiles the source, or there is one message that names the force."""
    rng = np.random.default_rng(4)
    signs = "+-*/^()=;,. \n\t019eExyzg_\0é'\"\\[]{}"
    read = 0
    for k in range(800):
        text = list(VALUES[k % len(VALUES)])
        for _ in range(1 + k % 3):
            place, sign = rng.integers(len(text) + 1), signs[rng.integers(len(signs))]
            text[place : place + rng.integers(2)] = sign if rng.random() < 0.6 else ""
        try:
            compile(source_of("".join(text)), "", "exec")
            read += 1
        except UserError as refusal:
            message = str(refusal)
            assert message.startswith("CustomExternalForce 0: ")
            assert message.isprintable()
            assert len(message) < 900
    assert 50 < read < 750


def test_control_characters_of_names_stay_out_of_messages() -> None:
    with pytest.raises(UserError) as refusal:
        source_of("x+\x1b[31m")
    assert "\x1b" not in str(refusal.value)


@pytest.mark.parametrize(
    "name", ["lambda", "ti", "class", "x", "cutoff", "v1_", "_", "2", "a.b", "é", "_kind"]
)
def test_names_of_arguments_are_identifiers_that_mean_nothing_else(name: str) -> None:
    found = argument_names([name, "a_b"], ["y"])
    assert len({*found.values(), "y", "x", "ti"}) == 5
    assert all(one.isidentifier() and not one.startswith("_") for one in found.values())
    compile(f"{found[name]} = 1", "", "exec")
