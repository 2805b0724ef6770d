"""What is positive for sure, and what nobody knows."""

import numpy as np
import pytest

import relay
from relay.analysis.provable_sign import Sign, Signs
from relay.analysis.value_flow import Flow
from relay.transform import InferType

HEADER = '#[version = "0.0.5"]\n'


def sign_of(expression):
    source = f'def @main(%w: Tensor[(3), float32], Weights=["w"]) {{ {expression} }}'
    main = InferType()(relay.parse(HEADER + source))["main"]
    return Signs(Flow(main)).of(main.body)


@pytest.mark.parametrize(
    "expression",
    [
        "exp(%w)",
        "sigmoid(%w)",
        "rsqrt(%w + 1f)",
        "2f",
        "abs(%w) + 1e-3f",
        "%w * %w + 1e-3f",
        "sqrt(%w * %w + 1e-3f)",
        "1f / sqrt(%w + 1e-5f)",
        "maximum(%w, 0.1f)",
        "minimum(exp(%w), 0.1f)",
        "clip(%w, a_min=0.5, a_max=2.0)",
        "power(exp(%w), %w)",
        "expand_dims(reshape(exp(%w), newshape=[3, 1]), axis=0)",
        "concatenate((exp(%w), sigmoid(%w)))",
        'cast(exp(%w), dtype="float64")',
        "mean(exp(%w))",
        "sum(exp(%w)) + 1f",
        "nn.relu(%w) + 1f",
        "variance(%w, mean(%w, keepdims=True)) + 1f",
        "ones_like(%w)",
    ],
)
def test_what_is_positive(expression):
    assert sign_of(expression) is Sign.POSITIVE


@pytest.mark.parametrize(
    "expression",
    [
        "%w",
        "%w / sqrt(%w + 1e-5f)",
        "%w + 1f",
        "exp(%w) - 1f",
        "negative(exp(%w))",
        "-1f",
        "exp(%w) * %w",
        "minimum(%w, 1f)",
        "concatenate((exp(%w), %w))",
        'cast(exp(%w), dtype="float16")',
        'cast(exp(%w), dtype="int8")',
        "tanh(exp(%w))",
        "1f / %w",
    ],
)
def test_what_nobody_knows(expression):
    assert sign_of(expression) is Sign.UNKNOWN


@pytest.mark.parametrize(
    "expression", ["abs(%w)", "%w * %w", "sqrt(%w)", "nn.relu(%w)", "0f", "sum(exp(%w))"]
)
def test_what_is_not_negative(expression):
    assert sign_of(expression) is Sign.NOT_NEGATIVE


@pytest.mark.parametrize(
    ("values", "weight", "sign"),
    [
        ([1, 2], False, Sign.POSITIVE),
        ([0, 2], False, Sign.NOT_NEGATIVE),
        ([-1, 2], False, Sign.UNKNOWN),
        ([1, np.nan], False, Sign.UNKNOWN),
        ([1, np.inf], False, Sign.UNKNOWN),
        ([1, 2], True, Sign.UNKNOWN),
    ],
)
def test_elements_of_constants_count_and_those_of_weights_do_not(values, weight, sign):
    array = np.array(values, "float32")
    constant = relay.Constant(relay.nd.Weight("w", array) if weight else relay.nd.array(array))
    assert Signs(Flow(relay.Function([], constant))).of(constant) is sign


def test_names_are_seen_through():
    source = 'def @main(%w: Tensor[(3), float32], Weights=["w"]) { let %v = exp(%w); %v * %v }'
    main = InferType()(relay.parse(HEADER + source))["main"]
    assert Signs(Flow(main)).is_positive(main.body.body)


def test_expressions_may_be_deep():
    e = relay.const(2.0)
    for _ in range(10_000):
        e = relay.sqrt(e)
    assert Signs(Flow(relay.Function([], e))).of(e) is Sign.POSITIVE
