"""Models of MXNet as modules: files, names, open sizes, and what is refused."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from relay.errors import FrontendError, RelayError
from relay.frontend import from_mxnet
from relay.frontend.mxnet import params as files
from relay.frontend.mxnet.converters import Table
from tests.frontend.mxnet.models import HERE, cases, same

RANDOM = np.random.default_rng(5)
PARAMS = (HERE / "small.params").read_bytes()


def symbol(*nodes: Any, heads: Any = None) -> str:
    """A symbol of nodes `(operator, name, inputs, attributes)`."""
    listed = [
        {"op": operator, "name": name, "inputs": [[one, 0, 0] for one in inputs], "attrs": attrs}
        for operator, name, inputs, attrs in nodes
    ]
    return json.dumps(
        {"nodes": listed, "arg_nodes": [], "heads": heads or [[len(nodes) - 1, 0, 0]]}
    )


NET = symbol(
    ("null", "data", [], {}),
    ("null", "w", [], {}),
    ("FullyConnected", "fc", [0, 1], {"num_hidden": "2", "no_bias": "True"}),
    ("Activation", "act", [2], {"act_type": "relu"}),
)


def test_parameters_are_read_from_their_format() -> None:
    found = files.read(PARAMS)
    assert {name: (one.shape, str(one.dtype)) for name, one in found.items()} == {
        "arg:w": ((2, 3), "float32"),
        "aux:m": ((4,), "float32"),
        "arg:i": ((2,), "int64"),
    }
    np.testing.assert_array_equal(found["arg:i"], [1, 2])


def test_the_file_of_parameters_beside_a_symbol_is_found(tmp_path: Path) -> None:
    (tmp_path / "net-symbol.json").write_text(NET)
    (tmp_path / "net-0003.params").write_bytes(PARAMS)
    (tmp_path / "net-0001.params").write_bytes(b"old")
    data = RANDOM.standard_normal((4, 3)).astype("float32")
    weight = files.read(PARAMS)["arg:w"]
    mod, params = from_mxnet(tmp_path / "net-symbol.json", {"data": (None, 3)})
    assert "Tensor[(n0, 3), float32]" in str(mod["main"].checked_type) and set(params) == {"w"}
    exe = relay.compile(mod, params)
    for rows in (1, 4):
        same(exe(data[:rows]), np.maximum(data[:rows] @ weight.T, 0))


def test_weights_are_arrays_or_a_file_and_names_say_their_kind() -> None:
    weight = files.read(PARAMS)["arg:w"]
    for given in (PARAMS, {"w": weight}, {"arg:w": weight}):
        _, params = from_mxnet(NET, {"data": (4, 3)}, arg_params=given)
        np.testing.assert_array_equal(params["w"].numpy(), weight)


def test_a_variable_without_shape_and_value_is_named() -> None:
    with pytest.raises(FrontendError, match="neither a shape nor a value"):
        from_mxnet(NET, arg_params=PARAMS)
    with pytest.raises(FrontendError, match="no input `dota`"):
        from_mxnet(NET, {"dota": (4, 3)}, arg_params=PARAMS)


def test_all_unsupported_operators_are_named_at_once() -> None:
    text = symbol(
        ("null", "x", [], {}),
        ("Odd", "a", [0], {}),
        ("Custom", "b", [1], {}),
        ("Odd", "c", [2], {}),
    )
    with pytest.raises(FrontendError) as caught:
        from_mxnet(text, {"x": (1,)})
    assert "operator `Odd`, 2 times: `a`, `c`" in str(caught.value)
    assert "operator `Custom`, 1 time: `b`" in str(caught.value)


def test_operators_of_ones_own_are_converted() -> None:
    mine = Table()

    @mine("Odd")
    def odd(node: Any, data: Any) -> Any:
        return data * node.number(node.real("by", 1.0), data)

    text = symbol(("null", "x", [], {}), ("Odd", "a", [0], {"by": "3"}))
    mod, _ = from_mxnet(text, {"x": (2,)}, operators=[mine])
    same(relay.compile(mod)(np.ones(2, "float32")), np.full(2, 3.0))


def test_errors_name_the_node_and_the_attribute() -> None:
    text = symbol(
        ("null", "x", [], {}), ("clip", "cut", [0], {"a_min": "__import__", "a_max": "1"})
    )
    with pytest.raises(FrontendError, match="attribute `a_min` is of another type") as caught:
        from_mxnet(text, {"x": (2,)})
    assert "clip `cut`" in str(caught.value)


def test_loops_become_recursive_functions() -> None:
    case = next(one for one in cases() if one.name.startswith("foreach#"))
    shapes = {name: one.shape for name, one in case.inputs.items()}
    mod, _ = from_mxnet(case.symbol, shapes)
    assert "%loop(" in mod.astext()


# --- files nobody should trust -------------------------------------------------------------------


def test_broken_symbols_are_refused() -> None:
    cyclic = symbol(("relu", "a", [1], {}), ("relu", "b", [0], {}))
    itself = symbol(("relu", "a", [0], {}))
    beyond = symbol(("null", "x", [], {}), heads=[[7, 0, 0]])
    deep: Any = {"nodes": [], "heads": [], "arg_nodes": []}
    for _ in range(20):
        node = {"op": "_foreach", "name": "f", "inputs": [], "subgraphs": [deep]}
        deep = {"nodes": [node], "heads": [[0, 0, 0]], "arg_nodes": []}
    for text in (cyclic, itself, beyond, json.dumps(deep), "{", "[]", "[" * 10_000, '{"nodes": 3}'):
        with pytest.raises(RelayError):
            from_mxnet(text.encode(), {"x": (1,)})


def test_changed_symbols_are_read_or_refused() -> None:
    chosen = [
        one for one in cases() if one.name.split("#")[0] in ("foreach", "cond", "while", "RNN")
    ]
    for case in chosen[:4]:
        shapes = {name: one.shape for name, one in case.inputs.items()}
        text = np.frombuffer(case.symbol.encode(), "uint8")
        for _ in range(40):
            changed = text.copy()
            places = RANDOM.integers(0, len(text), RANDOM.integers(1, 4))
            changed[places] = RANDOM.choice([*b'0-"]}n[9,'], len(places))
            try:
                from_mxnet(changed.tobytes(), shapes)
            except RelayError:
                continue


def test_broken_parameters_are_refused() -> None:
    for end in range(len(PARAMS)):
        with pytest.raises(RelayError):
            files.read(PARAMS[:end])
    huge = struct.pack("<QQQIiI", files.LIST, 0, 1, files.SECOND, 0, 2) + struct.pack(
        "<qq", 1 << 40, 1 << 20
    )
    for data in (huge + bytes(40), struct.pack("<QQQ", files.LIST, 0, 1 << 60), b""):
        with pytest.raises(RelayError):
            files.read(data)
    data = np.frombuffer(PARAMS, "uint8")
    for _ in range(300):
        changed = data.copy()
        places = RANDOM.integers(0, len(data), RANDOM.integers(1, 5))
        changed[places] = RANDOM.choice([0, 1, 127, 128, 255], len(places))
        try:
            files.read(changed.tobytes())
        except RelayError:
            continue


def test_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    given = '"name": "data", "inputs": [], "attrs": {'
    text = NET.replace(given, given + '"__shape__": "(4, 3)"')
    (tmp_path / "net-symbol.json").write_text(text)
    (tmp_path / "net-0000.params").write_bytes(PARAMS)
    data = RANDOM.standard_normal((4, 3)).astype("float32")
    wanted = np.maximum(data @ files.read(PARAMS)["arg:w"].T, 0)
    for form in (tmp_path / "net-symbol.json", str(tmp_path / "net-symbol.json")):
        same(relay.compile(form)(data), wanted)
