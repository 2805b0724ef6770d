"""What inference finds: shapes, polymorphism, symbolic dimensions, what it fills in and keeps."""

import pytest

import relay
from relay.check.infer import (
    infer_changed,
    infer_expr,
    infer_local,
    infer_module,
    with_known_types,
)
from relay.ir.types import FuncType, RefType, TensorType, TupleType, scalar_type
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'


def infer(text: str) -> relay.IRModule:
    return relay.parse(HEADER + text)


def result_type(text: str, name: str = "main") -> str:
    return str(infer(text)[name].checked_type.ret_type)


def test_a_seven_by_seven_stride_two_convolution_halves_224():
    data = relay.var("data", shape=(1, 3, 224, 224))
    weight = relay.var("weight", shape=(64, 3, 7, 7))
    conv = relay.nn.conv2d(data, weight, strides=(2, 2), padding=(3, 3), kernel_size=(7, 7))
    mod = relay.IRModule.from_expr(relay.Function([data, weight], conv))
    mod = relay.transform.InferType()(mod)
    assert str(mod["main"].body.checked_type) == "Tensor[(1, 64, 112, 112), float32]"
    assert mod["main"].ret_type == TensorType((1, 64, 112, 112), "float32")


def test_a_small_cnn_ends_in_ten_classes():
    data = relay.var("data", shape=(1, 3, 32, 32))
    x = relay.nn.conv2d(data, relay.var("w1"), channels=16, kernel_size=(3, 3), padding=(1, 1))
    x = relay.nn.relu(relay.nn.bias_add(x, relay.var("b1")))
    x = relay.nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))
    x = relay.nn.batch_flatten(x)
    x = relay.nn.dense(x, relay.var("w2"), units=10)
    out = relay.nn.softmax(x)
    func = relay.Function(relay.analysis.free_vars(out), out)
    mod = relay.transform.InferType()(relay.IRModule.from_expr(func))
    assert mod["main"].ret_type.concrete_shape == (1, 10)
    weights = {p.name_hint: p.checked_type.concrete_shape for p in mod["main"].params}
    assert weights["w1"] == (16, 3, 3, 3)
    assert weights["b1"] == (16,)
    assert weights["w2"] == (10, 16 * 16 * 16)


def test_what_a_programmer_left_out_is_filled_in():
    x = relay.var("x", shape=(2, 3))
    y = relay.var("y")
    func = relay.Function([x], relay.Let(y, relay.nn.relu(x), relay.add(y, y)))
    typed = infer_expr(func)
    assert typed.ret_type == TensorType((2, 3))
    assert typed.body.variable.type_annotation == TensorType((2, 3))
    assert typed.params[0] is x
    assert func.ret_type is None


def test_a_complete_expression_keeps_its_identity():
    x = relay.var("x", shape=(2, 3))
    func = relay.Function([x], relay.nn.relu(x), TensorType((2, 3)))
    assert infer_expr(func) is func
    assert func.body.checked_type == TensorType((2, 3))


def test_an_expression_typed_differently_before_is_copied():
    call = relay.GlobalVar("f")(relay.const(1.0))
    main = relay.Function([], call)
    x = relay.var("x", "float32")
    one = relay.IRModule({"f": relay.Function([x], x), "main": main})
    y = relay.var("y", "float32")
    two = relay.IRModule({"f": relay.Function([y], relay.Tuple([y, y])), "main": main})
    first, second = infer_module(one), infer_module(two)
    assert first["main"].body.checked_type == scalar_type("float32")
    assert second["main"].body.checked_type == TupleType((scalar_type("float32"),) * 2)
    assert first["main"].body.checked_type == scalar_type("float32")


def test_local_inference_notes_the_type_on_the_expression_itself():
    x = infer_expr(relay.nn.relu(relay.var("x", shape=(2, 3))))
    call = relay.add(x, x)
    assert infer_local(call) == TensorType((2, 3))
    assert call.checked_type == TensorType((2, 3))


def test_types_flow_backwards_into_unannotated_variables():
    mod = infer("def @main(%x: Tensor[(2, 8), float32], %w) { nn.dense(%x, %w, units=4) }")
    assert mod["main"].params[1].checked_type == TensorType((4, 8))


def test_a_result_annotation_determines_an_argument():
    mod = infer("def @main(%x) -> Tensor[(3), float32] { nn.relu(%x) }")
    assert mod["main"].params[0].checked_type == TensorType((3,))


