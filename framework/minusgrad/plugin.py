"""Everything that a plugin may import: the door for authors of energies, states, steppers and observers.

    from minusgrad.plugin import Datum, Node, Parameter, local_energy, ti          an energy
    from minusgrad.plugin import Body, Motion, Quantity, Record, State, quantities   an initial state
    from minusgrad.plugin import hookimpl                                          its registration
    from minusgrad.plugin import published_value                                   a row of `validate`

These names are kept from version to version, as those of `minusgrad` and `minusgrad.torch` are; every other
module may change. `ti` is the engine in use, Taichi or Quadrants; `hookimpl` marks a hook; `images`,
`input_files`, `memory`, `numpy_files` and `random` are modules; `SCHEMES` are the symplectic schemes by name.

Names are loaded when they are first used.
"""

from __future__ import annotations

from . import _door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .adjoint.chaos.member_variation import MemberVariation
    from .adjoint.chaos.variation import Variation
    from .assembly.blocks.searches import AdamBlock
    from .assembly.building.old_names import OldName
    from .assembly.contexts import Compound, CompoundContext, ObserverContext, StateContext, StepperContext
    from .assembly.ensembles.member_lanes import MemberLanes
    from .assembly.ensembles.stacked_rows import StackedRows
    from .assembly.hookspecs import hookimpl
    from .assembly.observers import Observer
    from .elements.changing.found_tuples import FoundTuples
    from .elements.node_numbers import node_numbers
    from .elements.periodic.linked_pairs import LinkedPairs
    from .energies.constraint import constraint
    from .energies.fields import Body, Fields, Grid, Hold, Motion, Quadrature, Rotation, State, ordered_sum
    from .energies.lagrangian import lagrangian
    from .energies.local_energy import TermElements, local_energy
    from .energies.local_map import At, Cell, Output, local_map
    from .energies.magnetic_field import uniform_field, vector_potential
    from .energies.pairs.cutoff import Cutoff
    from .energies.roles import Box, Datum, Linear, Node, Parameter, Spacing, Table, Time, TimeStep, Velocity
    from .energies.staged_energy import Between, Stage, staged_energy
    from .energies.staged_map import staged_map
    from .energies.term import Term
    from .energies.values.atom_labels import AtomLabels
    from .energies.written.function import function_from_source
    from .energies.written.near_zero import length, log1p, log1p_ratio
    from .energies.written.thermal_expansion import with_thermal_expansion
    from .engine import memory, random, storage
    from .engine.kernels import Code, real
    from .engine.runtime import lanes
    from .engine.special_functions import erf, erfc
    from .errors import (
        EnergyError,
        MinusgradError,
        NonFiniteError,
        RunFailedError,
        UnitError,
        UserError,
        at_key,
        choices,
        pip_line,
        printable,
    )
    from .files.bounded import images, numpy_files
    from .files.bounded.door import bounded_read
    from .files.csv_table import CsvTable
    from .files.durable import write_file
    from .files.hdf5_trust import contained_hdf5
    from .files.trajectory import Recorder
    from .plot.picture_files import figure_bytes
    from .potential.by_element.element_gradients import ElementGradients
    from .potential.by_element.linear_derivatives import LinearDerivatives
    from .potential.by_element.written_derivative import derivative_function
    from .potential.constraints.constraints import Constraints
    from .potential.potential import Potential
    from .potential.slope import Slope
    from .published.published_value import PublishedValue, Workplace, published_value
    from .scene import input_files
    from .scene.records import Quantity, Record, quantities
    from .scene.shapes import Acceleration, Cuboid, Facets, Force, Plane, Pressure, Sphere
    from .scene.solid_looks import Sheets, Tubes
    from .scene.tagged_unions import ByForm, ByKind, one_or_each, one_or_table
    from .scene.toml_records import TomlTable, read_toml
    from .scene.units import UnitSystem, rate_unit
    from .steppers.holds import Holds
    from .steppers.integrator import Integrator
    from .steppers.magnetic.force import MagneticForce, MagneticTerm
    from .steppers.minimisers.first_order import Adam
    from .steppers.minimisers.lbfgs import LBFGS
    from .steppers.minimisers.minimiser import Minimiser
    from .steppers.minimisers.outcomes import SearchStatus, Tolerances
    from .steppers.minimisers.unknowns import Unknown
    from .steppers.pressure.elasticity import elastic_constants
    from .steppers.programs.evolution import Evolution
    from .steppers.schemes import SCHEMES, Scheme, palindrome
    from .steppers.stepper import Stepper
    from .steppers.systems.parts import Consumer
    from .steppers.systems.system import System
    from .steppers.timed.flows.map_flow import MapFlow
    from .steppers.timed.flows.part_flow import PartFlow
    from .steppers.variational.variational_integrator import VariationalIntegrator
    from .symbolic.elimination.functions import least_value
    from .symbolic.stretches.functions import (
        biot_squares,
        log_stretch_squares,
        polar,
        stretch_powers,
        stretch_trace,
    )

    ti: Any

