"""Subgraphs and variables give what LiteRT gives."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import relay
from relay.errors import FrontendError
from relay.frontend import from_tflite
from tests.frontend.tflite.models import Interpreter, Writer, build, litert, ours
from tests.frontend.tflite.recurrent_cases import recurrent


class Graph:
    """A subgraph being written, of float32 tensors unless something else is said."""

    def __init__(self, writer: Writer, name: str) -> None:
        self.writer, self.graph = writer, writer.graph(name)
        self.count = 0

    def tensor(self, shape: Sequence[int] = (2,), dtype: str = "float32", data: Any = None) -> int:
        self.count += 1
        array = None if data is None else np.asarray(data, dtype)
        shape = shape if array is None else array.shape
        return self.writer.tensor(self.graph, f"{self.graph.name}{self.count}", dtype, shape, array)

    def input(self, *given: Any) -> int:
        number = self.tensor(*given)
        self.graph.inputs.append(number)
        return number

    def call(self, name: str, inputs: Sequence[int], *outputs: int, **options: Any) -> None:
        kind = options.pop("kind", "")
        self.writer.operator(self.graph, name, inputs, outputs, kind, options)

    def of(self, name: str, inputs: Sequence[int], *given: Any, **options: Any) -> int:
        number = self.tensor(*given)
        self.call(name, inputs, number, **options)
        return number


def branches() -> bytes:
    """`if (flag) x + x else x * x`"""
    writer = Writer()
    main = Graph(writer, "main")
    flag, x = main.input((), "bool"), main.input()
    main.graph.outputs = [
        main.of("IF", [flag, x], kind="IfOptions", thenSubgraphIndex=1, elseSubgraphIndex=2)
    ]
    for name in ("ADD", "MUL"):
        branch = Graph(writer, name)
        y = branch.input()
        kind = f"{name.title()}Options"
        branch.graph.outputs = [branch.of(name, [y, y], kind=kind)]
    return writer.bytes()


def loop(*, grows: bool = False) -> bytes:
    """`while (i < 5) { i = i + 1; x = x + x }`, where x may also be joined to itself."""
    writer = Writer()
    main = Graph(writer, "main")
    i, x = main.input((), "int32"), main.input()
    outs = [main.tensor((), "int32"), main.tensor()]
    options = {"kind": "WhileOptions", "condSubgraphIndex": 1, "bodySubgraphIndex": 2}
    main.call("WHILE", [i, x], *outs, **options)
    main.graph.outputs = outs
    test = Graph(writer, "cond")
    i, _ = test.input((), "int32"), test.input()
    five = test.tensor(data=5, dtype="int32")
    test.graph.outputs = [test.of("LESS", [i, five], (), "bool", kind="LessOptions")]
    body = Graph(writer, "body")
    i, x = body.input((), "int32"), body.input()
    one = body.tensor(data=1, dtype="int32")
    following = body.of("ADD", [i, one], (), "int32", kind="AddOptions")
    if grows:
        twice = body.of("CONCATENATION", [x, x], (4,), kind="ConcatenationOptions", axis=0)
    else:
        twice = body.of("ADD", [x, x], kind="AddOptions")
    body.graph.outputs = [following, twice]
    return writer.bytes()


@pytest.mark.parametrize("compiled", [False, True])
def test_a_branch_is_taken(compiled: bool) -> None:
    model, x = branches(), np.array([3.0, -4.0], "float32")
    for flag in (True, False):
        feeds = [np.array(flag), x]
        wanted = litert(model, feeds)
        np.testing.assert_array_equal(ours(model, feeds, compiled=compiled), wanted)


@pytest.mark.parametrize("grows", [False, True])
def test_a_loop_runs_as_long_as_its_condition_holds(grows: bool) -> None:
    model, x = loop(grows=grows), np.array([3.0, -4.0], "float32")
    for first in (0, 3, 9):
        feeds = [np.array(first, "int32"), x]
        for one, other in zip(ours(model, feeds), litert(model, feeds), strict=True):
            np.testing.assert_array_equal(one, other)
    found = ours(model, [np.array(2, "int32"), x], compiled=True)
    np.testing.assert_array_equal(found[0], 5)


def counter(*, in_branch: bool = False) -> bytes:
    """`total = total + x`, from 10 on; perhaps only where the first element is above 0."""
    writer = Writer()
    main = Graph(writer, "main")
    x = main.input()
    first = Graph(writer, "first")

    def handle(graph: Graph) -> int:
        options = {"kind": "VarHandleOptions", "sharedName": "total"}
        return graph.of("VAR_HANDLE", [], (), "RESOURCE", **options)

    def add(graph: Graph, x: int) -> None:
        place = handle(graph)
        old = graph.of("READ_VARIABLE", [place])
        new = graph.of("ADD", [old, x], kind="AddOptions")
        graph.call("ASSIGN_VARIABLE", [place, new])

    first.call("ASSIGN_VARIABLE", [handle(first), first.tensor(data=[10.0, 20.0])])
    main.call("CALL_ONCE", [], kind="CallOnceOptions", initSubgraphIndex=1)
    if in_branch:
        least = main.of("REDUCE_MIN", [x, main.tensor(data=[0], dtype="int32")], ())
        test = main.of("GREATER", [least, main.tensor(data=0.0)], (), "bool")
        options = {"kind": "IfOptions", "thenSubgraphIndex": 2, "elseSubgraphIndex": 3}
        main.of("IF", [test, x], **options)
        for name in ("yes", "no"):
            branch = Graph(writer, name)
            y = branch.input()
            if name == "yes":
                add(branch, y)
            branch.graph.outputs = [branch.of("NEG", [y])]
    else:
        add(main, x)
    main.graph.outputs = [main.of("READ_VARIABLE", [handle(main)])]
    return writer.bytes()


@pytest.mark.parametrize("in_branch", [False, True])
def test_variables_are_state(in_branch: bool) -> None:
    exe = relay.compile(counter(in_branch=in_branch))
    total = np.array([10.0, 20.0], "float32")
    for x in ([1.0, 2.0], [-5.0, 5.0], [3.0, 3.0]):
        if not in_branch or min(x) > 0:
            total += np.array(x, "float32")
        np.testing.assert_array_equal(exe(np.array(x, "float32")), total)
    np.testing.assert_array_equal(exe.state["total"].numpy(), total)


def test_subgraphs_that_call_themselves_are_refused() -> None:
    writer = Writer()
    main = Graph(writer, "main")
    flag, x = main.input((), "bool"), main.input()
    options = {"kind": "IfOptions", "thenSubgraphIndex": 0, "elseSubgraphIndex": 0}
    main.graph.outputs = [main.of("IF", [flag, flag, x], **options)]
    with pytest.raises(FrontendError, match="calls itself"):
        from_tflite(writer.bytes())
    main.graph.operators[0].builtinOptions.elseSubgraphIndex = 9
    main.graph.operators[0].builtinOptions.thenSubgraphIndex = 9
    with pytest.raises(FrontendError, match="a subgraph that is not there"):
        from_tflite(writer.bytes())


def test_states_of_recurrent_layers_are_kept() -> None:
    cases = {case.operator: case for case in recurrent()}
    for name in ("LSTM", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"):
        case = cases[name]
        if len(case.outputs) > 1:
            continue
        model = build(case)
        session = Interpreter(model_content=model)
        session.allocate_tensors()
        exe = relay.compile(model)
        for _ in range(3):
            session.set_tensor(session.get_input_details()[0]["index"], case.feeds[0])
            session.invoke()
            wanted = session.get_tensor(session.get_output_details()[0]["index"])
            np.testing.assert_allclose(exe(*case.feeds), wanted, rtol=2e-2, atol=2e-2)