def test_polymorphic_functions_are_instantiated_at_each_call():
    mod = infer(
        """
        def @id[A](%x: A) -> A { %x }
        def @main(%a: int32, %b: Tensor[(2), float32]) { (@id(%a), @id(%b), @id(@id)(%a)) }
        """
    )
    ty = mod["main"].checked_type.ret_type
    assert ty == TupleType((scalar_type("int32"), TensorType((2,)), scalar_type("int32")))
    assert mod["main"].body.fields[1].type_args == (TensorType((2,)),)


def test_a_shape_polymorphic_function_is_solved_at_the_call():
    mod = infer(
        """
        def @grow[n](%x: Tensor[(n, 3), float32]) -> Tensor[(n + 1, 3), float32] {
          concatenate((%x, zeros(shape=[1, 3], dtype="float32")), axis=0)
        }
        def @main(%x: Tensor[(4, 3), float32]) { @grow(@grow(%x)) }
        """
    )
    assert mod["main"].ret_type == TensorType((6, 3))
    assert mod["main"].body.type_args == (5,)


def test_symbolic_dimensions_are_kept_in_canonical_form():
    text = """
    def @main[n](%x: Tensor[(n, 4), float32]) {
      reshape(concatenate((%x, %x), axis=0), newshape=[-1])
    }
    """
    assert result_type(text) == "Tensor[(8 * n), float32]"


def test_equations_over_dimensions_are_solved_for_the_unknown():
    mod = infer(
        """
        def @half[n](%x: Tensor[(2 * n), float32], %y: Tensor[(n), float32])
            -> Tensor[(n), float32] { %y }
        def @main(%x: Tensor[(6), float32], %y: Tensor[(3), float32]) { @half(%x, %y) }
        """
    )
    assert mod["main"].ret_type == TensorType((3,))


def test_an_unknown_dimension_meets_everything():
    mod = infer(
        """
        def @main(%c: bool, %x: Tensor[(?, 2), float32], %y: Tensor[(3, 2), float32]) {
          if (%c) { %x } else { %y }
        }
        """
    )
    assert str(mod["main"].ret_type) == "Tensor[(?, 2), float32]"


def test_named_dimensions_do_not_broadcast():
    with pytest.raises(relay.TypeCheckError, match="broadcast"):
        infer(
            """
            def @main[n, m](%x: Tensor[(n), float32], %y: Tensor[(m), float32]) { add(%x, %y) }
            """
        )


def test_references_hold_one_type():
    mod = infer(
        """
        def @main(%x: int32) {
          let %r = ref(%x);
          let %u = ref_write(%r, 3);
          (%r, ref_read(%r))
        }
        """
    )
    assert mod["main"].ret_type == TupleType((RefType(scalar_type("int32")), scalar_type("int32")))


def test_a_let_bound_function_calls_itself():
    assert (
        result_type(
            """
            def @main(%n: int32) {
              let %f = fn (%i: int32) -> int32 {
                if (%i == 0) { 0 } else { %f(%i - 1) }
              };
              %f(%n)
            }
            """
        )
        == "int32"
    )


def test_mutual_recursion_through_globals_needs_no_annotations():
    mod = infer(
        """
        def @even(%n: int32) { if (%n == 0) { True } else { @odd(%n - 1) } }
        def @odd(%n: int32) { if (%n == 0) { False } else { @even(%n - 1) } }
        """
    )
    assert mod["even"].checked_type == FuncType((scalar_type("int32"),), scalar_type("bool"))
    assert infer_changed(mod)[1] == []


def test_data_types_with_parameters():
    mod = infer(
        """
        type List[A] { Cons(A, List[A]), Nil }
        def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] {
          match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil }
        }
        def @main(%xs: List[int32]) { @map(fn (%x: int32) { cast(%x, dtype="float32") }, %xs) }
        """
    )
    assert str(mod["main"].ret_type) == "List[float32]"


def test_constructors_and_operators_are_functions_too():
    mod = infer(
        """
        type List[A] { Cons(A, List[A]), Nil }
        def @apply2[A, B, C](%f: fn (A, B) -> C, %a: A, %b: B) -> C { %f(%a, %b) }
        def @main(%x: int32) { (@apply2(Cons, %x, Nil), @apply2(add, %x, %x)) }
        """
    )
    assert str(mod["main"].ret_type) == "(List[int32], int32)"


