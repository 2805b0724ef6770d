"""Branches, loops and scans: as the language has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import relay
from relay.errors import EvaluationError, FrontendError, RelayError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import agree, main_type, of_graph, value

X = np.array([[1, -2, 3], [4, 5, -6]], "float32")


def graph(nodes: Any, inputs: Any, outputs: Any) -> onnx.GraphProto:
    return helper.make_graph(nodes, "inner", inputs, outputs)


def name(of: str) -> onnx.ValueInfoProto:
    return onnx.ValueInfoProto(name=of)


# --- If


def branch(then: Any, otherwise: Any, shape: Any = (2, 3)) -> onnx.ModelProto:
    node = helper.make_node(
        "If", ["c"], ["y"],
        then_branch=graph([then], [], [name(then.output[0])]),
        else_branch=graph([otherwise], [], [name(otherwise.output[0])]),
    )  # fmt: skip
    return of_graph([node], [value("c", bool, ()), value("x", "float32", shape)], [name("y")])


def test_a_branch_sees_what_is_around_it() -> None:
    made = branch(helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"]))
    for condition in (True, False):
        agree(made, np.array(condition), X)


def test_branches_of_different_sizes_have_an_open_one() -> None:
    then = helper.make_node("Concat", ["x", "x"], ["a"], axis=0)
    made = branch(then, helper.make_node("Neg", ["x"], ["b"]))
    assert main_type(from_onnx(made)[0]) == "Tensor[(?, 3), float32]"
    for condition in (True, False):
        agree(made, np.array(condition), X)


def test_a_branch_that_is_known_is_all_there_is() -> None:
    constant = helper.make_node("Constant", [], ["k"], value_int=1)
    truth = helper.make_node("Cast", ["k"], ["c"], to=onnx.TensorProto.BOOL)
    node = helper.make_node(
        "If", ["c"], ["y"],
        then_branch=graph([helper.make_node("Relu", ["x"], ["a"])], [], [name("a")]),
        else_branch=graph([helper.make_node("Flatten", ["x"], ["b"], axis=0)], [], [name("b")]),
    )  # fmt: skip
    made = of_graph([constant, truth, node], [value("x", "float32", (2, 3))], [name("y")])
    assert "if" not in str(from_onnx(made)[0]["main"])
    agree(made, X)


def test_branches_of_different_ranks_are_refused() -> None:
    then = helper.make_node("Flatten", ["x"], ["a"], axis=0)
    made = branch(then, helper.make_node("Squeeze", ["x"], ["b"]), shape=(1, 3))
    with pytest.raises(FrontendError, match="the branches give values of different types"):
        from_onnx(made)


def way(*nodes: onnx.NodeProto) -> onnx.GraphProto:
    return graph([*nodes], [], [name(nodes[-1].output[0])])


def product(result: str) -> tuple[onnx.NodeProto, ...]:
    """A product that means nothing for `x` with 3 columns."""
    ones = helper.make_node(
        "Constant", [], [f"{result}_w"], value=numpy_helper.from_array(np.ones((4, 5), "float32"))
    )
    return ones, helper.make_node("MatMul", ["x", f"{result}_w"], [result], name="product")


@pytest.mark.parametrize("kind", ["native", "vm", "debug"])
def test_a_branch_that_what_is_given_does_not_fit_ends_the_run_that_takes_it(kind: str) -> None:
    node = helper.make_node(
        "If", ["c"], ["y"],
        then_branch=way(helper.make_node("Relu", ["x"], ["a"])), else_branch=way(*product("b")),
    )  # fmt: skip
    made = of_graph([node], [value("c", bool, ()), value("x", "float32", (2, 3))], [name("y")])
    module, params = from_onnx(made)
    # what is left is the type of the other branch
    assert main_type(module) == "Tensor[(2, 3), float32]"
    if kind == "native":
        run = relay.compile(module, params)
    else:
        run = relay.create_executor(kind, module).evaluate()
    np.testing.assert_array_equal(np.asarray(run(np.array(True), X)), np.maximum(X, 0))
    with pytest.raises(EvaluationError, match="MatMul: ") as found:
        run(np.array(False), X)
    assert "product" in str(found.value)


def test_an_if_none_of_whose_branches_fits_is_refused_or_a_dead_end_itself() -> None:
    inner = helper.make_node(
        "If", ["c"], ["d"], then_branch=way(*product("a")), else_branch=way(*product("b"))
    )
    inputs = [value("c", bool, ()), value("x", "float32", (2, 3))]
    with pytest.raises(FrontendError, match="MatMul: "):
        from_onnx(of_graph([inner], inputs, [name("d")]))
    outer = helper.make_node(
        "If", ["c"], ["y"],
        then_branch=way(helper.make_node("Neg", ["x"], ["e"])), else_branch=way(inner),
    )  # fmt: skip
    run = relay.compile(of_graph([outer], inputs, [name("y")]))
    np.testing.assert_array_equal(run(np.array(True), X), -X)
    with pytest.raises(EvaluationError, match="MatMul: "):
        run(np.array(False), X)


@pytest.mark.parametrize(
    "wrong",
    [
        helper.make_node("Pool", ["x"], ["b"]),  # no operator
        helper.make_node("Cast", ["x"], ["b"]),  # without its attribute
        helper.make_node("Relu", ["z"], ["b"]),  # of nothing
        helper.make_node("Pad", ["x", "c"], ["b"], mode="crop"),
    ],
    ids=lambda node: node.op_type,
)
def test_a_branch_that_is_no_model_is_refused(wrong: onnx.NodeProto) -> None:
    made = branch(helper.make_node("Relu", ["x"], ["a"]), wrong)
    with pytest.raises(RelayError, match=wrong.op_type):
        from_onnx(made)


# --- Loop


def loop(body: onnx.GraphProto, inputs: Any, outputs: Any, described: Any) -> onnx.ModelProto:
    node = helper.make_node("Loop", inputs, outputs, body=body)
    return of_graph([node], described, [name(one) for one in outputs])


COUNTED = graph(
    [
        helper.make_node("Add", ["s", "x"], ["s2"]),
        helper.make_node("Neg", ["s2"], ["row"]),
        helper.make_node("Identity", ["go"], ["on"]),
    ],
    [value("i", "int64", ()), value("go", bool, ()), name("s")],
    [value("on", bool, ()), name("s2"), name("row")],
)


def test_a_loop_counts_and_collects() -> None:
    described = [value("m", "int64", ()), value("x", "float32", ("n", 3))]
    made = loop(COUNTED, ["m", "", "x"], ["y", "rows"], described)
    for turns in (1, 2, 7):
        for rows in (1, 2):
            agree(made, np.array(turns), X[:rows])
    agree(made, np.array(0), X, wanted=[X, np.zeros((0, 2, 3), "float32")])


def collecting() -> onnx.ModelProto:
    """Rows of four floats, as many as there are iterations."""
    body = graph(
        [
            helper.make_node("Cast", ["i"], ["number"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Mul", ["number", "x"], ["row"]),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        [value("i", "int64", ()), value("go", bool, ())],
        [value("on", bool, ()), name("row")],
    )
    return loop(body, ["m"], ["rows"], [value("m", "int64", ()), value("x", "float32", (4,))])


def check_collected(turns: int, memory: int) -> None:
    x = np.array([0.5, 1, 2, -1], "float32")
    found = relay.compile(*from_onnx(collecting()), memory=memory)(np.array(turns), x)
    wanted = np.arange(turns, dtype="float32")
    assert all(np.array_equal(found[:, place], wanted * x[place]) for place in range(4))


def test_rows_take_little_more_room_than_their_elements() -> None:
    """Twice, as the last ones are put together; a list of tensors would take a hundred bytes more
    for each of them."""
    check_collected(1_000_000, memory=48 << 20)


@pytest.mark.full
def test_ten_million_rows_are_collected_in_less_than_a_gigabyte() -> None:
    check_collected(10_000_000, memory=600 << 20)


def test_a_loop_ends_when_its_condition_does() -> None:
    body = graph(
        [
            helper.make_node("Add", ["s", "x"], ["s2"]),
            helper.make_node("Less", ["s2", "most"], ["on"]),
        ],
        [value("i", "int64", ()), value("go", bool, ()), name("s")],
        [value("on", bool, ()), name("s2")],
    )
    described = [value("x", "float32", ()), value("most", "float32", ())]
    made = loop(body, ["", "", "x"], ["y"], described)
    for most in (-1.0, 20.0, 33.5):
        agree(made, np.array(2.5, "float32"), np.array(most, "float32"))


def test_a_state_may_grow() -> None:
    body = graph(
        [
            helper.make_node("Concat", ["s", "x"], ["s2"], axis=0),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        [value("i", "int64", ()), value("go", bool, ()), name("s")],
        [value("on", bool, ()), name("s2")],
    )
    described = [value("m", "int64", ()), value("x", "float32", (2, 3))]
    made = loop(body, ["m", "", "x"], ["y"], described)
    assert main_type(from_onnx(made)[0]) == "Tensor[(?, 3), float32]"
    for turns in (0, 3):
        agree(made, np.array(turns), X)


WORDS, WIDTH = 11, 4


def decoder() -> onnx.ModelProto:
    """Greedy decoding: tokens grow by the most likely one, a cache by its key, and the scores of
    every step are collected."""
    random = np.random.default_rng(0)
    weights = {
        "embedding": random.standard_normal((WORDS, WIDTH)),
        "key": random.standard_normal((WIDTH, WIDTH)),
        "head": random.standard_normal((WIDTH, WORDS)),
    }
    node = helper.make_node
    body = graph(
        [
            node("Gather", ["tokens", "last"], ["token"], axis=1),
            node("Gather", ["embedding", "token"], ["x"]),
            node("MatMul", ["x", "key"], ["k"]),
            node("Unsqueeze", ["k", "one"], ["newest"]),
            node("Concat", ["cache", "newest"], ["keys"], axis=1),
            node("Unsqueeze", ["x", "one"], ["query"]),
            node("Transpose", ["keys"], ["turned"], perm=[0, 2, 1]),
            node("MatMul", ["query", "turned"], ["scores"]),
            node("Softmax", ["scores"], ["shares"], axis=-1),
            node("MatMul", ["shares", "keys"], ["found"]),
            node("MatMul", ["found", "head"], ["logits"]),
            node("ArgMax", ["logits"], ["next"], axis=2, keepdims=0),
            node("Concat", ["tokens", "next"], ["longer"], axis=1),
            node("Squeeze", ["logits", "one"], ["row"]),
            node("Identity", ["go"], ["on"]),
        ],
        [value("i", "int64", ()), value("go", bool, ()), name("tokens"), name("cache")],
        [value("on", bool, ()), name("longer"), name("keys"), name("row")],
    )
    decode = node("Loop", ["m", "", "start", "empty"], ["all", "end", "rows"], body=body)
    constants = [numpy_helper.from_array(one.astype("float32"), n) for n, one in weights.items()]
    constants += [
        numpy_helper.from_array(np.zeros((2, 0, WIDTH), "float32"), "empty"),
        numpy_helper.from_array(np.array(-1), "last"),
        numpy_helper.from_array(np.array([1]), "one"),
    ]
    described = [value("m", "int64", ()), value("start", "int64", (2, "length"))]
    return of_graph([decode], described, [name(one) for one in decode.output], constants, 17)


def test_a_decoder_grows_its_tokens_and_its_cache() -> None:
    made = decoder()
    for turns, begin in ((9, [[1], [2]]), (2, [[3, 4, 5], [6, 7, 8]])):
        tokens, cache, _ = agree(made, np.array(turns), np.array(begin), atol=1e-5)
        assert (tokens.shape[1], cache.shape[1]) == (len(begin[0]) + turns, turns)


def changing(nodes: Any, first: Any, **constants: Any) -> onnx.ModelProto:
    """A loop whose state these nodes compute: `s2` of `s` and the number `i` of the iteration."""
    body = graph(
        [*nodes, helper.make_node("Identity", ["go"], ["on"])],
        [value("i", "int64", ()), value("go", bool, ()), name("s")],
        [value("on", bool, ()), name("s2")],
    )
    node = helper.make_node("Loop", ["m", "", "first"], ["y"], body=body)
    given = {"first": np.asarray(first, "float32"), **constants}
    weights = [numpy_helper.from_array(np.asarray(one), n) for n, one in given.items()]
    return of_graph([node], [value("m", "int64", ())], [name("y")], weights, 17)


@pytest.mark.parametrize("first", [np.zeros(0), 0.0, np.zeros((0, 0, 0))])
def test_a_sequence_may_begin_as_a_tensor_of_no_meaning(first: Any) -> None:
    """The first turn takes the new element, the others concatenate."""
    new = [value("x", "float32", (2, 1, 4))]
    begin = graph([helper.make_node("Identity", ["x"], ["a"])], [], [name("a")])
    go_on = graph([helper.make_node("Concat", ["s", "x"], ["b"], axis=1)], [], [name("b")])
    nodes = [
        helper.make_node("Equal", ["i", "zero"], ["is_first"]),
        helper.make_node("If", ["is_first"], ["s2"], then_branch=begin, else_branch=go_on),
    ]
    made = changing(nodes, first, zero=np.array(0))
    made.graph.input.extend(new)
    x = np.arange(8, dtype="float32").reshape(2, 1, 4)
    for turns in (1, 3):
        agree(made, np.array(turns), x)


@pytest.mark.parametrize(("first", "shape"), [(np.ones((2, 3)), [-1]), ([1], []), (1.0, [1])])
def test_a_state_may_change_its_axes_in_the_first_turn(first: Any, shape: list[int]) -> None:
    reshape = helper.make_node("Reshape", ["s", "shape"], ["s2"])
    made = changing([reshape], first, shape=np.array(shape, "int64"))
    agree(made, np.array(3))
    exe = relay.compile(made)
    if np.size(first) == 1:
        assert exe(np.array(0)).item() == 1
        return
    with pytest.raises(relay.RelayError, match=r"no more than 0 iterations.*other axes"):
        exe(np.array(0))


def test_a_state_with_more_axes_in_every_turn_is_refused() -> None:
    unsqueeze = helper.make_node("Unsqueeze", ["s", "zero"], ["s2"])
    made = changing([unsqueeze], np.ones(3), zero=np.array([0]))
    with pytest.raises(
        FrontendError, match="iterations of the loop give values of different types"
    ):
        from_onnx(made)


def test_a_body_that_does_not_fit_is_refused() -> None:
    described = [value("m", "int64", ()), value("x", "float32", (2, 3))]
    made = loop(COUNTED, ["m", "", "x", "x"], ["y", "z", "rows"], described)
    with pytest.raises(FrontendError, match="the body does not fit"):
        from_onnx(made)


# --- Scan


def test_a_scan_runs_along_axes_in_both_directions() -> None:
    body = graph(
        [helper.make_node("Add", ["s", "r"], ["s2"]), helper.make_node("Neg", ["s2"], ["row"])],
        [name("s"), name("r")],
        [name("s2"), name("row")],
    )
    for axis, back, out_axis, out_back in ((0, 0, 0, 0), (0, 1, 0, 1), (1, 1, 1, 0)):
        node = helper.make_node(
            "Scan", ["x0", "x"], ["y", "rows"], body=body, num_scan_inputs=1,
            scan_input_axes=[axis], scan_input_directions=[back],
            scan_output_axes=[out_axis], scan_output_directions=[out_back],
        )  # fmt: skip
        size = 2 if axis else 3
        described = [value("x0", "float32", (size,)), value("x", "float32", (2, 3))]
        made = of_graph([node], described, [name("y"), name("rows")])
        agree(made, np.zeros(size, "float32"), X)
