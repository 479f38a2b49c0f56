"""Fits from arrays: measurements in Python as files of a scene, and the losses and steps that they ask for.

    data = {"phi": (times, values)}          times (T,), values (T, n, ...), as the field has them
    data = {"x": (times, values, "bob")}     values of the nodes of a body, or of a list of bodies
    data = {"x": [(t0, v0), (t1, v1)]}       of each member of an ensemble
    data = {"x": values}                     (n, ...) of an equilibrium

Each becomes a trajectory in HDF5, `measured_phi.h5`, which the fit's folder keeps among its inputs, and a
loss `misfit` that names it: the folder has all that resuming needs.

Decisions 0125.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..assembly.built_scene import BuiltScene
from ..energies.fields import Field, union_nodes
from ..errors import UserError, choices, unknown
from ..files import h5md, hdf5_layout
from ..steppers.minimisers.minimiser import Minimiser
from ..steppers.timed.time_stepper import TimeStepper
from .scene_tables import reals

METHOD, ITERATIONS = "gauss_newton", 50
"""Those of a fit that names none."""
SEARCH = 1000
"""The most iterations of the search for an equilibrium whose simulation has no number of them."""
SHAPE = "write data={'x': (times, values)}"


class MeasuredSeries(NamedTuple):
    """Measurements of a field: times (T,), values (T, n, ...) of all nodes, NaN of those not measured."""

    times: np.ndarray
    values: np.ndarray


@dataclass
class FitArrays:
    """The measurements of a fit, for the fields of a simulation.

    data, sigma: as `Simulation.fit` takes them. Raises `UserError` for what does not fit the fields.
    """

    simulation: BuiltScene
    data: Mapping[str, Any]
    sigma: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.data, Mapping) or not self.data:
            raise UserError(f"data: needs measurements by field, got {_shown(self.data)}; {SHAPE}")
        self.files: dict[str, bytes] = {}
        """The files by name."""
        self.losses: list[dict[str, Any]] = []
        """The tables of the losses that read them."""
        self.last = 0.0
        """The time of the last measurement, in the run's unit."""
        for name, given in self.data.items():
            self._add(name, given)

    def _add(self, name: str, given: Any) -> None:
        simulation = self.simulation
        if name not in simulation.fields:
            raise UserError(f"data: {unknown('field', str(name), [*simulation.fields])}")
        loss: dict[str, Any] = {"kind": "misfit", "field": name}
        if len(self.data) > 1:
            loss["name"] = f"misfit_{name}"
        every = given if isinstance(given, list) else [given]
        if isinstance(given, list) and simulation.scene.ensemble is None:
            raise UserError(
                f"data['{name}']: a list has measurements of each member of an ensemble, got a simulation"
                f" without one; give a tuple, (times, values)"
            )
        stem = f"measured_{name}"
        for number, one in enumerate(every):
            place = f"data['{name}'][{number}]" if isinstance(given, list) else f"data['{name}']"
            series, found = self._series(place, simulation.fields[name], one)
            if number and found != {key: value for key, value in loss.items() if key in found}:
                raise UserError(
                    f"{place}: needs the units and bodies of member 0, got {found}; make them alike"
                )
            loss |= found
            self.last = max(self.last, self._in_run(found, series))
            file = f"{stem}_{number}.h5" if isinstance(given, list) else f"{stem}.h5"
            self.files[file] = _written(series, simulation.state.labels.get(name, name))
        loss["data"] = f"{stem}_{{member}}.h5" if isinstance(given, list) else f"{stem}.h5"
        if (sigma := self._sigma(name)) is not None:
            loss["sigma"] = sigma
        self.losses.append(loss)

    def _series(self, place: str, field: Field, given: Any) -> tuple[MeasuredSeries, dict[str, Any]]:
        """The measurements of a field, and the keys of its loss that they ask for."""
        times, values, *body = self._parts(place, field, given)
        found: dict[str, Any] = {}
        times, values = _unit(found, "time_unit", times), _unit(found, "unit", values)
        times, values = np.atleast_1d(reals(f"{place}: times", times)), reals(f"{place}: values", values)
        if body:
            found["body"] = body[0]
        nodes = self._nodes(place, len(field), *body)
        shape = (len(times), len(nodes), *field.shape[1:])
        if len(nodes) == 1 and values.shape == (len(times), *field.shape[1:]):
            values = values[:, None]
        if times.ndim != 1 or not len(times) or values.shape != shape:
            of = f"of the nodes of '{body[0]}'" if body else "of all nodes"
            raise UserError(
                f"{place}: needs times (T,) and values {of}, shape (T, {', '.join(map(str, shape[1:]))}), got"
                f" {times.shape} and {values.shape}; name a body if these are not all nodes: (times, values,"
                " 'body')"
            )
        whole = np.full((len(times), *field.shape), np.nan)
        order = np.argsort(times, kind="stable")
        whole[:, nodes] = values[order]
        return MeasuredSeries(times[order], whole), found

    def _parts(self, place: str, field: Field, given: Any) -> Sequence[Any]:
        if isinstance(given, tuple) and len(given) in (2, 3):
            return given
        stepper = self.simulation.stepper
        if isinstance(stepper, Minimiser) and not isinstance(given, tuple):
            return stepper.time, np.asarray(given)[None]
        raise UserError(f"{place}: needs a tuple (times, values), got {_shown(given)}; {SHAPE}")

    def _nodes(self, place: str, count: int, body: Any = None) -> np.ndarray:
        """The numbers of the measured nodes, of all of them without a body."""
        known = {one.name: one for one in self.simulation.state.bodies}
        names = [body] if isinstance(body, str) else [*(body or ())]
        for one in names:
            if one not in known:
                raise UserError(f"{place}: no body named '{one}'{choices(str(one), known)}")
        return union_nodes([known[one] for one in names]) if names else np.arange(count)

    def _in_run(self, found: Mapping[str, Any], series: MeasuredSeries) -> float:
        """The last time in the run's unit."""
        if "time_unit" not in found:
            return float(series.times[-1])
        return self.simulation.units.convert(f"{float(series.times[-1])!r} {found['time_unit']}", "s")

    def _sigma(self, name: str) -> Any:
        sigma = self.sigma
        if isinstance(sigma, Mapping):
            if strange := [one for one in sigma if one not in self.data]:
                raise UserError(f"sigma: {unknown('field of the data', str(strange[0]), [*self.data])}")
            sigma = sigma.get(name)
        if sigma is None or isinstance(sigma, str):
            return sigma
        if np.ndim(sigma) or isinstance(sigma, bool):
            raise UserError(
                f"sigma: needs one number for a field, got {_shown(sigma)}; write sigma=0.1, or"
                f" sigma={{'{name}': 0.1}}"
            )
        return float(sigma)


