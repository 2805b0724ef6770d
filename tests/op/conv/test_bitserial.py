"""Integers of few bits: packing them, and products of what is packed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay
from relay import nn
from relay.check.infer import infer_expr
from relay.errors import TypeCheckError
from relay.ir.expr import Var
from relay.ir.types import TensorType
from relay.op.opdef import get

GENERATOR = np.random.default_rng(0)


def tensor(*shape: Any, dtype: str = "uint8") -> Var:
    return relay.var("x", TensorType(shape, dtype))


def run(name: str, *args: Any, **attrs: Any) -> Any:
    return get(name).reference(*args, **dict(get(name).make_attrs(attrs).items()))


def test_the_first_element_is_in_the_highest_bit() -> None:
    data = np.array([3, 0, 1, 2, 0, 0, 0, 2], "uint8")
    found = run("nn.bitpack", data, bits=2, pack_axis=0, bit_axis=0, pack_type="uint8")
    assert found.tolist() == [[0b10100000], [0b10010001]]


def test_the_python_function_puts_the_bits_third() -> None:
    call = nn.bitpack(tensor(2, 64, 5, 5), bits=3)
    assert infer_expr(call).checked_type == TensorType((2, 2, 3, 5, 5), "uint32")
    attrs = nn.bitserial_conv2d(tensor(1, 8, 5, 5), tensor(4, 8, 3, 3)).attrs
    assert (attrs.pack_dtype, attrs.out_dtype) == ("uint32", "int16")


@pytest.mark.parametrize("unipolar", [True, False])
@pytest.mark.parametrize("word", ["uint8", "uint16", "uint32", "uint64"])
def test_a_packed_weight_is_the_weight(word: str, unipolar: bool) -> None:
    data = GENERATOR.integers(0, 4, (2, 64, 5, 4)).astype("uint8")
    weight = GENERATOR.integers(0, 8, (3, 64, 3, 2)).astype("uint8")
    attrs: dict[str, Any] = {
        "kernel_size": (3, 2),
        "activation_bits": 2,
        "weight_bits": 3,
        "pack_dtype": word,
        "out_dtype": "int32",
        "unipolar": unipolar,
    }
    packed = run("nn.bitpack", weight, bits=3, pack_axis=1, bit_axis=4, pack_type=word)
    expected = run("nn.bitserial_conv2d", data, weight, **attrs)
    np.testing.assert_array_equal(run("nn.bitserial_conv2d", data, packed, **attrs), expected)


def test_one_bit_weights_are_signs_or_truths() -> None:
    data, weight = np.array([[3, 1]], "int16"), np.array([[1, 0], [1, 1]], "int16")
    assert run("nn.bitserial_dense", data, weight, data_bits=2).tolist() == [[2, 4]]
    found = run("nn.bitserial_dense", data, weight, data_bits=2, unipolar=False)
    assert found.tolist() == [[3, 4]]


def test_higher_bits_do_not_count() -> None:
    data, weight = np.array([[0b1101]], "uint8"), np.array([[0b0110]], "uint8")
    found = run("nn.bitserial_dense", data, weight, data_bits=2, weight_bits=2, unipolar=False)
    assert found.item() == 0b01 * 0b10


REFUSED: list[tuple[Any, str]] = [
    (nn.bitpack(tensor(1, 30)), "elements do not fill words"),
    (nn.bitpack(tensor(1, 32), bits=0), "`bits` is out of range"),
    (nn.bitpack(tensor(1, 32), pack_type="int32"), "`pack_type` does not hold bits"),
    (nn.bitpack(tensor(1, 32), bit_axis=4), "`bit_axis` is out of range"),
    (nn.bitpack(tensor(1, 32, dtype="float32")), "argument `data` has the wrong element type"),
    (
        nn.bitserial_conv2d(tensor(1, 8, 5, 5), tensor(4, 6, 3, 3)),
        "input channels of data and weight differ",
    ),
    (
        nn.bitserial_conv2d(tensor(1, 8, 5, 5), tensor(4, 1, 3, 3, 1)),
        "packed weights have the wrong element type",
    ),
    (
        nn.bitserial_conv2d(tensor(1, 8, 5, 5), tensor(4, 1, 3, 3, 2), pack_dtype="uint8"),
        "packed bits and `weight_bits` differ",
    ),
    (nn.bitserial_dense(tensor(2, 8), tensor(4, 6)), "last extents of data and weight differ"),
    (
        nn.bitserial_dense(tensor(2, 8), tensor(4, 8), out_dtype="float32"),
        "`out_dtype` does not hold integers",
    ),
]


@pytest.mark.parametrize(("expr", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_what_has_no_type_is_refused_in_words(expr: Any, message: str) -> None:
    with pytest.raises(TypeCheckError) as error:
        infer_expr(expr)
    first = error.value.diagnostics[0]
    assert message in first.message
    assert first.expected and first.found
