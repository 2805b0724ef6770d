"""The body of a function stands where the function was called."""

import relay
from relay.check.infer import infer_expr
from relay.ir.compare import assert_structural_equal
from relay.ir.inlining import Inlining

HEADER = '#[version = "0.0.5"]\n'


def called(text):
    """The call that a function consists of, typed."""
    function = infer_expr(relay.parse_expr(HEADER + text))
    assert isinstance(function.body, relay.Call)
    return function, function.body


def assert_opens(before, after, may_move=lambda _: False):
    function, call = called(before)
    inlining = Inlining(call, call.op)
    assert inlining.is_possible
    body = inlining.body(call.op, call.args, may_move)
    result = infer_expr(relay.Function(function.params, body, None, function.type_params))
    assert_structural_equal(result, infer_expr(relay.parse_expr(HEADER + after)))


def test_parameters_stand_for_arguments():
    assert_opens(
        "fn (%x: int32, %y: int32) { fn (%a: int32, %b: int32) { add(%a, %b) }(%x, negative(%y)) }",
        "fn (%x: int32, %y: int32) { add(%x, negative(%y)) }",
    )


def test_arguments_keep_their_order():
    text = """
    fn (%x: int32, %y: int32) {
      fn (%a: int32, %b: int32) { add(%b, %a) }(negative(%x), negative(%y))
    }
    """
    assert_opens(
        text,
        """
        fn (%x: int32, %y: int32) {
          let %a: int32 = negative(%x);
          let %b: int32 = negative(%y);
          add(%b, %a)
        }
        """,
    )
    assert_opens(
        text,
        "fn (%x: int32, %y: int32) { add(negative(%y), negative(%x)) }",
        may_move=lambda _: True,
    )


def test_what_the_body_does_not_use_is_evaluated_all_the_same():
    assert_opens(
        "fn (%x: int32) { fn (%a: int32, %b: int32) { %b }(negative(%x), %x) }",
        "fn (%x: int32) { let %a: int32 = negative(%x); %x }",
    )


def test_a_type_that_says_more_stays():
    assert_opens(
        """
        fn (%x: Tensor[(?), int32]) {
          fn (%a: Tensor[(4), int32]) -> Tensor[(?), int32] { negative(%a) }(%x)
        }
        """,
        """
        fn (%x: Tensor[(?), int32]) {
          let %a: Tensor[(4), int32] = %x;
          let %result: Tensor[(?), int32] = negative(%a);
          %result
        }
        """,
    )


def test_type_parameters_stand_for_what_they_are():
    assert_opens(
        """
        fn (%x: Tensor[(4), int32]) {
          fn [n](%a: Tensor[(n), int32]) -> Tensor[(n), int32] { negative(%a) }(%x)
        }
        """,
        "fn (%x: Tensor[(4), int32]) { negative(%x) }",
    )


def test_a_dimension_that_only_the_function_knows_keeps_it_closed():
    _, call = called(
        """
        fn (%x: Tensor[(?), int32]) {
          fn [n](%a: Tensor[(n), int32]) -> Tensor[(n), int32] { negative(%a) }(%x)
        }
        """
    )
    assert not Inlining(call, call.op).is_possible


def test_two_openings_have_nothing_in_common():
    _, call = called("fn (%x: int32) { fn (%a: int32) { let %b = negative(%a); %b }(%x) }")
    inlining = Inlining(call, call.op)
    first, second = (inlining.body(call.op, call.args) for _ in range(2))
    assert first.variable is not second.variable
