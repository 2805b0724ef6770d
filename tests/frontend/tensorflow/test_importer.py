"""Models of TensorFlow as modules: weights, names, sizes that are left open, what is refused."""

from pathlib import Path

import numpy as np
import pytest

import relay
from relay.errors import FrontendError
from relay.frontend import from_tensorflow
from relay.frontend.tensorflow.converters import Table
from tests.frontend.tensorflow.graphs import Graph, Type, field

RANDOM = np.random.default_rng(3)


def real(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype("float32")


WEIGHT, BIAS = real(3, 3, 3, 4), real(4)


def convolution() -> bytes:
    graph = Graph()
    graph.input("x", None, None, 8, 3)
    graph.constant("w", WEIGHT)
    graph.node("read", "Identity", ["w"])
    graph.constant("b", BIAS)
    graph.node("sums", "Conv2D", ["x", "read"], strides=[1, 2, 1, 1], padding="SAME")
    graph.node("y", "BiasAdd", ["sums", "b"])
    return graph.bytes()


def convolved(x: np.ndarray) -> np.ndarray:
    """The same in float64."""
    batch, height, width, _ = x.shape
    rows = -(-height // 2)
    total = max((rows - 1) * 2 + 3 - height, 0)
    framed = np.pad(x, ((0, 0), (total // 2, total - total // 2), (1, 1), (0, 0)))
    found = np.zeros((batch, rows, width, 4))
    for i in range(rows):
        for j in range(width):
            window = framed[:, 2 * i : 2 * i + 3, j : j + 3].astype("float64")
            found[:, i, j] = np.einsum("nhwc,hwco->no", window, WEIGHT) + BIAS
    return found


def test_weights_of_layers_are_parameters_by_name() -> None:
    mod, params = from_tensorflow(convolution())
    assert {name: one.shape for name, one in params.items()} == {"w": (3, 3, 3, 4), "b": (4,)}
    assert [one.name_hint for one in mod["main"].params] == ["x", "w", "b"]
    assert mod["main"].attrs["output_tensor_names"] == ("y",)


def test_images_stay_as_they_are_unless_asked_for() -> None:
    mod, _ = from_tensorflow(convolution())
    assert 'data_layout="NHWC"' in mod.astext()
    mod, params = from_tensorflow(convolution(), layout="NCHW")
    assert "NHWC" not in mod.astext().replace('src_layout="NHWC"', "").replace(
        'dst_layout="NHWC"', ""
    )
    x = real(2, 6, 8, 3)
    found = relay.compile(mod, params)(x)
    np.testing.assert_allclose(found, convolved(x), rtol=1e-4, atol=1e-4)
    with pytest.raises(FrontendError, match="no such layout"):
        from_tensorflow(convolution(), layout="CHWN")


def test_no_transform_stays_between_convolutions() -> None:
    graph = Graph()
    graph.input("x", 1, 8, 8, 3)
    graph.constant("w", WEIGHT)
    graph.constant("v", real(3, 3, 4, 4))
    graph.constant("b", BIAS)
    graph.node("first", "Conv2D", ["x", "w"], strides=[1, 1, 1, 1], padding="SAME")
    graph.node("more", "BiasAdd", ["first", "b"])
    graph.node("above", "Relu6", ["more"])
    graph.node("y", "Conv2D", ["above", "v"], strides=[1, 1, 1, 1], padding="SAME")
    mod, _ = from_tensorflow(graph.bytes(), layout="NCHW")
    text = mod.astext()
    # of the image, of the result, and of the weights
    assert text.count('src_layout="NHWC"') == 1
    assert text.count('dst_layout="NHWC"') == 1


def test_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    x = real(1, 6, 8, 3)
    path = tmp_path / "net.model"
    path.write_bytes(convolution())
    for form in (path, str(path), convolution()):
        found = relay.compile(form)(x)
        np.testing.assert_allclose(found, convolved(x), rtol=1e-4, atol=1e-4)


def test_sizes_that_are_left_open_are_variables() -> None:
    mod, params = from_tensorflow(convolution())
    assert "Tensor[(n0, d1, 8, 3), float32]" in str(mod["main"].checked_type)
    exe = relay.compile(mod, params)
    for batch, height in ((1, 5), (2, 6), (7, 9)):
        x = real(batch, height, 8, 3)
        np.testing.assert_allclose(exe(x), convolved(x), rtol=1e-4, atol=1e-4)


def test_shapes_can_be_given_and_results_chosen() -> None:
    for name in ("x", "x:0"):
        mod, _ = from_tensorflow(convolution(), {name: (1, 9, 8, 3)}, outputs=["sums"])
        text = str(mod["main"].checked_type)
        assert "Tensor[(1, 9, 8, 3), float32]" in text
        assert text.endswith("-> Tensor[(1, 5, 8, 4), float32]")
    with pytest.raises(FrontendError, match="has no input `z`"):
        from_tensorflow(convolution(), {"z": (1,)})
    with pytest.raises(FrontendError, match="has no output `z`"):
        from_tensorflow(convolution(), outputs=["z"])


def test_inputs_of_unknown_rank_need_a_shape() -> None:
    graph = Graph()
    graph.node("x", "Placeholder", dtype=Type("float32"))
    graph.node("y", "Relu", ["x"])
    with pytest.raises(FrontendError, match="how many axes input `x` has"):
        from_tensorflow(graph.bytes())
    mod, _ = from_tensorflow(graph.bytes(), {"x": (2, 3)})
    assert str(mod["main"].checked_type).endswith("-> Tensor[(2, 3), float32]")


def unsupported() -> bytes:
    graph = Graph()
    graph.input("x", 2)
    graph.node("a", "MyOperator", ["x"], by=3)
    graph.node("b", "StringJoin", ["a"])
    graph.node("c", "MyOperator", ["b"])
    graph.node("unused", "Another", ["x"])
    return graph.bytes()


def test_all_unsupported_operators_are_named_at_once() -> None:
    with pytest.raises(FrontendError) as caught:
        from_tensorflow(unsupported(), outputs=["c"])
    text = str(caught.value)
    assert "operator `MyOperator`, 2 times: `c`, `a`" in text
    assert "operator `StringJoin`, 1 time: `b`" in text
    assert "Another" not in text


def test_operators_of_ones_own_are_a_table() -> None:
    mine = Table()

    @mine("MyOperator")
    def times(node, data):
        return data * node.number(node.integer("by", 2), data)

    mod, params = from_tensorflow(unsupported(), outputs=["a"], operators=[mine])
    np.testing.assert_array_equal(relay.compile(mod, params)(np.ones(2, "float32")), [3, 3])


def test_errors_name_the_node() -> None:
    graph = Graph()
    graph.input("x", 2, 3)
    graph.constant("order", np.array([0, 0], "int32"))
    graph.node("turned", "Transpose", ["x", "order"])
    with pytest.raises(FrontendError, match=r"node `turned` \(Transpose\)"):
        from_tensorflow(graph.bytes())


def test_shapes_that_a_graph_computes_keep_their_names() -> None:
    graph = Graph()
    graph.input("x", None, 3, 4)
    for name, value in (("zero", [0]), ("one", [1])):
        graph.constant(name, np.array(value, "int32"))
    graph.constant("rest", np.array(12, "int32"))
    graph.node("whole", "Shape", ["x"])
    masks = {"shrink_axis_mask": 1}
    graph.node("batch", "StridedSlice", ["whole", "zero", "one", "one"], **masks)
    graph.node("wanted", "Pack", ["batch", "rest"], axis=0)
    graph.node("y", "Reshape", ["x", "wanted"])
    mod, _ = from_tensorflow(graph.bytes())
    assert str(mod["main"].checked_type).endswith("-> Tensor[(n0, 12), float32]")


def test_what_only_messages_need_is_left_out() -> None:
    graph = Graph()
    graph.input("x", 2)
    graph.node("text", "StringFormat", ["x"])
    graph.node("check", "Assert", ["x", "text"])
    graph.node("y", "Relu", ["x", "^check"])
    mod, _ = from_tensorflow(graph.bytes())
    assert "nn.relu" in mod.astext()


def test_a_saved_model_is_read_with_its_variables(tmp_path: Path) -> None:
    folder = saved_model(tmp_path / "model")
    x = real(2, 6, 8, 3)
    mod, params = from_tensorflow(folder)
    assert [one.name_hint for one in mod["main"].params] == ["image", "b", "layer/kernel"]
    assert mod["main"].attrs["output_tensor_names"] == ("scores",)
    np.testing.assert_array_equal(params["layer/kernel"].numpy(), WEIGHT)
    found = relay.compile(str(folder))(x)
    np.testing.assert_allclose(found, convolved(x), rtol=1e-4, atol=1e-4)
    with pytest.raises(FrontendError, match="no signature `other`"):
        from_tensorflow(folder, signature="other")
    with pytest.raises(FrontendError, match="no graph with these tags"):
        from_tensorflow(folder, tags=["train"])


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FrontendError, match="is no saved model"):
        relay.compile(tmp_path)


def test_variables_that_end_early_are_refused(tmp_path: Path) -> None:
    folder = saved_model(tmp_path / "model")
    data = folder / "variables" / "variables.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(FrontendError, match="ends before the data"):
        from_tensorflow(folder)


def saved_model(folder: Path) -> Path:
    """A saved model with one variable, as version 1 of TensorFlow restores it."""
    graph = Graph()
    graph.input("x", None, None, 8, 3)
    graph.node("v", "VarHandleOp", dtype=Type("float32"), shared_name="layer/kernel")
    graph.node("read", "ReadVariableOp", ["v"], dtype=Type("float32"))
    graph.constant("b", BIAS)
    graph.node("sums", "Conv2D", ["x", "read"], strides=[1, 2, 1, 1], padding="SAME")
    graph.node("y", "BiasAdd", ["sums", "b"])
    key = field(1, 7) + field(2, field(2, field(1, 1))) + field(8, "the key")
    value = field(5, field(1, "value") + field(2, field(8, key)))
    graph.nodes.append(field(1, "keys") + field(2, "Const") + value)
    graph.node("restored", "RestoreV2", ["file", "keys", "keys"])
    graph.node("assign", "AssignVariableOp", ["v", "restored"])
    graph.node("file", "Placeholder", dtype=Type("string"))
    extents = b"".join(field(2, field(1, one)) for one in (-1, -1, 8, 3))
    given = field(1, "x:0") + field(2, 1) + field(3, extents)
    result = field(1, "y:0") + field(2, 1)
    signature = field(1, field(1, "image") + field(2, given))
    signature += field(2, field(1, "scores") + field(2, result))
    meta = field(1, field(4, "serve")) + field(2, graph.bytes())
    meta += field(5, field(1, "serving_default") + field(2, signature))
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(field(1, 1) + field(2, meta))
    data = folder / "variables" / "variables.data-00000-of-00001"
    data.write_bytes(WEIGHT.tobytes())
    dims = b"".join(field(2, field(1, one)) for one in WEIGHT.shape)
    entry = field(1, 1) + field(2, dims) + field(5, WEIGHT.nbytes)
    entries = {b"": field(1, 1), b"the key": entry}
    (folder / "variables" / "variables.index").write_bytes(table(entries))
    return folder


def table(entries: dict[bytes, bytes]) -> bytes:
    """A sorted table of one block."""
    from tests.frontend.tensorflow.graphs import varint

    def block(content: dict[bytes, bytes]) -> bytes:
        found = b""
        for key, value in content.items():
            found += varint(0) + varint(len(key)) + varint(len(value)) + key + value
        return found + bytes(4) + (1).to_bytes(4, "little")

    data = block(entries)
    index = block({b"z": varint(0) + varint(len(data))})
    whole = data + bytes(5) + index + bytes(5)
    handles = varint(0) + varint(0) + varint(len(data) + 5) + varint(len(index))
    magic = (0xDB4775248B80FB57).to_bytes(8, "little")
    return whole + handles.ljust(40, b"\0") + magic
