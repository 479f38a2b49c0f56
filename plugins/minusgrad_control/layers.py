"""Layers of a network as maps over two sets of nodes, the neurons of a layer and its inputs.

    dense            z_i = sum over inputs j of w_ij s_j            s (m,), w (n, m)
    dense_vectors    z_i = sum over inputs j of w_ij . s_j          s (m, d), w (n, m, d)
    neuron           h_i = tanh(z_i + b_i)                          z, b, h (n,)

s [1] the inputs, w [1] a weight for each combination, b [1] the biases. Maps that give the same field add up:
a layer reads several fields by a `dense` map for each of them.

Source: Rumelhart, Hinton, Williams 1986, Nature 323, 533.
"""

from minusgrad.plugin import Node, Parameter, local_map, ti


@local_map(
    "dense",
    gives="z",
    over=("neuron", "input"),
    s=Node(of="input"),
    w=Parameter(about="Weight of each combination of neuron and input."),
)
def dense(s, w):
    """A dense layer's sums of its inputs, with a weight for each combination."""
    return w * s[1]


@local_map(
    "dense_vectors",
    gives="z",
    over=("neuron", "input"),
    s=Node(shape=("d",), of="input"),
    w=Parameter(
        shape=("d",), about="Weights of each combination of neuron and input, one for each component."
    ),
)
def dense_vectors(s, w):
    """A dense layer's sums of inputs that are vectors, with a weight for each of their components."""
    return w.dot(s[1])


@local_map("neuron", gives="h", over="nodes", z=Node(), b=Parameter(default=0.0, about="Bias of a neuron."))
def neuron(z, b):
    """Neurons: the hyperbolic tangent of the layer's sums and biases."""
    return ti.tanh(z[0] + b)
