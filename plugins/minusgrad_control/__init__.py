"""Control: mechanisms by their Lagrangians; layers of a network as maps, sines of time, sensors, electrodes.

A controller reads the state by sensors and gives activations of muscles, electrodes or motors:

    z = W_1 s_1 + W_2 s_2 + ...,    h = tanh(z + b),    ...

Every layer is a `dense` map for each of its inputs and a `neuron` map. Weights and biases are parameters of
the run, which a fit seeks. Mechanisms, such as a cart with a pole, move in coordinates of any unit.
"""

from minusgrad.plugin import hookimpl


@hookimpl
def register_maps():
    """Layers, sines of time, sensors of a body, goals on way points, charges that pursue them."""
    from .electrodes import pursuit, way_point_line
    from .layers import dense, dense_vectors, neuron
    from .sensors import centre, goal_offset, offset, place, sines, velocity

    sensors = [sines, centre, offset, place, velocity, goal_offset]
    return [dense, dense_vectors, neuron, *sensors, way_point_line, pursuit]


@hookimpl
def register_energies():
    """How far nodes went; electrodes, the running cost of charges; a motor, and a pole that stands."""
    from .electrodes import electrode, running_cost
    from .losses import travel
    from .mechanisms import motor, standing

    return [travel, electrode, running_cost, motor, standing]


@hookimpl
def register_states():
    """Charges between electrodes, with goals on random ways; coordinates of mechanisms."""
    from .charges import CHARGES
    from .coordinates import STATES

    return CHARGES | STATES


@hookimpl
def register_lagrangians():
    """A double pendulum; a cart with a pole; a weight on turning ground."""
    from .mechanisms import cart_pole, double_pendulum, turning_weight

    return [double_pendulum, cart_pole, turning_weight]


@hookimpl
def register_published_values():
    """Mechanics, beside numbers on paper."""
    from .published.mechanics import ROWS

    return ROWS
