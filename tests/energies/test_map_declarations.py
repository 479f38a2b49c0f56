"""What a declaration of a local map may say, and what is refused in so many words."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from minusgrad import (
    Cell,
    Datum,
    Fields,
    Node,
    Output,
    Parameter,
    Potential,
    bind,
    local_energy,
    local_map,
    ti,
)
from minusgrad.assembly.blocks.energy_block import energy_model
from minusgrad.assembly.registry import Registry
from minusgrad.energies.fields import Grid
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError, PluginError, TraceError
from minusgrad.exam import references
from tests.support import energies
from tests.support.local_maps import boxes, cell_window, embedding, far, given_by, hat, narrow_window, tall

runtime.start()


@local_map("names", gives="y", over="nodes", x=Node(), adjoint=Node(), cell=Parameter(), window=Node())
def named(x, adjoint, cell, window):
    return x[0] * adjoint[0] ** 2 * cell + window[0]


def test_arguments_may_be_called_anything() -> None:
    values = {"x": [1.0, 2.0], "adjoint": [3.0, 5.0], "window": [0.5, 0.25]}
    potential = given_by(named, values, parameters={"cell": 2.0})
    potential.refresh()
    y, lean = potential.fields["y"].values, potential.fields["lean"].values
    assert y.tolist() == [18.5, 100.25]
    np.testing.assert_allclose(potential.gradient("adjoint"), (lean + y) * [12.0, 40.0])
    np.testing.assert_allclose(potential.gradient("window"), lean + y)


@local_map("plane", gives="y", over="nodes", x=Node(), adjoint_y=Node())
def plane(x, adjoint_y):
    return x[0] * adjoint_y[0]


def test_a_field_may_be_called_like_one_of_the_engines() -> None:
    potential = given_by(plane, {"x": [1.0, 2.0], "adjoint_y": [3.0, 5.0]})
    potential.refresh()
    assert potential.fields["y"].values.tolist() == [3.0, 10.0]


def declared(
    over: Any = "nodes", function: Callable | None = None, name: str = "m", gives: str = "y", **roles: Any
):
    def plain(x, at):
        return x[0]

    return local_map(name, gives=gives, over=over, **({"x": Node()} | roles))(function or plain)


def unwindowed(x, at):
    return x[0]


def two_places(x, at, to):
    return x[0]


def strange_window(x, z, at):
    return [x[0]], [z]


def lone(x):
    return x[0]


def cells(**options: Any) -> Any:
    return bind(far, Fields({"x": [1.0]}), **({"grid": Grid((4,))} | options))


def over_fields(values: Mapping[str, Any], *maps: Any) -> Fields:
    fields = Fields(values)
    for made, options in maps:
        bind(made, fields, **options)
    return fields


def tabled(numbers: Any) -> Any:
    return bind(tall, Fields({"x": [1.0]}), grid=Grid((4,)), tables={"heights": numbers})


def spaced(**parameters: float) -> Any:
    fields = Fields({"x": np.ones((2, 1)), "m": np.ones(2)})
    return bind(energies.splines, fields, grid=Grid((4,), 0.5), parameters=parameters)


REFUSED: dict[str, Callable[[], Any]] = {
    "map 'm': has the Cells at, to; use one": lambda: declared(
        at=Cell(window=cell_window), to=Cell(window=cell_window), function=two_places
    ),
    "map 'm': pairs cannot add to cells; sum over nodes or tuples": lambda: declared(
        "pairs", at=Cell(window=cell_window)
    ),
    "map 'm': at has no window; give it a function that returns the cells reached": lambda: declared(
        at=Cell()
    ),
    "map 'm': its window must take arguments of the map, got z, at": lambda: declared(
        at=Cell(window=strange_window)
    ),
    "map 'm': its spacing must be a Parameter, got 'h'": lambda: declared(
        at=Cell(window=cell_window, spacing="h")
    ),
    "map 'm': its spacing must be a Parameter, got 'x'": lambda: declared(
        at=Cell(window=cell_window, spacing="x")
    ),
    "map 'm': argument at has no role": lambda: declared(),
    "map 'm': z has a role, but is no argument of the function": lambda: declared(
        z=Node(), at=Cell(window=cell_window)
    ),
    "a map cannot be called 'a.b'; use letters, digits and _": lambda: declared(
        at=Cell(window=cell_window), name="a.b"
    ),
    "a field cannot be called 'a/b'; use letters, digits and _": lambda: declared(
        at=Cell(window=cell_window), gives="a/b"
    ),
    "map 'm': over must be 'nodes', 'pairs', 'triples', 'directed_pairs', 'directed_triples',": lambda: (
        declared("cell", at=Cell(window=cell_window))
    ),
    "map 'm': has no Node field": lambda: local_map("m", gives="y", over="nodes", x=Parameter())(lone),
    "energy 'm': at is a Cell, but only maps add to cells": lambda: local_energy(
        "m", over="nodes", x=Node(), at=Cell(window=cell_window)
    )(unwindowed),
    "far: adds to the cells of a grid, got none": lambda: cells(grid=None),
    "splines.h: is the grid's spacing; leave it out": lambda: spaced(h=0.5),
    "tall.heights: needs a table of numbers, got none": lambda: tabled(None),
    "tall.heights: needs finite numbers": lambda: tabled([1.0, np.nan]),
    "tall.heights: needs 1 axes, none of them empty, got shape [2, 1]": lambda: tabled([[1.0], [2.0]]),
    "tall.heights: needs 1 axes, none of them empty, got shape [0]": lambda: tabled(np.zeros(0)),
    "tall.heights: needs 1 axes, none of them empty, got shape []": lambda: tabled(1.0),
    "field 'y': is given by the state, so no map can write it": lambda: over_fields(
        {"x": [1.0], "y": [2.0]}, (far, {"grid": Grid((4,))})
    ),
    "field 'y': has 4 nodes in 1, got a map to 5 in 1": lambda: over_fields(
        {"x": [1.0]}, (far, {"grid": Grid((4,))}), (far, {"grid": Grid((5,))})
    ),
    "field 'y': has 4 nodes in 1, got a map to 4 in kg": lambda: over_fields(
        {"x": [1.0]}, (far, {"grid": Grid((4,))}), (heavy, {"grid": Grid((4,))})
    ),
    "no field named 'z' (there are: x)": lambda: bind(
        far, Fields({"x": [1.0]}), renamed={"x": "z"}, grid=Grid((4,))
    ),
}


@local_map("heavy", gives="y", unit="kg", over="nodes", x=Node(), at=Cell(window=cell_window))
def heavy(x, at):
    return x[0]


@pytest.mark.parametrize(("text", "call"), REFUSED.items())
def test_refused_in_so_many_words(text: str, call: Callable) -> None:
    with pytest.raises(EnergyError) as caught:
        call()
    assert str(caught.value).startswith(text)


def test_the_name_that_a_term_gives_is_checked() -> None:
    with pytest.raises(EnergyError, match=r"a field cannot be called 'a\.b'; use letters, digits and _"):
        cells(gives="a.b")


def test_a_grid_of_more_axes_than_there_are_bands_for_is_refused() -> None:
    def everywhere(x):
        return [x[0]] * 4, [x[0]] * 4

    fields = Fields({"x": [1.0]})
    made = declared(at=Cell(window=everywhere), function=unwindowed)
    with pytest.raises((EnergyError, TraceError)):
        Potential(fields, [], [bind(made, fields, grid=Grid((2, 2, 2, 2)))])


def test_a_table_that_nobody_reads_is_refused() -> None:
    with pytest.raises(EnergyError, match="other"):
        cells(tables={"other": [1.0]})


def test_an_unknown_unit_of_what_is_given_is_refused() -> None:
    with pytest.raises(Exception, match="furlong"):
        local_map("m", gives="y", unit="furlong", over="nodes", x=Node())(lone)


def one_corner(x):
    return [x[0]]


def flat_corners(x):
    return x[0], x[0]


def three_axes(x):
    return [x[0]] * 3, [x[0]] * 3


def no_numbers(x):
    return [x[0] > 1.0] * 2, [x[0]] * 2


@pytest.mark.parametrize("window", [one_corner, flat_corners, three_axes, no_numbers])
def test_a_window_gives_two_corners(window: Callable) -> None:
    made = declared(at=Cell(window=window), function=unwindowed)
    fields = Fields({"x": [1.0]})
    text = "map 'm': its window must return the lowest and the highest cell; return two lists of 2 numbers"
    with pytest.raises(TraceError, match=f"^{text}$"):
        Potential(fields, [], [bind(made, fields, grid=Grid((3, 3)))])


def test_a_given_field_is_called_as_the_term_says() -> None:
    fields = Fields({"x": [1.0, 2.0]})
    first = bind(far, fields, gives="mine", grid=Grid((4,)))
    assert (first.gives.name, first.gives.unit, fields.derived) == ("mine", "1", {"mine"})
    bind(heavy, fields, gives="weight", grid=Grid((4,)))
    assert fields["weight"].unit == "kg"
    Potential(fields, [], [first]).refresh()
    assert fields["mine"].values.tolist() == [0.0, 2.0, 10.0, 0.0]


def test_the_parts_of_a_declaration() -> None:
    made = energies.splines
    assert (made.cell, made.spacing, made.outputs) == ("at", "h", {"mass": Output("1")})
    assert made.window is not None
    bare = energies.bonds
    assert (bare.cell, bare.spacing, bare.window) == (None, "", None)
    assert made.reach()({"x": [np.array([1.2, -0.4])], "m": [1.0], "h": 0.5}) == [range(1, 4), range(-2, 1)]
    assert boxes.reach()({"x": [np.array([1.2, -0.4])], "size": 1.0}) == [range(0, 4), range(-2, 2)]


def plugin(**hooks: Callable) -> ModuleType:
    from minusgrad import hookimpl

    module = ModuleType("stranger")
    module.__file__ = __file__
    for name, function in hooks.items():
        function.__name__ = name
        setattr(module, name, hookimpl(function))
    return module


def test_a_map_is_no_energy_and_an_energy_no_map() -> None:
    file = "plugin 'stranger' (at hand)"
    for hook, given, said in (
        ("register_energies", far, "an energy made by @local_energy"),
        ("register_dissipations", far, "an energy made by @local_energy"),
        ("register_maps", embedding, "a map made by @local_map or staged_map"),
    ):
        with pytest.raises(PluginError) as caught:
            Registry.load([], files=[plugin(**{hook: lambda given=given: [given]})])
        assert hook in str(caught.value), file
        assert str(caught.value).endswith(f"not {said}")


def test_a_plugin_file_without_hooks_gives_its_maps_and_its_energies() -> None:
    module = plugin()
    module.first, module.second = far, embedding
    registry = Registry.load([], files=[module])
    assert registry.entry("map", "far").energy is far
    assert registry.entry("energy", "embedding").energy is embedding
    assert registry.entry("map", "embedding") is registry.entry("energy", "far") is None
    assert list(registry.energies()) == ["far", "embedding", "uniform_field"]


@pytest.mark.parametrize("key", ["grid", "tuples", "fields", "body", "kind", "_x"])
def test_keys_of_a_block_are_no_arguments(key: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def f(x, {key}):\n    return x[0]\n", scope)
    said = (
        f"an argument cannot be called '{key}': a block in a scene has the keys kind, name, tuples, body,"
        " fields, gives, grid, sizes, and none that begin with _; use another name"
    )
    for role in (Parameter(), Datum()):
        with pytest.raises(EnergyError) as caught:
            local_map("m", gives="y", over="nodes", x=Node(), **{key: role})(scope["f"])
        assert str(caught.value) == f"map 'm': {said}"
        with pytest.raises(EnergyError) as caught:
            local_energy("u", over="nodes", x=Node(), **{key: role})(scope["f"])
        assert str(caught.value) == f"energy 'u': {said}"


def test_the_keys_of_a_maps_block() -> None:
    """The spacing is the grid's, and tables the state's."""
    assert set(energy_model(energies.splines).model_fields) >= {"gives", "grid", "body", "fields", "name"}
    assert "h" not in energy_model(energies.splines).model_fields
    assert "tuples" in energy_model(energies.bonds).model_fields
    assert not {"gives", "grid"} & energy_model(embedding).model_fields.keys()
    assert not {"profile", "face", "at"} & energy_model(energies.stamps).model_fields.keys()


def test_an_argument_may_be_called_sum_or_cut() -> None:
    @local_map(
        "m",
        gives="y",
        over="nodes",
        x=Node(),
        at=Cell(window=narrow_window),
        sum=Parameter("1", (2,)),
        cut=Parameter(),
    )
    def named(x, at, sum, cut):
        return ti.exp(-((x[0] - at[0]) ** 2) * sum[0]) * sum[1] * cut

    parameters = {"sum": [0.5, 2.0], "cut": 3.0}
    potential = given_by(named, {"x": [2.2, 5.1]}, grid=Grid((9,)), parameters=parameters)
    potential.refresh()
    (term,) = potential.maps.values()
    np.testing.assert_allclose(term.gives.values, references.given_values(term), rtol=1e-13)
    assert potential.gradient("m.sum").shape == (2,)


def test_a_misspelt_argument_of_fields_is_refused() -> None:
    fields = Fields({"x": [1.0], "z": [2.0]})
    with pytest.raises(
        EnergyError, match=r"^hat: no node field named 'X'; did you mean 'x'\? \(there are: x\)$"
    ):
        bind(hat, fields, grid=Grid((9,)), renamed={"X": "z"})
