"""Broken files end in an error of Relay's, with bounded memory and time."""

import contextlib
from pathlib import Path

import numpy as np
import pytest

from relay.errors import RelayError
from relay.frontend import from_tensorflow
from relay.frontend.tensorflow import wire
from relay.frontend.tensorflow.bundle import read_bundle
from relay.frontend.tensorflow.snappy import decompressed
from tests.frontend.tensorflow.graphs import Function, Graph, Type, field, node, shape

RANDOM = np.random.default_rng(11)


def net() -> bytes:
    graph = Graph()
    graph.input("x", None, 4, 4, 2)
    graph.constant("w", RANDOM.standard_normal((2, 2, 2, 3)).astype("float32"))
    graph.node("y", "Conv2D", ["x", "w"], strides=[1, 1, 1, 1], padding="SAME")
    graph.node("z", "Relu", ["y"])
    return graph.bytes()


def read(data: bytes) -> None:
    with contextlib.suppress(RelayError):
        from_tensorflow(data)


def test_a_file_that_is_cut_off_is_refused() -> None:
    data = net()
    for end in range(0, len(data), max(1, len(data) // 60)):
        read(data[:end])
    with pytest.raises(RelayError, match="no graph of TensorFlow"):
        from_tensorflow(b"")


def test_changed_bytes_are_read_or_refused() -> None:
    data = np.frombuffer(net(), "uint8")
    for _ in range(200):
        changed = data.copy()
        places = RANDOM.integers(0, len(data), RANDOM.integers(1, 5))
        changed[places] = RANDOM.choice([0, 1, 127, 128, 255], len(places))
        read(changed.tobytes())


def test_nodes_that_depend_on_themselves_are_refused() -> None:
    graph = Graph()
    graph.node("a", "Relu", ["b"])
    graph.node("b", "Relu", ["a"])
    with pytest.raises(RelayError, match="depends on itself"):
        from_tensorflow(graph.bytes(), outputs=["a"])
    graph = Graph()
    graph.node("a", "Identity", ["b"])
    graph.node("b", "Identity", ["a"])
    with pytest.raises(RelayError, match="depends on itself"):
        from_tensorflow(graph.bytes(), outputs=["a"])


def test_long_chains_are_read() -> None:
    graph = Graph()
    graph.input("n0", 2)
    for number in range(3000):
        graph.node(f"n{number + 1}", "Identity", [f"n{number}"])
    mod, _ = from_tensorflow(graph.bytes())
    assert str(mod["main"].checked_type).endswith("-> Tensor[(2), float32]")


def test_functions_that_call_themselves_are_refused() -> None:
    graph = Graph()
    call = node("c", "PartitionedCall", ["x"], f=Function("again"))
    graph.function("again", {"x": "float32"}, [call], {"y": ("float32", "c:output:0")})
    graph.input("x", 2)
    graph.node("y", "PartitionedCall", ["x"], f=Function("again"))
    with pytest.raises(RelayError, match="calls itself"):
        from_tensorflow(graph.bytes())


def test_functions_that_multiply_are_refused(monkeypatch) -> None:
    monkeypatch.setattr("relay.frontend.tensorflow.graph.MOST_NODES", 2000)
    graph = Graph()
    body = [node("c", "Relu", ["x"])]
    graph.function("f0", {"x": "float32"}, body, {"y": ("float32", "c:activations:0")})
    for number in range(20):
        body = [
            node("a", "PartitionedCall", ["x"], f=Function(f"f{number}")),
            node("b", "PartitionedCall", ["a:output:0"], f=Function(f"f{number}")),
        ]
        results = {"y": ("float32", "b:output:0")}
        graph.function(f"f{number + 1}", {"x": "float32"}, body, results)
    graph.input("x", 2)
    graph.node("y", "PartitionedCall", ["x"], f=Function("f20"))
    with pytest.raises(RelayError, match="more than 2000 nodes"):
        from_tensorflow(graph.bytes())


def test_constants_of_huge_shapes_are_refused() -> None:
    huge = field(1, 1) + field(2, shape((1 << 40, 1 << 20))) + field(5, b"\0\0\0\0")
    value = field(5, field(1, "value") + field(2, field(8, huge)))
    kind = field(5, field(1, "dtype") + field(2, field(6, 1)))
    data = field(1, field(1, "c") + field(2, "Const") + kind + value)
    with pytest.raises(RelayError, match="too large"):
        from_tensorflow(data, outputs=["c"])


def test_data_of_another_size_than_its_shape_is_refused() -> None:
    wrong = field(1, 1) + field(2, shape((3,))) + field(4, b"\0" * 8)
    value = field(5, field(1, "value") + field(2, field(8, wrong)))
    data = field(1, field(1, "c") + field(2, "Const") + value)
    with pytest.raises(RelayError, match="another size than its shape"):
        from_tensorflow(data, outputs=["c"])


def test_parts_of_messages_are_counted(monkeypatch) -> None:
    monkeypatch.setattr(wire.Budget.__init__, "__defaults__", (10,))
    with pytest.raises(RelayError, match="too many parts"):
        from_tensorflow(net())


def test_numbers_that_do_not_end_are_refused() -> None:
    for data in (b"\x0a", b"\x0a\xff", b"\x08" + b"\x80" * 20, b"\x0b\x00", b"\x02\x00"):
        with pytest.raises(RelayError):
            from_tensorflow(data)


def test_compressed_blocks_are_bounded() -> None:
    assert decompressed(memoryview(b"\x04\x0cabcd"), 10) == b"abcd"
    # a literal, then a copy of what came before, which overlaps itself
    assert decompressed(memoryview(b"\x07\x04ab\x05\x02"), 10) == b"abababa"[:7]
    for data in (b"\xff\xff\xff\x7f\x00a", b"\x04\x0cab", b"\x04\x05\x01", b"\x09\x00a", b"\x04"):
        with pytest.raises(RelayError):
            decompressed(memoryview(data), 100)


def test_broken_tables_of_variables_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "variables.index"
    for data in (b"", b"x" * 100, b"\0" * 40 + (0xDB4775248B80FB57).to_bytes(8, "little")):
        path.write_bytes(data)
        with pytest.raises(RelayError):
            read_bundle(tmp_path / "variables")


def test_loops_and_branches_without_ends_are_refused() -> None:
    graph = Graph()
    graph.input("x", 2)
    graph.node("p", "Placeholder", dtype=Type("bool"))
    graph.node("s", "Switch", ["x", "p"])
    graph.node("y", "Relu", ["s:1"])
    with pytest.raises(RelayError):
        from_tensorflow(graph.bytes(), {"p": ()})
    graph = Graph()
    graph.input("x", 2)
    graph.node("e", "Enter", ["x"], frame_name="f")
    graph.node("m", "Merge", ["e", "n"])
    graph.node("n", "NextIteration", ["m"])
    graph.node("o", "Exit", ["m"])
    with pytest.raises(RelayError):
        from_tensorflow(graph.bytes(), outputs=["o"])