_HOMES = {
    "assembly.contexts": "Compound CompoundContext ObserverContext StateContext StepperContext",
    "assembly.blocks.searches": "AdamBlock",
    "assembly.hookspecs": "hookimpl",
    "adjoint.chaos.member_variation": "MemberVariation",
    "adjoint.chaos.variation": "Variation",
    "assembly.ensembles.member_lanes": "MemberLanes",
    "assembly.ensembles.stacked_rows": "StackedRows",
    "assembly.observers": "Observer",
    "published.published_value": "PublishedValue Workplace published_value",
    "files.trajectory": "Recorder",
    "assembly.building.old_names": "OldName",
    "elements.periodic.linked_pairs": "LinkedPairs",
    "elements.changing.found_tuples": "FoundTuples",
    "elements.node_numbers": "node_numbers",
    "energies.constraint": "constraint",
    "energies.written.function": "function_from_source",
    "energies.written.near_zero": "length log1p log1p_ratio",
    "energies.written.thermal_expansion": "with_thermal_expansion",
    "energies.pairs.cutoff": "Cutoff",
    "energies.values.atom_labels": "AtomLabels",
    "energies.fields": "Body Fields Grid Hold Motion Quadrature Rotation State ordered_sum",
    "energies.lagrangian": "lagrangian",
    "energies.local_energy": "TermElements local_energy",
    "energies.local_map": "At Cell Output local_map",
    "energies.magnetic_field": "uniform_field vector_potential",
    "energies.roles": "Box Datum Linear Node Parameter Spacing Table Time TimeStep Velocity",
    "energies.staged_energy": "Between Stage staged_energy",
    "energies.staged_map": "staged_map",
    "energies.term": "Term",
    "engine": "memory random storage",
    "engine.kernels": "Code real",
    "engine.runtime": "lanes ti",
    "engine.special_functions": "erf erfc",
    "errors": "EnergyError MinusgradError NonFiniteError RunFailedError UnitError UserError"
    " at_key choices pip_line printable",
    "files.bounded": "images numpy_files",
    "files.bounded.door": "bounded_read",
    "files.csv_table": "CsvTable",
    "files.durable": "write_file",
    "files.hdf5_trust": "contained_hdf5",
    "plot.picture_files": "figure_bytes",
    "potential.constraints.constraints": "Constraints",
    "potential.by_element.element_gradients": "ElementGradients",
    "potential.by_element.linear_derivatives": "LinearDerivatives",
    "potential.by_element.written_derivative": "derivative_function",
    "potential.potential": "Potential",
    "potential.slope": "Slope",
    "scene": "input_files",
    "scene.records": "Quantity Record quantities",
    "scene.solid_looks": "Sheets Tubes",
    "scene.shapes": "Acceleration Cuboid Facets Force Plane Pressure Sphere",
    "scene.tagged_unions": "ByForm ByKind one_or_each one_or_table",
    "scene.toml_records": "TomlTable read_toml",
    "scene.units": "UnitSystem rate_unit",
    "steppers.holds": "Holds",
    "steppers.integrator": "Integrator",
    "steppers.magnetic.force": "MagneticForce MagneticTerm",
    "steppers.minimisers.first_order": "Adam",
    "steppers.minimisers.lbfgs": "LBFGS",
    "steppers.minimisers.minimiser": "Minimiser",
    "steppers.minimisers.outcomes": "SearchStatus Tolerances",
    "steppers.minimisers.unknowns": "Unknown",
    "steppers.programs.evolution": "Evolution",
    "steppers.pressure.elasticity": "elastic_constants",
    "steppers.timed.flows.map_flow": "MapFlow",
    "steppers.timed.flows.part_flow": "PartFlow",
    "steppers.schemes": "SCHEMES Scheme palindrome",
    "steppers.stepper": "Stepper",
    "steppers.systems.parts": "Consumer",
    "steppers.systems.system": "System",
    "steppers.variational.variational_integrator": "VariationalIntegrator",
    "symbolic.elimination.functions": "least_value",
    "symbolic.stretches.functions": "biot_squares log_stretch_squares polar stretch_powers stretch_trace",
}

__all__ = [
    "LBFGS", "SCHEMES", "Acceleration", "Adam", "AdamBlock", "At", "AtomLabels", "Between", "Body", "Box",
    "ByForm", "ByKind",
    "Cell", "Code", "Compound", "CompoundContext", "Constraints", "Consumer", "CsvTable", "Cuboid", "Cutoff",
    "Datum", "ElementGradients", "EnergyError",
    "Evolution", "Facets", "Fields", "Force", "FoundTuples", "Grid", "Hold", "Holds", "Integrator",
    "Linear", "LinearDerivatives", "LinkedPairs", "MagneticForce", "MagneticTerm", "MapFlow",
    "MemberLanes", "MemberVariation", "Minimiser", "MinusgradError", "Motion", "Node", "NonFiniteError",
    "Observer", "ObserverContext", "OldName", "Output", "Parameter", "PartFlow", "Plane", "Potential",
    "Pressure", "PublishedValue", "Quadrature", "Quantity", "Record", "Recorder", "Rotation",
    "RunFailedError", "Scheme", "SearchStatus", "Sheets", "Slope", "Spacing", "Sphere", "StackedRows",
    "Stage", "State", "StateContext", "Stepper", "StepperContext", "System", "Table", "Term",
    "TermElements", "Time", "TimeStep", "Tolerances", "TomlTable", "Tubes", "UnitError", "UnitSystem",
    "Unknown", "UserError", "Variation", "VariationalIntegrator", "Velocity", "Workplace", "at_key",
    "biot_squares", "bounded_read", "choices", "constraint", "contained_hdf5", "derivative_function",
    "elastic_constants", "erf",
    "erfc",
    "figure_bytes", "function_from_source", "hookimpl", "images", "input_files", "lagrangian", "lanes",
    "least_value", "length", "local_energy", "local_map", "log1p", "log1p_ratio", "log_stretch_squares",
    "memory",
    "node_numbers", "numpy_files", "one_or_each", "one_or_table", "ordered_sum", "palindrome", "pip_line",
    "polar", "printable", "published_value", "quantities", "random", "rate_unit", "read_toml", "real",
    "staged_energy", "staged_map", "storage", "stretch_powers", "stretch_trace", "ti", "uniform_field",
    "vector_potential", "with_thermal_expansion", "write_file",
]  # fmt: skip

__getattr__, __dir__ = _door(__name__, _HOMES)
