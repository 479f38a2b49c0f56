"""The grammar of OpenMM's expressions (Lepton), and their trees.

    expression   value { ; name = value }
    value        sums and products, -x, x^y, ( ), functions, numbers, names

    x^y binds closer than -x:  -x^2 = -(x^2),  x^-2 = x^(-2),  2^3^2 = 2^(3^2),  2^-x^2 = 2^(-(x^2))

Definitions come after `;`, in any order. As in Lepton a definition uses the next one of a name after it, and
the value the first; where there is none the name is a variable. Beyond Lepton a name that is neither is a
definition before it; cycles are refused. Numbers are computed here, and have to be finite: OpenMM itself
never returns from sqrt(-1). Names are any characters but + - * / ^ ( ) , ; = and spaces.

The parser descends; depth, length and definitions are bounded. A mistake is one `UserError` that names the
force, the character (from 1) and a cure.

Decisions 0149.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence

from minusgrad.plugin import UserError

from .definitions import Links, begin_message, mistake_at, unknown_name
from .functions import FUNCTIONS
from .trees import Call, Chain, Definition, Expression, Name, Negative, Number, Power, Tree

LONGEST, DEEPEST, MOST = 50_000, 60, 1000
"""Characters of an expression, values within one another, definitions."""
TOKEN = re.compile(r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d*)?)|([-+*/^(),=])|([^\s+\-*/^(),=]+))")


def parse_expression(
    what: str,
    text: str,
    variables: Collection[str],
    functions: Mapping[str, int] | None = None,
    points: Sequence[str] = (),
    of_points: Mapping[str, int] | None = None,
) -> Expression:
    """The tree of an expression, all its names known.

    what: the force, which begins messages. variables: names that it may read. functions: more functions of
    numbers, and of_points functions of the points named `points`, by the number of their arguments. Raises
    `UserError`.
    """
    if len(text) > LONGEST:
        raise UserError(
            f"{what}: an expression has at most {LONGEST:,} characters, got {len(text):,}; shorten it, or"
            " divide it among forces"
        )
    known = {name: function.arity for name, function in FUNCTIONS.items()} | dict(functions or {})
    parts = _split_parts(what, text)
    if len(parts) > MOST + 1:
        raise UserError(
            f"{what}: an expression has at most {MOST:,} definitions, got {len(parts) - 1:,}; join some"
        )
    parsed = [_Parser(what, text, *part[1:], known, points, of_points or {}) for part in parts]
    names = [name for name, _, _ in parts]
    read = [parser.names for parser in parsed]
    order, needed = Links(what, names, read, variables).ordered_definitions()
    places = {k: place for place, k in enumerate(order)}
    for parser in parsed:
        for one in parser.names:
            one.definition = None if one.definition is None else places.get(one.definition)
    return Expression(
        text, parsed[0].tree, tuple(Definition(names[k], parsed[k].tree) for k in order), tuple(needed)
    )


def _split_parts(what: str, text: str) -> list[tuple[str, int, int]]:
    """The value and its definitions: name ("" of the value), begin and end of the text."""
    found, begin = [], 0
    for number, piece in enumerate(text.split(";")):
        end = begin + len(piece)
        if number == 0:
            found.append(("", begin, end))
        elif piece.strip():
            name, equals, _ = piece.partition("=")
            if not equals or not (name := name.strip()) or not _is_name(name):
                raise mistake_at(what, text, begin, "after ';' comes a definition", "write name = value")
            found.append((name, begin + piece.index("=") + 1, end))
        begin = end + 1
    return found


def _is_name(text: str) -> bool:
    """True if it is one token, and no number."""
    token = TOKEN.fullmatch(text)
    return token is not None and token[3] is not None


class _Parser:
    """Reads one value, `text[begin:end]`; `names` are those that it read."""

    def __init__(
        self,
        what: str,
        text: str,
        begin: int,
        end: int,
        functions: Mapping[str, int],
        points: Sequence[str],
        of_points: Mapping[str, int],
    ):
        self._what, self._text, self._place, self._end = what, text, begin, end
        self._functions, self._points, self._of_points = functions, points, of_points
        self.names: list[Name] = []
        self._depth = 0
        self._take_token()
        self.tree = self._read_value()
        if self._token:
            raise self._error("a value ends here", "join values by + - * / or ^, and close each bracket once")

    def _take_token(self) -> None:
        """The next token: its text ("" at the end), its kind, and where it begins."""
        found = TOKEN.match(self._text, self._place, self._end)
        if found is None:
            self._token, self._kind, self._at = "", "end", self._end
            return
        kinds = ("number", "sign", "name")
        self._kind = next(kind for kind, part in zip(kinds, found.groups(), strict=True) if part)
        self._token = found[1] or found[2] or found[3]
        self._at, self._place = found.end() - len(self._token), found.end()

    def _error(self, wrong: str, cure: str, place: int | None = None) -> UserError:
        return mistake_at(self._what, self._text, self._at if place is None else place, wrong, cure)

    def _read_chain(self, signs: str, part: Callable[[], Tree]) -> Tree:
        """Parts joined by `signs` of one rank, from left to right."""
        joined, places = signs[0], [self._at]
        parts = [part()]
        while self._token and self._token in signs and self._kind == "sign":
            joined += self._token
            places.append(self._at)
            self._take_token()
            parts.append(part())
        if len(parts) == 1:
            return parts[0]
        for sign, one, place in zip(joined, parts, places, strict=True):
            if sign == "/" and isinstance(one, Number) and one.value == 0.0:
                raise self._error("divides by zero", "divide by another number", place)
        if all(isinstance(one, Number) for one in parts):
            numbers = [one.value for one in parts if isinstance(one, Number)]
            return self._computed_number(lambda: _join_numbers(joined, numbers), places[0])
        return Chain(joined, parts)

    def _read_factor(self) -> Tree:
        """-x, x^y or a single value: powers bind closer than the sign before them, and group to the right."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error(f"values lie at most {DEEPEST} deep within one another", "name some of them")
        if self._token == "-":
            self._take_token()
            of = self._read_factor()
            made: Tree = Number(-of.value) if isinstance(of, Number) else Negative(of)
        else:
            place = self._at
            made = self._read_single()
            if self._token == "^":
                self._take_token()
                made = self._power(made, self._read_factor(), place)
        self._depth -= 1
        return made

    def _power(self, base: Tree, exponent: Tree, place: int) -> Tree:
        if isinstance(base, Number) and isinstance(exponent, Number):
            return self._computed_number(lambda: math.pow(base.value, exponent.value), place)
        return Power(base, exponent)

    def _read_single(self) -> Tree:
        token, kind, place = self._token, self._kind, self._at
        self._take_token()
        if kind == "number":
            try:
                return self._computed_number(lambda: float(token), place)
            except ValueError:
                raise self._error("is no number", "write it as 1.5 or 1.5e-3", place) from None
        if kind == "name":
            return self._read_call(token, place) if self._token == "(" else self._read_name(token, place)
        if token == "(":
            made = self._read_value()
            self._close_bracket(place)
            return made
        raise self._error("a value is missing", "write a number, a name, a function or ( )", place)

    def _read_value(self) -> Tree:
        return self._read_chain("+-", lambda: self._read_chain("*/", self._read_factor))

    def _read_name(self, name: str, place: int) -> Tree:
        made = Name(name, place)
        self.names.append(made)
        return made

    def _read_call(self, name: str, place: int) -> Tree:
        if name not in self._functions and name not in self._of_points:
            known = sorted({*self._functions, *self._of_points})
            raise unknown_name(self._what, "function", name, place, known)
        opened = self._at
        self._take_token()
        arguments, points = [], []
        while True:
            if name in self._of_points:
                points.append(self._read_point())
            else:
                arguments.append(self._read_value())
            if self._token != ",":
                break
            self._take_token()
        self._close_bracket(opened)
        wanted = self._of_points[name] if name in self._of_points else self._functions[name]
        if (given := len(points) + len(arguments)) != wanted:
            raise UserError(
                f"{begin_message(self._what, place)}: '{name}' must have {wanted}"
                f" argument{'s'[: wanted != 1]}, got {given}; correct them"
            )
        numbers = [one.value for one in arguments if isinstance(one, Number)]
        if name in FUNCTIONS and len(numbers) == wanted:
            return self._computed_number(lambda: FUNCTIONS[name].value(*numbers), place)
        return Call(name, arguments, points)

    def _read_point(self) -> str:
        token, place = self._token, self._at
        if token not in self._points:
            raise unknown_name(self._what, "point", token, place, self._points)
        self._take_token()
        return token

    def _close_bracket(self, opened: int) -> None:
        if self._token != ")":
            raise self._error(f"the bracket of character {opened + 1} is not closed", "write a )")
        self._take_token()

    def _computed_number(self, value: Callable[[], float], place: int) -> Number:
        """A number that is computed now. Raises `UserError` unless it is finite."""
        try:
            number = value()
        except (ArithmeticError, ValueError) as error:
            if "could not convert" in str(error):
                raise
            number = math.nan
        if not math.isfinite(number):
            raise self._error("its numbers have no finite value", "correct them", place)
        return Number(number)


def _join_numbers(signs: str, numbers: Sequence[float]) -> float:
    """The value of a chain of numbers."""
    made = numbers[0]
    for sign, one in zip(signs[1:], numbers[1:], strict=True):
        made = {"+": made + one, "-": made - one, "*": made * one}[sign] if sign != "/" else made / one
    return made
