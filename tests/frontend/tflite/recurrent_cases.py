"""Recurrent layers of TFLite with options away from their defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.frontend.tflite.models import Case, Given, Out

RANDOM = np.random.default_rng(11)
TANH, RELU = 4, 1
BATCH, STEPS, INPUTS, CELLS = 2, 5, 3, 4


def weight(*shape: int) -> Given:
    return Given(RANDOM.uniform(-0.6, 0.6, shape).astype("float32"), fixed=True)


def hybrid(*shape: int) -> Given:
    return Given(RANDOM.integers(-127, 128, shape).astype("int8"), 0.005, 0, fixed=True)


def state(*shape: int) -> Given:
    return Given(np.zeros(shape, "float32"), is_state=True)


def data(*shape: int) -> Given:
    return Given(RANDOM.uniform(-2, 2, shape).astype("float32"))


def sequence(time_major: bool) -> Given:
    return data(*((STEPS, BATCH) if time_major else (BATCH, STEPS)), INPUTS)


def direction(
    out: int, *, coupled: bool, peephole: bool, projected: bool, make: Any = weight
) -> list[Given | None]:
    """Weights of an LSTM, its peepholes, biases and projection."""
    first = 1 if coupled else 0
    inputs = [None if at < first else make(CELLS, INPUTS) for at in range(4)]
    states = [None if at < first else make(CELLS, out) for at in range(4)]
    peepholes = [weight(CELLS) if peephole and at >= first else None for at in range(3)]
    biases = [None if at < first else weight(CELLS) for at in range(4)]
    projection = [make(out, CELLS), weight(out)] if projected else [None, None]
    return [*inputs, *states, *peepholes, *biases, *projection]


def recurrent() -> Iterator[Case]:
    for time_major, function in ((False, TANH), (True, RELU)):
        options = {"timeMajor": time_major, "fusedActivationFunction": function}
        given = [sequence(time_major), weight(CELLS, INPUTS), weight(CELLS, CELLS), weight(CELLS)]
        yield Case(
            "UNIDIRECTIONAL_SEQUENCE_RNN", [*given, state(BATCH, CELLS)], [Out()],
            "SequenceRNNOptions", options,
        )  # fmt: skip
    given = [data(BATCH, INPUTS), weight(CELLS, INPUTS), weight(CELLS, CELLS), weight(CELLS)]
    options = {"fusedActivationFunction": TANH}
    yield Case("RNN", [*given, state(BATCH, CELLS)], [Out()], "RNNOptions", options)
    for merged in (True, False):
        options = {"timeMajor": False, "fusedActivationFunction": TANH, "mergeOutputs": merged}
        given = [sequence(False)]
        for _ in range(2):
            given += [weight(CELLS, INPUTS), weight(CELLS, CELLS), weight(CELLS)]
            given += [state(BATCH, CELLS)]
        outs = [Out()] * (1 if merged else 2)
        yield Case(
            "BIDIRECTIONAL_SEQUENCE_RNN", [*given, None, None, None], outs,
            "BidirectionalSequenceRNNOptions", options,
        )  # fmt: skip
    yield from lstms()
    for rank, biased in ((1, True), (2, False)):
        given = [data(BATCH, INPUTS), weight(4 * rank, INPUTS), weight(4 * rank, 6)]
        given += [weight(4) if biased else None, state(BATCH, 6 * 4 * rank)]
        options = {"rank": rank, "fusedActivationFunction": RELU if biased else 0}
        yield Case("SVDF", given, [Out()], "SVDFOptions", options)


def lstms() -> Iterator[Case]:
    for time_major, coupled, peephole, projected, normed, clip in (
        (False, False, False, False, False, 0.0),
        (True, False, False, False, False, 0.3),
        (False, True, False, False, False, 0.0),
        (False, False, True, False, False, 0.0),
        (True, True, True, True, False, 0.0),
        (False, False, False, True, False, 0.2),
        (False, False, False, False, True, 0.0),
        (False, False, True, True, True, 0.5),
    ):
        out = 2 if projected else CELLS
        options = {
            "timeMajor": time_major,
            "fusedActivationFunction": TANH,
            "cellClip": clip,
            "projClip": clip,
        }
        made = direction(out, coupled=coupled, peephole=peephole, projected=projected)
        states = [state(BATCH, out), state(BATCH, CELLS)]
        norms = [weight(CELLS) for _ in range(4)] if normed else []
        given = [sequence(time_major), *made, *states, *norms]
        kind = "UnidirectionalSequenceLSTMOptions"
        yield Case("UNIDIRECTIONAL_SEQUENCE_LSTM", given, [Out()], kind, options)
        options = {key: value for key, value in options.items() if key != "timeMajor"}
        given = [data(BATCH, INPUTS), *made, *states, *norms]
        yield Case("LSTM", given, [Out()], "LSTMOptions", options)
    made = direction(CELLS, coupled=False, peephole=False, projected=False, make=hybrid)
    states = [state(BATCH, CELLS), state(BATCH, CELLS)]
    options = {"timeMajor": False, "fusedActivationFunction": TANH}
    kind = "UnidirectionalSequenceLSTMOptions"
    given = [sequence(False), *made, *states]
    # LiteRT rounds data and states to 8 bits
    yield Case("UNIDIRECTIONAL_SEQUENCE_LSTM", given, [Out()], kind, options, rtol=2e-2)
    for merged in (True, False):
        options = {"timeMajor": True, "fusedActivationFunction": TANH, "mergeOutputs": merged}
        given = [sequence(True)]
        for _ in range(2):
            given += direction(CELLS, coupled=False, peephole=False, projected=False)
        given += [state(BATCH, CELLS) for _ in range(4)]
        outs = [Out()] * (1 if merged else 2)
        yield Case(
            "BIDIRECTIONAL_SEQUENCE_LSTM", [*given, *[None] * 9], outs,
            "BidirectionalSequenceLSTMOptions", options,
        )  # fmt: skip
    given = [data(BATCH, INPUTS), data(BATCH, CELLS), weight(4 * CELLS, INPUTS + CELLS)]
    given += [weight(4 * CELLS), data(BATCH, CELLS)]
    options = {"fusedActivationFunction": TANH, "kernelType": 1}
    yield Case("LSTM", given, [Out()] * 4, "LSTMOptions", options, version=2)
