"""Controllers of programs: layers of a network as maps, sines of time, sensors of a body.

A controller reads the state by sensors and gives activations of muscles, electrodes or motors:

    z = W_1 s_1 + W_2 s_2 + ...,    h = tanh(z + b),    ...

Every layer is a `dense` map for each of its inputs and a `neuron` map. Weights and biases are parameters of
the run, which a fit seeks.
"""

from minusgrad.plugin import hookimpl


@hookimpl
def register_maps():
    """Layers, sines of time, the centre of a body, offsets from it, velocities, the way to a goal."""
    from .layers import dense, dense_vectors, neuron
    from .sensors import centre, goal_offset, offset, sines, velocity

    return [dense, dense_vectors, neuron, sines, centre, offset, velocity, goal_offset]


@hookimpl
def register_energies():
    """How far nodes went."""
    from .losses import travel

    return [travel]
