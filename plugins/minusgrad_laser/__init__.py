"""Laser deposition: a spot moves along a path, and its dose shall match a target picture."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_maps():
    """The beam, its planned motion, its dose along a path, the material's answer, and sums for losses."""
    from .dose.blanking import blanking
    from .dose.constant_power import constant_power_dose
    from .dose.dwell import clock, dwell
    from .dose.even_power import even_power
    from .dose.gaussian_beam import gaussian_beam_dose
    from .dose.spots import gaussian_dose, stencil_dose
    from .dose.stencil_lines import drawn_line, stencil_convolution
    from .losses.overlap import overlap
    from .machine.planned_motion import planned_motion, planned_motion_by_jerk
    from .machine.power_slew import power_slew
    from .materials.blur import blur, open_blur
    from .materials.response_table import depth_table
    from .materials.responses import linear_response, sigmoid_threshold
    from .materials.thermal_memory import thermal_memory, warm_power

    return [
        blanking,
        *(stencil_dose, gaussian_dose, gaussian_beam_dose, constant_power_dose),
        *(even_power, drawn_line, stencil_convolution),
        *(dwell, clock, thermal_memory, warm_power),
        *(linear_response, sigmoid_threshold, depth_table, blur, open_blur),
        overlap,
        *(planned_motion, planned_motion_by_jerk, power_slew),
    ]


@hookimpl
def register_energies():
    """How far the dose, or the developed map, is from the target; what the path costs."""
    from .losses.edge_placement import edge_placement
    from .losses.exposure_limits import dose_hinge, over_dose
    from .losses.overlap import soft_overlap
    from .losses.path_costs import curvature, job_time, travel_length
    from .losses.pixel_differences import dose_l1, dose_l2

    return [
        *(dose_l2, dose_l1, soft_overlap, edge_placement, dose_hinge, over_dose),
        *(job_time, curvature, travel_length),
    ]


@hookimpl
def register_compounds():
    """The loss averaged over errors of dose and focus."""
    from .process_window import COMPOUNDS

    return COMPOUNDS


@hookimpl
def register_states():
    """A path over a canvas with a target."""
    from .states import STATES

    return STATES


@hookimpl
def register_observers():
    """The dose on the canvas, its error, and the path that leaves it."""
    from .observers import OBSERVERS

    return OBSERVERS


@hookimpl
def register_steppers():
    """Adam for a path, with schedules of parameters and edits of the path."""
    from .search.steppers import STEPPERS

    return STEPPERS


@hookimpl
def register_file_descriptions():
    """What a drawing contains."""
    from .drawings.description import describe_drawing, endings

    return dict.fromkeys(endings(), describe_drawing)


@hookimpl
def register_published_values():
    """The error of a dose beside the certified bound of all doses."""
    from .published import deposition

    return deposition.ROWS
