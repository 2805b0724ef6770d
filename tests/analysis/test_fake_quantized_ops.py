"""Operators on floats between conversions are counted."""

import relay
from relay.analysis import list_fake_quantized_op_freqs

HEADER = '#[version = "0.0.5"]\n'
PARAMS = "%q: Tensor[(2, 3), uint8], %x: Tensor[(2, 3), float32]"
REAL = 'qnn.dequantize(%q, 0.5f, 3, out_dtype="float32")'


def whole(body):
    return f'qnn.quantize({body}, 0.5f, 3, out_dtype="uint8")'


def counted(body):
    return list_fake_quantized_op_freqs(relay.parse(f"{HEADER}def @main({PARAMS}) {{ {body} }}"))


def test_what_stands_between_conversions_counts():
    assert counted(whole(f"nn.relu(add({REAL}, 1f))")) == {"nn.relu": 1, "add": 1}


def test_it_is_found_through_names_and_tuples():
    body = f"let %a = {REAL}; let %b = exp(%a); {whole('concatenate((%a, %b))')}"
    assert counted(body) == {"exp": 1, "concatenate": 1}


def test_what_two_conversions_need_counts_once():
    body = f"let %a = exp({REAL}); ({whole('%a')}, {whole('nn.relu(%a)')})"
    assert counted(body) == {"exp": 1, "nn.relu": 1}


def test_other_numbers_make_it_no_such_region():
    assert counted(whole(f"add({REAL}, %x)")) == {}
    assert counted(whole("exp(%x)")) == {}
    assert counted(f"exp({REAL})") == {}