def test_a_projection_waits_for_its_tuple():
    assert (
        result_type(
            """
            def @main(%x: Tensor[(4), float32]) {
              let %f = fn (%t) { %t.1 };
              %f((%x, 3))
            }
            """
        )
        == "int32"
    )


def test_inferring_again_does_nothing():
    mod = infer("def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }")
    again, inferred = infer_changed(mod)
    assert inferred == []
    assert again["main"] is mod["main"]


def test_only_what_changed_is_inferred_again():
    functions = ["def @f0(%x: int32) -> int32 { %x }"]
    functions += [f"def @f{i}(%x: int32) -> int32 {{ @f{i - 1}(%x) }}" for i in range(1, 10)]
    mod = infer("\n".join(functions))
    x = relay.var("x", "int32")
    mod["f3"] = relay.Function([x], relay.GlobalVar("f2")(relay.add(x, x)), scalar_type("int32"))
    assert infer_changed(mod)[1] == ["f3"]


def test_callers_are_inferred_again_when_a_signature_changes():
    mod = infer(
        """
        def @a(%x: int32) { %x }
        def @b(%x: int32) { @a(%x) }
        def @c(%x: int32) { @b(%x) }
        def @d(%x: int32) { %x }
        """
    )
    x = relay.var("x", "int32")
    mod["a"] = relay.Function([x], relay.Tuple([x]))
    typed, inferred = infer_changed(mod)
    assert inferred == ["a", "b", "c"]
    assert str(typed["c"].ret_type) == "(int32,)"


def test_types_that_are_known_need_not_be_inferred():
    before = infer("def @main(%x: Tensor[(2), float32]) { exp(negative(%x)) }")["main"]
    body = relay.abs(before.body.args[0])
    after = relay.Function(before.params, body, before.ret_type)
    types = {body: before.body.ty, after: before.ty}
    assert with_known_types(after, before, types.get) is after
    assert (after.ty, body.ty) == (before.ty, before.body.ty)
    assert infer_changed(relay.IRModule({"main": after}))[1] == []


def test_where_one_is_missing_they_are_inferred():
    before = infer("def @main(%x: Tensor[(2), float32]) { exp(%x) }")["main"]
    after = relay.Function(before.params, relay.abs(before.body), before.ret_type)
    assert with_known_types(after, before, lambda _: None).ty is None
    assert infer_changed(relay.IRModule({"main": after}))[1] == ["main"]


def test_functions_that_call_each_other_change_together():
    mod = infer(
        """
        def @even(%n: int32) { if (%n == 0) { True } else { @odd(%n - 1) } }
        def @odd(%n: int32) { if (%n == 0) { False } else { @even(%n - 1) } }
        def @main() { @even(4) }
        """
    )
    n = relay.var("n", "int32")
    even = relay.GlobalVar("even")
    answer = relay.If(relay.equal(n, relay.const(0)), relay.const(0), even(n - relay.const(1)))
    mod["odd"] = relay.Function([n], answer)
    one = relay.var("n", "int32")
    mod["even"] = relay.Function([one], relay.GlobalVar("odd")(one))
    typed, inferred = infer_changed(mod)
    assert sorted(inferred) == ["even", "main", "odd"]
    assert str(typed["main"].ret_type) == "int32"


def test_a_user_relation_is_a_python_function():
    op = relay.op.opdef.OpDef("test.double_rows")
    op.set_num_inputs(1)
    op.add_type_rel(
        "DoubleRows", lambda args, attrs: TensorType((args[0].shape[0] * 2,), args[0].dtype)
    )
    x = relay.var("x", shape=(3,))
    assert infer_expr(op(x)).checked_type == TensorType((6,))


@pytest.mark.parametrize("depth", [deep(20_000)])
def test_deep_programs_are_inferred_without_recursion(depth):
    x = relay.var("x", shape=(2,))
    calls = x
    for _ in range(depth):
        calls = relay.nn.relu(calls)
    assert infer_expr(calls).checked_type == TensorType((2,))
    names = [relay.var(f"v{i}") for i in range(depth)]
    lets = names[-1]
    for i in reversed(range(depth)):
        lets = relay.Let(names[i], relay.nn.relu(names[i - 1] if i else x), lets)
    assert infer_expr(lets).checked_type == TensorType((2,))
    nested = x
    for _ in range(depth):
        nested = relay.Tuple([nested])
    for _ in range(depth):
        nested = relay.TupleGetItem(nested, 0)
    assert infer_expr(nested).checked_type == TensorType((2,))
