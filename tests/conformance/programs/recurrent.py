"""lstm: the log loss of a small recurrent network with diagonal weights, predicting the next item of a sequence."""

from __future__ import annotations

import itertools
from typing import Any

import numpy

from tests.conformance.programs.program import Program

LAYERS, BITS, LENGTH = 2, 5, 12
SEQUENCE = (numpy.random.default_rng(12).uniform(size=(LENGTH, BITS)) > 0.5).astype(float)


def sigmoid(np: Any, x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def loss(np: Any, weights: Any, biases: Any, ends: Any, states: Any) -> Any:
    """
    weights, biases: (LAYERS, 4, BITS), of the gates forget, ingoing, outgoing and change; ends: (3, BITS), the scales of input and
    output and the offset of the output; states: (LAYERS, 2, BITS), hidden and cell of each layer at the start.
    """
    hidden, cell = list(states[:, 0]), list(states[:, 1])
    total = 0.0
    for now, after in itertools.pairwise(SEQUENCE):
        x = now * ends[0]
        for layer in range(LAYERS):
            w, b = weights[layer], biases[layer]
            forget = sigmoid(np, x * w[0] + b[0])
            ingoing = sigmoid(np, hidden[layer] * w[1] + b[1])
            outgoing = sigmoid(np, x * w[2] + b[2])
            change = np.tanh(hidden[layer] * w[3] + b[3])
            cell[layer] = cell[layer] * forget + ingoing * change
            hidden[layer] = outgoing * np.tanh(cell[layer])
            x = hidden[layer]
        said = x * ends[1] + ends[2]
        total = total + np.sum(after * (said - np.log(2 + np.sum(np.exp(said)))))
    return -total / ((LENGTH - 1) * BITS)


def parameters() -> tuple[Any, ...]:
    rng = numpy.random.default_rng(13)
    shapes = ((LAYERS, 4, BITS), (LAYERS, 4, BITS), (3, BITS), (LAYERS, 2, BITS))
    return tuple(rng.normal(size=shape) for shape in shapes)


PROGRAMS = (Program("lstm", loss, parameters),)
