"""Models as they are given: paths, bytes, protobufs."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import onnx
import pytest

from relay.driver import compile as compile_model
from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.hostile_models import chain, node

MODEL = chain(node("Neg", "x"))
X = np.ones((2, 3), "float32")


def test_a_model_is_given_in_any_of_these_ways(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(MODEL.SerializeToString())
    data = MODEL.SerializeToString()
    for given in (MODEL, data, bytearray(data), memoryview(data), path, str(path)):
        mod, params = from_onnx(given)  # type: ignore[arg-type]
        assert params == {}
        assert "negative" in str(mod)
    np.testing.assert_array_equal(np.asarray(compile_model(str(path))(X)), -X)


def test_errors_name_the_file_and_the_node(tmp_path: Path) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(chain(node("Neg", "missing")).SerializeToString())
    with pytest.raises(FrontendError, match=r"broken.onnx, node `y` \(Neg\)"):
        from_onnx(path)


def test_what_is_no_model() -> None:
    for given in (None, 3, [], io.BytesIO(b"")):
        with pytest.raises(FrontendError, match=r"a path, bytes or an onnx.ModelProto"):
            from_onnx(given)  # type: ignore[arg-type]


def test_a_protobuf_of_something_else() -> None:
    with pytest.raises(FrontendError, match="no graph"):
        from_onnx(onnx.OperatorSetIdProto(domain="").SerializeToString())


def test_versions_that_the_user_says_are_looked_at() -> None:
    assert "negative" in str(from_onnx(MODEL, opset=13)[0])
    for version in (0, -1, 10_000, 2**40):
        with pytest.raises(FrontendError, match="`opset`"):
            from_onnx(MODEL, opset=version)
