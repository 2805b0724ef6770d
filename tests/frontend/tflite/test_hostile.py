"""Broken files end in an error of Relay's, with bounded memory and time."""

import contextlib

import numpy as np
import pytest

from relay.errors import RelayError
from relay.frontend import from_tflite
from relay.frontend.tflite import flatbuffer
from tests.frontend.tflite.models import Case, Given, Out, build, fixed

RANDOM = np.random.default_rng(11)


def net() -> bytes:
    given = [RANDOM.standard_normal((1, 4, 4, 2)).astype("float32")]
    given += [
        Given(RANDOM.standard_normal(shape).astype("float32"), fixed=True)
        for shape in ((3, 2, 2, 2), (3,))
    ]
    return build(Case("CONV_2D", given, [Out()], "Conv2DOptions", {"strideH": 1, "strideW": 1}))


def read(data: bytes) -> None:
    with contextlib.suppress(RelayError):
        from_tflite(data)


def test_a_file_that_is_cut_off_is_refused() -> None:
    data = net()
    for end in range(0, len(data), max(1, len(data) // 60)):
        read(data[:end])
    with pytest.raises(RelayError, match="is no TFLite model"):
        from_tflite(data[:7])


def test_changed_bytes_are_read_or_refused() -> None:
    data = np.frombuffer(net(), "uint8")
    for _ in range(300):
        changed = data.copy()
        places = RANDOM.integers(0, len(data), RANDOM.integers(1, 5))
        changed[places] = RANDOM.choice([0, 1, 127, 128, 255], len(places))
        read(changed.tobytes())


def test_tables_that_refer_to_each_other_too_often_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(flatbuffer.Steps.__init__, "__defaults__", (10,))
    with pytest.raises(RelayError, match="refer to each other too often"):
        from_tflite(net())


def test_impossible_shapes_are_refused() -> None:
    for shape in ((-2, 12), (-1, -1), (5, 7)):
        x = np.zeros((2, 3, 4), "float32")
        with pytest.raises(RelayError):
            from_tflite(build(Case("RESHAPE", [x, fixed(shape)], [Out()], "ReshapeOptions")))


def test_data_of_another_size_than_its_shape_is_refused() -> None:
    case = Case(
        "ADD", [np.zeros(3, "float32"), Given(np.zeros(3, "float16"), fixed=True, kind="FLOAT32")]
    )
    with pytest.raises(RelayError, match="data of another size than its shape"):
        from_tflite(build(case))
