"""Recurrent layers against ONNX Runtime: directions, activations, lengths, peepholes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay.driver import compile as compile_model
from relay.errors import EvaluationError, FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, model

STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 2
CHANCE = np.random.default_rng(7)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def drawn(*shape: int) -> np.ndarray:
    return CHANCE.standard_normal(shape).astype("float32")


def layer(kind: str, directions: int = 1, *more: Any, **attributes: Any) -> tuple[Any, list[Any]]:
    rows = GATES[kind] * HIDDEN
    shapes = attributes.pop("shapes", None)
    x = drawn(STEPS, BATCH, INPUTS)
    weights = [
        Fixed(drawn(directions, rows, INPUTS)),
        Fixed(drawn(directions, rows, HIDDEN)),
        Fixed(drawn(directions, 2 * rows)),
    ]
    outputs = 3 if kind == "LSTM" else 2
    made = model(
        kind, x, *weights, *more, opset=14, outputs=outputs, hidden_size=HIDDEN, shapes=shapes,
        **attributes,
    )  # fmt: skip
    given = [x, *(one for one in more if one is not None and not isinstance(one, Fixed))]
    return made, given


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", GATES)
def test_every_direction(kind: str, direction: str) -> None:
    made, given = layer(kind, 2 if direction == "bidirectional" else 1, direction=direction)
    agree(made, *given)


@pytest.mark.parametrize("kind", GATES)
def test_sequences_of_different_lengths_and_states(kind: str) -> None:
    lengths = np.array([5, 2, 3], "int32")
    states = [drawn(2, BATCH, HIDDEN)] * (2 if kind == "LSTM" else 1)
    made, given = layer(kind, 2, lengths, *states, direction="bidirectional")
    agree(made, *given)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("outer", [("steps", "batch"), (None, None), (None, BATCH), (STEPS, None)])
def test_a_layer_of_any_length_and_any_batch(kind: str, outer: tuple[Any, Any]) -> None:
    made, given = layer(kind, 1, shapes={0: (*outer, INPUTS)})
    agree(made, *given)
    others = zip(outer, (9, 1), strict=True)
    agree(made, drawn(*(one if isinstance(one, int) else new for one, new in others), INPUTS))


@pytest.mark.parametrize("kind", GATES)
def test_the_weights_say_how_many_inputs_a_step_has(kind: str) -> None:
    made, given = layer(kind, 1, shapes={0: (None, "batch", None)})
    agree(made, *given)
    with pytest.raises(EvaluationError, match="axis 2"):
        compile_model(*from_onnx(made))(drawn(STEPS, BATCH, INPUTS + 1))


def test_peepholes_and_a_coupled_gate() -> None:
    peepholes = Fixed(drawn(1, 3 * HIDDEN))
    made, given = layer("LSTM", 1, None, None, None, peepholes)
    agree(made, *given)
    made, given = layer("LSTM", 1, None, None, None, peepholes, input_forget=1)
    agree(made, *given)


def test_a_reset_before_the_product_and_behind_it() -> None:
    for after in (0, 1):
        made, given = layer("GRU", 1, linear_before_reset=after)
        agree(made, *given)


def test_other_activations_and_a_limit() -> None:
    made, given = layer("RNN", 1, activations=["LeakyRelu"], activation_alpha=[0.1])
    agree(made, *given)
    names = ["HardSigmoid", "ScaledTanh", "Softsign"]
    made, given = layer(
        "LSTM", 1, activations=names, activation_alpha=[0.3, 1.2], activation_beta=[0.4, 0.8]
    )
    agree(made, *given)
    made, given = layer("GRU", 1, clip=0.3)
    agree(made, *given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"activations": ["Maybe"]}, "there is no activation `Maybe`"),
        ({"activations": ["Relu", "Relu"]}, "the wrong number of activations"),
        ({"direction": "bidirectional"}, "the weights of the inputs do not fit"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    made, _ = layer("RNN", 1, **change)
    with pytest.raises(FrontendError, match=message):
        from_onnx(made)