def fit_table(
    base: Mapping[str, Any],
    arrays: FitArrays | None,
    parameters: Mapping[str, Any] | Sequence[str] | None,
    method: str | None,
    iterations: int | None,
) -> dict[str, Any]:
    """The table [fit] of a fit in Python: `base` with the losses of arrays, and what else is given.

    Raises `UserError` where parameters or losses are missing.
    """
    table = dict(base)
    if parameters is not None:
        listed = [parameters] if isinstance(parameters, str) else parameters
        table["parameters"] = dict(listed) if isinstance(listed, Mapping) else {name: {} for name in listed}
    if not table.get("parameters"):
        raise UserError(
            "fit: needs the names of what is sought, got none; write sim.fit(parameters=['spring.stiffness'],"
            " ...), or give them in the table `fit`"
        )
    if arrays is not None:
        table["loss"] = [*table.get("loss", ()), *arrays.losses]
        if "of" not in table and isinstance(arrays.simulation.stepper, Minimiser):
            table["of"] = "equilibrium"
    if not table.get("loss"):
        raise UserError(
            "fit: needs measurements, got none; write sim.fit(data={'x': (times, values)}, sigma=0.1), or"
            " give losses in the table `fit`"
        )
    given = {"method": method, "iterations": iterations}
    table |= {key: value for key, value in given.items() if value is not None}
    return {"method": METHOD, "iterations": ITERATIONS} | table


def steps_until(arrays: FitArrays) -> int:
    """The steps of a run that ends with the last measurement; of an equilibrium the most iterations."""
    stepper = arrays.simulation.stepper
    return round(arrays.last / stepper.dt) if isinstance(stepper, TimeStepper) else SEARCH


def _unit(found: dict[str, Any], key: str, given: Any) -> Any:
    """The array of (array, "km"), whose unit goes to the loss; anything else as it is."""
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str):
        given, found[key] = given
    return given


def _written(series: MeasuredSeries, label: str) -> bytes:
    """The bytes of a trajectory, as `files.measurements` reads it."""

    def fill(draft: hdf5_layout.Draft) -> None:
        for leaf, array in zip(("time", "value"), series, strict=True):
            draft.array(f"{h5md.FRAMES}/{label}/{leaf}", [array], array.shape, array.dtype)

    return b"".join(map(bytes, hdf5_layout.laid_out(fill)))


def _shown(given: Any) -> str:
    if isinstance(given, np.ndarray):
        return f"an array of shape {given.shape}"
    return "nothing" if given is None else f"a {type(given).__name__}"
