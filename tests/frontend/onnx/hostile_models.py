"""Models that nobody in their right mind would write: each is to be refused, or to work.

A model is made by a function with a name that says what is wrong with it; `REFUSED` are those that
nothing can be made of, `EITHER` those that may mean something.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tests.frontend.onnx.oracle import of_graph, value

Builder = Callable[[], ModelProto]
REFUSED: dict[str, Builder] = {}
EITHER: dict[str, Builder] = {}


def refused(builder: Builder) -> Builder:
    REFUSED[builder.__name__] = builder
    return builder


def either(builder: Builder) -> Builder:
    EITHER[builder.__name__] = builder
    return builder


def named(*names: str) -> list[onnx.ValueInfoProto]:
    return [onnx.ValueInfoProto(name=name) for name in names]


X = value("x", "float32", (2, 3))


def chain(
    *nodes: NodeProto,
    inputs: Sequence[onnx.ValueInfoProto] = (X,),
    outputs: Sequence[str] = ("y",),
    constants: Sequence[TensorProto] = (),
    opset: int = 21,
) -> ModelProto:
    return of_graph(nodes, inputs, named(*outputs), constants, opset)


def node(operator: str, *inputs: str, to: str = "y", **attributes: Any) -> NodeProto:
    return helper.make_node(operator, list(inputs), [to], **attributes)


def weight(dims: Sequence[int], kind: int = TensorProto.FLOAT, **fields: Any) -> ModelProto:
    """x + w, where the tensor w has these fields."""
    tensor = TensorProto(name="w", dims=dims, data_type=kind, **fields)
    return chain(node("Add", "x", "w"), constants=[tensor])


def sizes(*numbers: int) -> TensorProto:
    return numpy_helper.from_array(np.array(numbers, "int64"), "sizes")


# --- graphs ----------------------------------------------------------------------------------


@refused
def a_graph_that_is_empty_but_for_an_output() -> ModelProto:
    return chain()


@refused
def a_node_that_needs_itself() -> ModelProto:
    return chain(node("Add", "x", "y"))


@refused
def nodes_in_a_circle() -> ModelProto:
    nodes = [node("Relu", f"v{(place + 1) % 50}", to=f"v{place}") for place in range(50)]
    return chain(*nodes, node("Relu", "v0"))


@refused
def a_circle_through_a_subgraph() -> ModelProto:
    branch = helper.make_graph([node("Relu", "y", to="inner")], "g", [], named("inner"))
    condition = value("c", "bool", ())
    return chain(node("If", "c", then_branch=branch, else_branch=branch), inputs=[X, condition])


@refused
def a_name_that_nobody_makes() -> ModelProto:
    return chain(node("Relu", "nothing"))


@refused
def an_output_that_nobody_makes() -> ModelProto:
    return chain(node("Relu", "x"), outputs=["z"])


@refused
def a_name_that_is_made_twice() -> ModelProto:
    return chain(node("Relu", "x"), node("Neg", "x"))


@refused
def a_node_that_makes_an_input() -> ModelProto:
    return chain(node("Relu", "x", to="x"), outputs=["x"])


@refused
def a_node_that_makes_one_name_twice() -> ModelProto:
    return chain(helper.make_node("Split", ["x"], ["y", "y"], num_outputs=2, axis=0))


@refused
def two_inputs_of_one_name() -> ModelProto:
    return chain(node("Relu", "x"), inputs=[X, X])


@refused
def two_weights_of_one_name() -> ModelProto:
    tensor = numpy_helper.from_array(np.ones(3, "float32"), "w")
    return chain(node("Add", "x", "w"), constants=[tensor, tensor])


@either
def no_outputs() -> ModelProto:
    return chain(node("Relu", "x"), outputs=[])


@either
def names_with_odd_characters() -> ModelProto:
    odd = 'a"b%\n\t\\`{}() let \u202e \U0001f600 \x1b[31m'
    first = value(odd, "float32", (2, odd))
    return of_graph(
        [helper.make_node("Relu", [odd], [odd + "!"], name=odd)], [first], named(odd + "!")
    )


@either
def a_name_of_a_million_characters() -> ModelProto:
    long = "x" * 1_000_000
    return of_graph([node("Relu", long)], [value(long, "float32", (2,))], named("y"))


@refused
def an_unknown_operator_with_a_name_of_a_million_characters() -> ModelProto:
    return chain(node("N" * 1_000_000, "x"))


@refused
def a_name_that_is_no_text() -> ModelProto:
    data = chain(node("Relu", "x")).SerializeToString().replace(b"Relu", b"Re\xff\xfe")
    return ModelProto.FromString(data)


# --- operator sets ---------------------------------------------------------------------------


@either
def no_operator_sets() -> ModelProto:
    model = chain(node("Relu", "x"))
    del model.opset_import[:]
    return model


@refused
def an_operator_set_of_the_future() -> ModelProto:
    return chain(node("Relu", "x"), opset=1000)


@refused
def an_operator_set_beyond_all_numbers() -> ModelProto:
    return chain(node("Relu", "x"), opset=2**62)


@refused
def a_negative_operator_set() -> ModelProto:
    return chain(node("Relu", "x"), opset=-1)


@refused
def another_operator_set_beyond_all_numbers() -> ModelProto:
    model = chain(helper.make_node("Scaler", ["x"], ["y"], domain="ai.onnx.ml"))
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 2**62))
    return model


@refused
def a_function_of_an_operator_set_of_the_future() -> ModelProto:
    return with_functions(function("f", [node("Relu", "x")], opset=2**40))


@refused
def an_operator_of_an_unknown_domain() -> ModelProto:
    return chain(helper.make_node("Relu", ["x"], ["y"], domain="nobody.knows"))


# --- attributes ------------------------------------------------------------------------------


@refused
def an_attribute_of_a_type_there_is_not() -> ModelProto:
    model = chain(node("Elu", "x", alpha=1.0))
    data = model.SerializeToString()
    # the type of the attribute, a field of its own: 20 << 3, then FLOAT
    assert data.count(b"\xa0\x01\x01") == 1
    return ModelProto.FromString(data.replace(b"\xa0\x01\x01", b"\xa0\x01\x7f"))


@refused
def an_attribute_that_says_nothing_of_its_type() -> ModelProto:
    model = chain(node("Elu", "x", alpha=1.0))
    model.graph.node[0].attribute[0].ClearField("type")
    return model


@refused
def a_graph_where_a_number_belongs() -> ModelProto:
    return chain(node("Elu", "x", alpha=helper.make_graph([], "g", [], [])))


@refused
def a_number_where_a_graph_belongs() -> ModelProto:
    condition = value("c", "bool", ())
    return chain(node("If", "c", then_branch=1, else_branch=2), inputs=[X, condition])


@refused
def an_attribute_of_a_function_outside_of_one() -> ModelProto:
    model = chain(node("Elu", "x", alpha=1.0))
    model.graph.node[0].attribute[0].ref_attr_name = "alpha"
    return model


@refused
def an_attribute_that_is_there_twice() -> ModelProto:
    model = chain(node("Elu", "x", alpha=1.0))
    model.graph.node[0].attribute.append(helper.make_attribute("alpha", 2.0))
    return model


@refused
def a_constant_with_too_few_bytes() -> ModelProto:
    tensor = TensorProto(dims=[100], data_type=TensorProto.FLOAT, raw_data=b"\0" * 8)
    return chain(node("Constant", value=tensor))


# --- tensors ---------------------------------------------------------------------------------


@refused
def a_weight_with_too_few_bytes() -> ModelProto:
    return weight([2, 3], raw_data=b"\0" * 23)


@refused
def a_weight_with_too_many_bytes() -> ModelProto:
    return weight([2, 3], raw_data=b"\0" * 25)


@refused
def a_weight_with_too_few_elements() -> ModelProto:
    return weight([2, 3], float_data=[1.0])


@refused
def a_weight_without_elements() -> ModelProto:
    return weight([2**40])


@refused
def a_weight_of_a_negative_size() -> ModelProto:
    return weight([-1], raw_data=b"")


@refused
def a_weight_of_two_negative_sizes() -> ModelProto:
    return weight([-2, -3], raw_data=b"\0" * 24)


@refused
def a_weight_beyond_all_numbers() -> ModelProto:
    return weight([2**62, 2**62, 2**62], raw_data=b"\0" * 4)


@refused
def a_weight_of_a_size_that_is_zero_in_64_bits() -> ModelProto:
    return weight([2**32, 2**32], raw_data=b"")


@refused
def a_weight_of_nothing_with_steps_beyond_all_numbers() -> ModelProto:
    return weight([0, 2**62, 2**62], raw_data=b"")


@refused
def a_weight_of_a_thousand_axes() -> ModelProto:
    return weight([1] * 1000, raw_data=b"\0" * 4)


@refused
def a_weight_of_an_unknown_type() -> ModelProto:
    return weight([1], 99, raw_data=b"\0" * 4)


@refused
def a_weight_of_strings() -> ModelProto:
    return weight([1], TensorProto.STRING, string_data=[b"a"])


@either
def halves_of_bytes_beyond_a_byte() -> ModelProto:
    tensor = TensorProto(name="w", dims=[2], data_type=TensorProto.INT4, int32_data=[-1000])
    return chain(helper.make_node("Cast", ["w"], ["y"], to=1), constants=[tensor])


def sparse(dims: Sequence[int], places: Any, elements: Any = (1.0,)) -> ModelProto:
    model = chain(node("Relu", "w"))
    made = model.graph.sparse_initializer.add()
    made.values.CopyFrom(numpy_helper.from_array(np.array(elements, "float32"), "w"))
    made.indices.CopyFrom(numpy_helper.from_array(np.array(places, "int64"), "i"))
    made.dims.extend(dims)
    return model


@refused
def a_sparse_weight_beyond_measure() -> ModelProto:
    return sparse([2**40], [0])


@refused
def a_sparse_weight_beyond_all_numbers() -> ModelProto:
    return sparse([2**62, 2**62], [0])


@refused
def a_sparse_weight_with_places_outside() -> ModelProto:
    return sparse([4], [4])


@refused
def a_sparse_weight_with_negative_places() -> ModelProto:
    return sparse([4], [-1])


@refused
def a_sparse_weight_with_too_few_places() -> ModelProto:
    return sparse([4], [0], [1.0, 2.0])


@refused
def a_sparse_weight_with_places_of_other_axes() -> ModelProto:
    return sparse([4, 4], [[0, 0, 0]])


@refused
def a_sparse_weight_of_nothing_beyond_all_numbers() -> ModelProto:
    return sparse([0, 2**62, 2**62], [0])


# --- shapes ----------------------------------------------------------------------------------


@refused
def an_input_beyond_all_numbers() -> ModelProto:
    return chain(node("Relu", "x"), inputs=[value("x", "float32", (2**62, 2**62))])


@refused
def an_input_of_a_size_that_is_zero_in_64_bits() -> ModelProto:
    return chain(node("Relu", "x"), inputs=[value("x", "float32", (2**32, 2**32))])


@refused
def an_input_of_a_thousand_axes() -> ModelProto:
    return chain(node("Relu", "x"), inputs=[value("x", "float32", (1,) * 1000)])


@refused
def an_input_that_is_a_map() -> ModelProto:
    given = helper.make_value_info("x", helper.make_map_type_proto(TensorProto.INT64, X.type))
    return chain(node("Relu", "x"), inputs=[given])


@refused
def an_input_of_no_type() -> ModelProto:
    return chain(node("Relu", "x"), inputs=named("x"))


@refused
def an_input_of_strings() -> ModelProto:
    given = helper.make_tensor_value_info("x", TensorProto.STRING, [2])
    return chain(node("Identity", "x"), inputs=[given])


@refused
def a_sequence_where_a_tensor_belongs() -> ModelProto:
    given = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, [2])
    return chain(node("Relu", "x"), inputs=[given])


@refused
def a_sequence_to_add_to() -> ModelProto:
    given = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, [2])
    return chain(node("Add", "x", "s"), inputs=[X, given])


@refused
def a_tensor_where_a_sequence_belongs() -> ModelProto:
    return chain(node("SequenceLength", "x"))


@refused
def sequences_of_sequences() -> ModelProto:
    model = chain(node("Identity", "x"))
    place = model.graph.input[0].type
    place.Clear()
    for _ in range(10_000):
        place = place.sequence_type.elem_type
    place.tensor_type.elem_type = TensorProto.FLOAT
    return model


@refused
def a_function_with_subgraphs_beyond_what_protobuf_reads() -> ModelProto:
    """Nodes of functions are copied, which protobuf does only so far down."""
    model = with_functions(function("f", [node("Relu", "x")], ["alpha"]), alpha=1.0)
    del model.functions[0].node[:]
    made = model.functions[0].node.add(op_type="If", input=["x"], output=["y"])
    place = made.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g
    for _ in range(300):
        deeper = place.node.add(op_type="If", input=["x"], output=["v"])
        place = deeper.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g
    return model


@either
def an_enormous_tensor_of_few_numbers() -> ModelProto:
    return chain(node("ConstantOfShape", "sizes"), inputs=[], constants=[sizes(2**40)])


@either
def a_tensor_of_few_numbers_beyond_all_numbers() -> ModelProto:
    return chain(node("ConstantOfShape", "sizes"), inputs=[], constants=[sizes(2**62, 2**62)])


@either
def a_large_tensor_of_few_numbers_for_another() -> ModelProto:
    """16 GB on the way to one number."""
    return chain(
        node("ConstantOfShape", "sizes", to="large"),
        node("ReduceSum", "large", keepdims=0),
        inputs=[],
        constants=[sizes(2**32)],
    )


@either
def a_tensor_of_a_negative_size() -> ModelProto:
    return chain(node("ConstantOfShape", "sizes"), inputs=[], constants=[sizes(-5)])


@either
def a_tensor_that_is_stretched_beyond_all_numbers() -> ModelProto:
    one = numpy_helper.from_array(np.ones((1, 1), "float32"), "one")
    return chain(node("Expand", "one", "sizes"), inputs=[], constants=[one, sizes(2**62, 2**62)])


@either
def a_tensor_that_is_repeated_beyond_all_numbers() -> ModelProto:
    one = numpy_helper.from_array(np.ones((2, 2), "float32"), "one")
    return chain(node("Tile", "one", "sizes"), inputs=[], constants=[one, sizes(2**62, 2**62)])


@either
def a_range_beyond_all_numbers() -> ModelProto:
    ends = [
        numpy_helper.from_array(np.array(n, "int64"), name)
        for n, name in ((-(2**63), "a"), (2**63 - 1, "b"), (1, "c"))
    ]
    return chain(node("Range", "a", "b", "c"), inputs=[], constants=ends)


@either
def a_range_of_no_numbers() -> ModelProto:
    ends = [
        numpy_helper.from_array(np.array(n, "float32"), name)
        for n, name in ((np.nan, "a"), (np.inf, "b"), (0, "c"))
    ]
    return chain(node("Range", "a", "b", "c"), inputs=[], constants=ends)


@either
def pads_beyond_all_numbers() -> ModelProto:
    return chain(node("Pad", "x", "sizes"), constants=[sizes(2**62, 2**62, 2**62, 2**62)])


@either
def a_shape_beyond_all_numbers() -> ModelProto:
    return chain(node("Reshape", "x", "sizes"), constants=[sizes(2**62, 2**62)])


@either
def products_of_sizes_beyond_all_numbers() -> ModelProto:
    """A tensor of 2**40 elements for every pair of those of two others."""
    left, right = value("a", "int8", (2**40, 1)), value("b", "int8", (1, 2**40))
    return chain(node("Add", "a", "b"), inputs=[left, right])


@either
def doublings() -> ModelProto:
    """Each node makes twice as much as the one before."""
    nodes = [
        helper.make_node("Concat", [f"v{place}", f"v{place}"], [f"v{place + 1}"], axis=0)
        for place in range(70)
    ]
    nodes[0].input[:] = ["x", "x"]
    return chain(*nodes, outputs=["v70"])


# --- functions -------------------------------------------------------------------------------


def function(
    name: str, nodes: Sequence[NodeProto], attributes: Sequence[str] = (), opset: int = 21
) -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["x"], ["y"], nodes, imports, attributes)


def call(name: str, given: str = "x", to: str = "y", **attributes: Any) -> NodeProto:
    return helper.make_node(name, [given], [to], domain="own", **attributes)


def with_functions(*functions: onnx.FunctionProto, **attributes: Any) -> ModelProto:
    """A model that calls the first of these functions."""
    model = chain(call(functions[0].name, **attributes))
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.extend(functions)
    return model


@refused
def a_function_that_calls_itself() -> ModelProto:
    return with_functions(function("f", [call("f")]))


@refused
def functions_that_call_each_other() -> ModelProto:
    others = [function(f"f{n}", [call(f"f{(n + 1) % 30}")]) for n in range(30)]
    return with_functions(*others)


@refused
def a_function_that_calls_itself_in_a_subgraph() -> ModelProto:
    branch = helper.make_graph([call("f", "x", "inner")], "g", [], named("inner"))
    condition = helper.make_node("Constant", [], ["c"], value_int=1)
    truth = helper.make_node("Cast", ["c"], ["t"], to=TensorProto.BOOL)
    decision = node("If", "t", then_branch=branch, else_branch=branch)
    return with_functions(function("f", [condition, truth, decision]))


@refused
def functions_that_double() -> ModelProto:
    """2 ** 50 nodes when they are written out."""
    others = [
        function(f"f{n}", [call(f"f{n + 1}", to="mid"), call(f"f{n + 1}", "mid")])
        for n in range(50)
    ]
    return with_functions(*others, function("f50", [node("Relu", "x")]))


@refused
def functions_in_each_other_a_thousand_deep() -> ModelProto:
    others = [function(f"f{n}", [call(f"f{n + 1}")]) for n in range(1000)]
    return with_functions(*others, function("f1000", [node("Relu", "x")]))


@refused
def a_function_that_is_there_twice() -> ModelProto:
    return with_functions(function("f", [node("Relu", "x")]), function("f", [node("Neg", "x")]))


@refused
def a_function_with_too_many_inputs() -> ModelProto:
    model = with_functions(function("f", [node("Relu", "x")]))
    model.graph.node[0].input.append("x")
    return model


@refused
def a_function_without_its_output() -> ModelProto:
    return with_functions(function("f", [node("Relu", "x", to="other")]))


@either
def a_graph_that_names_itself() -> ModelProto:
    """An attribute that is a graph, in which the same attribute is asked for."""
    inner = node("If", "c", to="inner")
    reference = inner.attribute.add()
    reference.name, reference.ref_attr_name = "then_branch", "body"
    reference.type = onnx.AttributeProto.GRAPH
    graph = helper.make_graph([inner], "g", [], named("inner"))
    decision = node("If", "x")
    own = decision.attribute.add()
    own.name, own.ref_attr_name, own.type = "then_branch", "body", onnx.AttributeProto.GRAPH
    return with_functions(function("f", [decision], ["body"]), body=graph)


# --- depth -----------------------------------------------------------------------------------


def nested(levels: int, operator: str = "If") -> ModelProto:
    """Subgraphs inside each other; made from the inside, in place, as copies would take forever."""
    model = chain(node("Relu", "x"), inputs=[X, value("c", "bool", ())])
    place: GraphProto | onnx.GraphProto = model.graph
    del place.node[:]
    for level in range(levels):
        made = place.node.add(op_type="If", input=["c"], output=["y" if level == 0 else "v"])
        for name in ("else_branch", "then_branch"):
            attribute = made.attribute.add(name=name, type=onnx.AttributeProto.GRAPH)
            attribute.g.name = "g"
            attribute.g.output.add(name="v")
            attribute.g.node.add(op_type="Relu", input=["x"], output=["v"])
        place = made.attribute[1].g
        if level < levels - 1:
            del place.node[:]
    return model


@refused
def subgraphs_ten_thousand_deep() -> ModelProto:
    return nested(10_000)


@refused
def subgraphs_a_hundred_deep() -> ModelProto:
    return nested(100)


@either
def loops_in_each_other() -> ModelProto:
    """Every loop tries its body until the types of its state are settled."""
    model = chain(node("Relu", "x"))
    place: Any = model.graph
    del place.node[:]
    for level in range(15):
        state = "x" if level == 0 else "s"
        made = place.node.add(op_type="Loop", input=["", "", state])
        made.output.append("y" if level == 0 else "o")
        body = made.attribute.add(name="body", type=onnx.AttributeProto.GRAPH).g
        body.name = "b"
        for name in ("i", "c", "s"):
            body.input.add(name=name)
        for name in ("c", "o"):
            body.output.add(name=name)
        place = body
    place.node.add(op_type="Concat", input=["s", "s"], output=["o"]).attribute.append(
        helper.make_attribute("axis", 0)
    )
    return model
