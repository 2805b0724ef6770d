"""Named tensors as bytes: the format other programs read, and no trust in what is read."""

import json
import random

import ml_dtypes
import numpy as np
import pytest

import relay
from relay import nd
from relay.errors import RelayError
from relay.serialize import load_param_dict, save_param_dict


def params():
    rng = np.random.default_rng(0)
    return {
        "w": rng.standard_normal((3, 4)).astype("float32"),
        "flag": np.array(True),
        "empty": np.zeros((0, 5), "int64"),
        "half": rng.standard_normal(5).astype(ml_dtypes.bfloat16),
        "nibbles": np.array([-8, 7, 0], ml_dtypes.int4),
        "pairs": np.array([3, 0], ml_dtypes.uint2),
        "eight": np.array([1.5, -2.0], ml_dtypes.float8_e4m3fn),
        "unsigned zeros": np.array([1.5, -2.0], ml_dtypes.float8_e5m2fnuz),
        "scales": np.array([0.25, 4.0], ml_dtypes.float8_e8m0fnu),
        "six": np.array([-7.5, 0.125], ml_dtypes.float6_e2m3fn),
        "four": np.array([-6.0, 0.5], ml_dtypes.float4_e2m1fn),
        "wide": np.arange(3, dtype="float64"),
        "ünïcode": np.arange(3, dtype=">u2"),
    }


def test_names_shapes_types_and_bytes_come_back():
    given = params()
    found = load_param_dict(save_param_dict(given))
    assert list(found) == list(given)
    for name, array in given.items():
        assert isinstance(found[name], nd.NDArray)
        assert found[name].shape == array.shape
        assert found[name].dtype == array.dtype.name
        assert (
            found[name].numpy().tobytes() == array.astype(array.dtype.newbyteorder("=")).tobytes()
        )


def test_ndarrays_and_python_data_are_taken_too():
    found = load_param_dict(save_param_dict({"a": nd.array(np.ones(2)), "b": [1, 2]}))
    assert found["a"].numpy().tolist() == [1, 1]
    assert found["b"].numpy().tolist() == [1, 2]
    assert load_param_dict(save_param_dict({})) == {}


def test_bytes_follow_the_published_layout():
    data = save_param_dict({"b": np.array([1, 2], "int8"), "a": np.array([1.0], "float32")})
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    assert json.loads(data[8 : 8 + length]) == {
        "b": {"dtype": "I8", "shape": [2], "data_offsets": [4, 6]},
        "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
    }
    assert data[8 + length :] == b"\x00\x00\x80\x3f\x01\x02"


def test_four_bit_integers_are_bytes_to_others():
    data = save_param_dict({"n": np.array([-1, 2], ml_dtypes.int4)})
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert header["n"]["dtype"] == "I8"
    assert data[-2:] == b"\xff\x02"


def test_non_contiguous_arrays_are_stored_row_by_row():
    array = np.arange(6, dtype="int32").reshape(2, 3).T
    assert (load_param_dict(save_param_dict({"a": array}))["a"].numpy() == array).all()


@pytest.mark.parametrize("name", [3, None, "__metadata__"])
def test_parameters_need_names(name):
    with pytest.raises(RelayError, match="needs a name"):
        save_param_dict({name: np.ones(1)})


def packed(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "too short"),
        (b"\xff" * 8, "cut short"),
        (packed(b"{"), "not JSON"),
        (packed(b'{"a": 1, "a": 2}'), "twice"),
        (packed(b"[" * 100_000), "not JSON"),
        (packed([]), "must be a JSON object"),
        (packed({"a": {}}), "expected its dtype, shape and data_offsets"),
        (packed({"__metadata__": 3}), "must be an object"),
        (packed({"a": entry("F4")}, b"1234"), "unknown element type 'F4'"),
        (packed({"a": entry(offsets=(0, 5))}, b"1234"), "lie outside"),
        (packed({"a": entry(offsets=(-1, 4))}, b"1234"), "lie outside"),
        (packed({"a": entry(offsets=(4, 0))}, b"1234"), "lie outside"),
        (packed({"a": entry(shape=(2,))}, b"1234"), "takes 8 bytes, found 4"),
        (packed({"a": entry(shape=(2**62, 2**62))}, b"1234"), "does not fit in memory"),
        (packed({"a": entry(shape=(1,) * 1000)}, b"1234"), "not the shape"),
        (packed({"a": entry(shape=("x",))}, b"1234"), "not the shape"),
        (packed({"a": entry()}, b"12345"), "belong to no parameter"),
        (packed({"a": entry(), "b": entry()}, b"1234"), "overlap"),
        (packed({"a": entry(offsets=(2, 6))}, b"123456"), "leave a gap"),
        (packed({"a": entry("BOOL", (4,))}, b"\x00\x01\x02\x00"), "no bool"),
        (
            packed({"a": entry("I8", (4,)), "__metadata__": {"relay.dtype.a": "int4"}}, b"1234"),
            "no int4",
        ),
        (
            packed({"a": entry(), "__metadata__": {"relay.dtype.a": "int4"}}, b"1234"),
            "is not stored as F32",
        ),
    ],
)
def test_wrong_bytes_are_refused_with_a_reason(data, message):
    with pytest.raises(RelayError, match=message):
        load_param_dict(data)


def test_only_bytes_are_read():
    with pytest.raises(RelayError, match="read from bytes"):
        load_param_dict("text")


@pytest.mark.parametrize("seed", range(10))
def test_garbled_bytes_load_or_raise_relay_errors(seed):
    choices = random.Random(seed)
    data = save_param_dict(params())
    for _ in range(300):
        garbled = bytearray(data)
        for _ in range(choices.randrange(1, 4)):
            garbled[choices.randrange(len(garbled))] = choices.randrange(256)
        if choices.random() < 0.3:
            del garbled[choices.randrange(len(garbled)) :]
        try:
            load_param_dict(bytes(garbled))
        except RelayError as error:
            assert len(str(error)) < 500


def test_the_functions_are_public():
    assert relay.save_param_dict is save_param_dict
    assert relay.load_param_dict is load_param_dict


def test_parameters_are_saved_by_name():
    with pytest.raises(RelayError, match="saved by name, found list"):
        save_param_dict([1])
