"""Records: how calls are built from them, and the registry interface."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay
from relay import op
from relay.check.infer import infer_expr
from relay.errors import OperatorError, RelayError
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Tuple, TupleGetItem, TupleWrapper, find_op
from relay.ir.types import TensorType
from relay.op.opdef import FusionKind, Sample, Tensor, define, sample, temporary_operators

x = relay.var("x", shape=(2, 3))
y = relay.var("y", shape=(2, 3))


@pytest.fixture(autouse=True)
def the_table_is_restored() -> Any:
    with temporary_operators():
        yield


# --- building calls ----------------------------------------------------------------------------


def test_a_record_builds_calls_of_itself() -> None:
    call = relay.add(x, y)
    assert isinstance(call, Call)
    assert call.op is op.get("add") and call.args == (x, y) and call.attrs is None


def test_attributes_follow_the_arguments_or_are_named() -> None:
    for call in (
        relay.sum(x, 1, True),
        relay.sum(x, axis=1, keepdims=True),
        relay.sum(data=x, axis=[1], keepdims=1),
    ):
        assert call.attrs == op.get("sum").make_attrs({"axis": (1,), "keepdims": True})


def test_numbers_are_not_expressions() -> None:
    with pytest.raises(RelayError, match=r"wrap a number or an array in relay\.const"):
        relay.add(x, 1)
    with pytest.raises(RelayError, match=r"relay\.const"):
        relay.concatenate([x, 1.0], axis=0)


def test_a_python_list_is_a_tuple_expression() -> None:
    for parts in ([x, y], (x, y), Tuple((x, y)), TupleWrapper(Tuple((x, y)), 2)):
        call = relay.concatenate(parts, axis=1)
        assert infer_expr(call).checked_type == TensorType((2, 6))


def test_what_is_missing_or_too_much_is_said() -> None:
    with pytest.raises(RelayError, match=r"`add` takes \(lhs, rhs\); `rhs` is missing"):
        relay.add(x)
    with pytest.raises(RelayError, match=r"`nn.relu` takes \(data\), found 2 values"):
        relay.nn.relu(x, y)
    with pytest.raises(RelayError, match="`sum` was given `axis` twice"):
        relay.sum(x, 1, axis=1)
    with pytest.raises(RelayError, match=r"`sum` has no attribute `axes`; did you mean `axis`\?"):
        relay.sum(x, axes=1)
    with pytest.raises(RelayError, match="`cast` needs the attribute `dtype`"):
        relay.cast(x)
    with pytest.raises(RelayError, match=r"`add` takes no attributes, found \['axis'\]"):
        relay.add(x, y, axis=1)


def test_a_signature_shows_arguments_attributes_and_defaults() -> None:
    assert op.get("nn.softmax").signature == "(data, axis=-1)"
    assert op.get("take").signature == "(data, indices, axis=None, batch_dims=0, mode='clip')"
    assert op.get("cast").signature == "(data, dtype)"


def test_references_give_arrays_and_no_warnings() -> None:
    found = op.get("divide").reference(np.array(1.0, "float32"), np.array(0.0, "float32"))
    assert isinstance(found, np.ndarray) and found == np.inf


# --- a new operator ----------------------------------------------------------------------------


def test_one_define_is_a_whole_operator() -> None:
    @attrs
    class ScaleAttrs(Attrs):
        factor: float = 1.0

    scale = define(
        "test.scale",
        doc="data * factor.",
        arguments=[("data", "the input")],
        attrs=ScaleAttrs,
        relation=lambda site: site.tensor(0),
        reference=lambda data, factor: data * data.dtype.type(factor),
        fusion=FusionKind.ELEMWISE,
        samples=[sample((2, 3), factor=0.5)],
    )
    call = scale(x, factor=2)
    assert call.attrs == ScaleAttrs(factor=2.0)
    assert infer_expr(call).checked_type == TensorType((2, 3))
    assert op.get("test.scale") is scale


def test_a_sample_draws_values_of_its_types() -> None:
    made = sample(
        (2, 3), [(4,), Tensor((5,), "int8", 0, 3)], np.ones(2, "int32"), dtype="float16", axis=1
    )
    assert [str(ty) for ty in made.types()] == [
        "Tensor[(2, 3), float16]",
        "(Tensor[(4), float16], Tensor[(5), int8])",
        "Tensor[(2), int32]",
    ]
    first, (_, small), ones = made.values()
    assert first.shape == (2, 3) and first.dtype == np.float16
    assert set(small.tolist()) <= {0, 1, 2} and ones.tolist() == [1, 1]
    np.testing.assert_array_equal(made.values()[0], first)
    assert made.attrs == {"axis": 1}
    assert sample((2,), attrs={"dtype": "int8"}) == Sample((Tensor((2,)),), {"dtype": "int8"})


# --- step by step, as people know it -----------------------------------------------------------


def test_an_operator_registered_step_by_step() -> None:
    op.register("test.double", "The shape with its first extent doubled.")
    made = op.get("test.double")
    made.set_num_inputs(1)
    made.add_type_rel("Double", lambda args, attrs: TensorType((args[0].shape[0] * 2, 3)))
    made.set_support_level(1)
    assert made.num_inputs == 1 and made.support_level == 1
    assert infer_expr(Call(made, (x,))).checked_type == TensorType((4, 3))


def test_described_arguments_are_those_there_is_room_for() -> None:
    made = op.register("test.two")
    made.set_num_inputs(2)
    made.add_argument("left", "Tensor", "the first")
    assert made.arguments == (("left", "the first, Tensor"), ("arg1", ""))
    made.add_argument("right", "Tensor", "the second")
    assert made.num_inputs == 2
    made.add_argument("third")
    assert made.num_inputs == 3
    made.set_num_inputs(1)
    assert made.arguments == (("left", "the first, Tensor"),)


def test_without_a_relation_the_result_has_the_type_of_the_first_argument() -> None:
    made = op.register("test.same")
    made.add_argument("data", "Tensor", "the input")
    made.add_type_rel("Identity")
    assert infer_expr(made(x)).checked_type == TensorType((2, 3))


def test_a_python_error_in_a_relation_comes_out_unchanged() -> None:
    made = op.register("test.broken")
    made.set_num_inputs(1)

    def relation(args: Any, attrs: Any) -> Any:
        raise KeyError("mine")

    made.add_type_rel("Broken", relation)
    with pytest.raises(KeyError, match="mine"):
        infer_expr(Call(made, (x,)))


def test_a_name_is_taken_once() -> None:
    with pytest.raises(OperatorError, match="`add` is already registered"):
        op.register("add")
    with pytest.raises(
        OperatorError, match=r"unknown operator `nn\.rleu`; did you mean `nn\.relu`"
    ):
        op.get("nn.rleu")


def test_facts_are_attached_looked_up_and_removed() -> None:
    add = op.get("add")
    assert add.get_attr("target.mine") is None and not add.has_attr("target.mine")
    add.set_attr("target.mine", 1)
    add.set_attr("target.mine", 2, plevel=5)
    assert add.get_attr("target.mine") == 1, "a lower level does not replace a higher one"
    add.set_attr("target.mine", 3, plevel=11)
    assert add.get_attr("target.mine") == 3
    add.reset_attr("target.mine")
    assert add.get_attr("target.mine") is None


def test_facts_are_attached_by_decorators() -> None:
    @op.register_op_attr("nn.relu", "FTVMLegalize")
    def legalize(attrs: Any, inputs: Any, types: Any) -> None:
        return None

    assert op.get("nn.relu").get_attr("FTVMLegalize") is legalize
    op.register_op_attr("nn.relu", "FTVMLegalize", "other", level=15)
    assert op.get("nn.relu").get_attr("FTVMLegalize") == "other"


def test_rules_of_passes_are_attached_by_name() -> None:
    for attach, key in (
        (op.register_legalize, "FTVMLegalize"),
        (op.register_alter_op_layout, "FTVMAlterOpLayout"),
        (op.register_convert_op_layout, "FTVMConvertOpLayout"),
    ):

        @attach("add", level=11)
        def rule(*_: Any) -> None:
            return None

        assert op.get("add").get_attr(key) is rule


def test_fusion_and_effects_are_facts_too() -> None:
    made = op.register("test.effect")
    assert made.get_attr("TOpPattern") is op.OpPattern.OPAQUE
    op.register_pattern("test.effect", op.OpPattern.INJECTIVE)
    op.register_stateful("test.effect")
    assert made.get_attr("TOpPattern") == 2 and made.get_attr("TOpIsStateful")
    made.reset_attr("TOpPattern")
    made.reset_attr("TOpIsStateful")
    assert made.fusion is FusionKind.OPAQUE and not made.stateful


def test_temporary_operators_leave_no_trace() -> None:
    before = op.get("add").fusion
    with temporary_operators():
        op.register("test.gone")
        op.register_pattern("add", FusionKind.OPAQUE)
        op.get("add").set_attr("key", 1)
    assert find_op("test.gone") is None
    assert op.get("add").fusion is before and op.get("add").get_attr("key") is None


# --- helpers that differ from their records ----------------------------------------------------


def test_helpers_have_the_defaults_people_know() -> None:
    assert relay.nn.leaky_relu(x).attrs.alpha == 0.01
    assert op.get("nn.leaky_relu")(x).attrs.alpha == 0.25
    assert relay.nn.batch_matmul(x, y).attrs.transpose_b
    assert not op.get("nn.batch_matmul")(x, y).attrs.transpose_b
    assert relay.shape_of(x).attrs.dtype == "int32"
    assert op.get("shape_of")(x).attrs.dtype is None
    assert relay.nn.max_pool2d(x).attrs.pool_size == (1, 1)
    assert relay.full(relay.const(1.0)).attrs.shape == ()


def test_sizes_of_windows_are_written_out() -> None:
    made = relay.nn.conv2d(x, y, strides=2, padding=(1, 2), kernel_size=3).attrs
    assert (made.strides, made.padding, made.kernel_size) == ((2, 2), (1, 2, 1, 2), (3, 3))
    assert made.out_dtype is None
    assert relay.nn.avg_pool2d(x, pool_size=3, padding=1).attrs.padding == (1, 1, 1, 1)
    assert relay.nn.conv2d(x, y, padding=(1, 2, 3, 4)).attrs.padding == (1, 2, 3, 4)


def test_several_results_can_be_unpacked() -> None:
    first, second, third = relay.split(x, 3, axis=1)
    assert isinstance(first, TupleGetItem) and third.index == 2
    assert infer_expr(second).checked_type == TensorType((2, 1))
    assert len(relay.split(x, [1], axis=1)) == 2
    c = relay.var("c", shape=(3,))
    result = relay.nn.batch_norm(x, c, c, c, c)
    assert isinstance(result, TupleWrapper) and len(result) == 3
    assert infer_expr(result[0]).checked_type == TensorType((2, 3))
    assert isinstance(relay.nn.dropout(x), TupleGetItem)
    assert len(relay.nn.dropout_raw(x, rate=0.1)) == 2


def test_matmul_with_the_second_matrix_transposed_is_dense() -> None:
    assert relay.nn.matmul(x, y, transpose_b=True).op is op.get("nn.dense")
    assert relay.nn.matmul(x, y).op is op.get("nn.matmul")


def test_gather_has_its_axis_in_the_middle() -> None:
    call = relay.gather(x, 1, relay.const([[0], [1]]))
    assert call.attrs.axis == 1 and infer_expr(call).checked_type == TensorType((2, 1))


def test_arange_knows_its_extent_from_constants() -> None:
    call = relay.arange(relay.const(1), relay.const(9), relay.const(3), dtype="int32")
    assert infer_expr(call).checked_type == TensorType((3,), "int32")
    assert infer_expr(relay.arange(relay.const(4.5))).checked_type == TensorType((5,), "float32")
    end = relay.var("end", "int32")
    assert infer_expr(relay.arange(end, dtype="int32")).checked_type == TensorType(
        (relay.Any(),), "int32"
    )


def test_padding_takes_a_number_or_a_scalar() -> None:
    for value in (0, 1.5, relay.const(2.0)):
        call = relay.nn.pad(x, [[1, 0], [0, 2]], value)
        assert infer_expr(call).checked_type == TensorType((3, 5))


def test_variance_computes_its_mean_unless_it_is_given() -> None:
    call = relay.variance(x, axis=1)
    assert call.args[1].op is op.get("mean") and call.args[1].attrs.keepdims
    assert infer_expr(call).checked_type == TensorType((2,))
    mean = relay.mean(x, 1, True)
    assert relay.variance(x, axis=1, with_mean=mean).args[1] is mean


def test_constants_may_stand_for_attribute_values() -> None:
    assert relay.reshape(x, relay.const([3, 2])).attrs.newshape == (3, 2)
    assert relay.reshape(x, np.array([-1])).attrs.newshape == (-1,)
    assert relay.reshape(x, -1).attrs.newshape == (-1,)
    with pytest.raises(
        RelayError, match="attribute `axes` of `transpose` must be a tuple of integers"
    ):
        relay.transpose(x, relay.var("s", shape=(2,), dtype="int32"))


def test_clip_has_its_known_parameter_names() -> None:
    assert relay.clip(a=x, a_min=0, a_max=6).attrs.a_max == 6.0
